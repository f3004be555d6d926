// Counting operations.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/flops.h"

#include <gtest/gtest.h>

#include "ir/graph/emit.h"

namespace weft {
namespace {

// y = softmax(x w + 1) with x [B, 8, 16] and w [16, 4], and a second product that nobody needs.
Module small_module() {
  Module module;
  module.graphs.emplace_back("forward");
  Graph& graph = module.graphs.back();
  Emitter b(module, graph);
  Value x = graph.add_input("x", {DType::f32, {Dim::symbol("B"), 8, 16}});
  Value w = graph.add_input("w", {DType::f32, {16, 4}});
  Value product = b.matmul({x, w});
  b.matmul({product, b.transpose_last_two(w)});
  graph.outputs.push_back({"y", b.softmax({b.add({product, b.scalar(1, DType::f32)})})});
  return module;
}

TEST(Flops, CountsWhatAnOutputNeeds) {
  Module module = small_module();
  Result<int64_t> flops = count_flops(module, module.graphs[0], {{"B", 3}});
  ASSERT_TRUE(flops.ok()) << render(flops.diagnostics());
  int64_t elements = 3 * 8 * 4;
  EXPECT_EQ(*flops, 2 * 16 * elements + elements + elements);
}

TEST(Flops, AnUnknownSizeOrTooLargeACountIsAnError) {
  Module module = small_module();
  Result<int64_t> unknown = count_flops(module, module.graphs[0], {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.diagnostics()[0].message, "graph @forward: the size of B is not known");
  Result<int64_t> huge = count_flops(module, module.graphs[0], {{"B", INT64_MAX / 4}});
  ASSERT_FALSE(huge.ok());
}

}  // namespace
}  // namespace weft
