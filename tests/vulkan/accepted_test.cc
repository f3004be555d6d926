// No program that lowering makes is refused: random graphs, for several kinds of devices, up to the
// text of their kernels.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/simt/lower.h"
#include "backends/vulkan/compile.h"
#include "driver/compile.h"
#include "ir/text/text.h"
#include "ir/tile/text.h"
#include "passes/autodiff.h"
#include "tests/support/random_attention.h"
#include "tests/support/random_graph.h"
#include "tests/support/suite.h"
#include "tests/vulkan/kernels.h"
#include "tests/vulkan/shared_device.h"

namespace weft {
namespace {

struct Kind {
  const char* name;
  simt::Profile profile;
};

std::vector<Kind> kinds() {
  simt::Profile plain;  // without anything
  plain.subgroup = 4;
  plain.shuffles = plain.texel_loads = plain.image_updates = false;
  plain.image_stores = 1;
  simt::Profile gpu = workgroup_profile();
  gpu.flash_rows = gpu.flash_rows_backward = 1;
  simt::Profile matrices = gpu;
  matrices.subgroup = 64;
  matrices.waves = 2;
  matrices.workgroup_bytes = 65536;
  matrices.matrix = {16, 16, 16};
  return {{"registers", {}}, {"plain", plain}, {"workgroup", gpu}, {"matrices", matrices}};
}

void expect_accepted(const Module& module) {
  CompileRequest request;
  request.device = "vulkan";
  const Result<PlannedModule> planned = plan_module(module, request);
  ASSERT_TRUE(planned.ok()) << render(planned.diagnostics()) << print(module);
  const vulkan::ProgramFacts facts =
      vulkan::program_facts(planned->plan, planned->module.storage, {});
  for (const Kind& kind : kinds()) {
    for (size_t i = 0; i < planned->plan.programs.size(); ++i) {
      tile::Program program = planned->plan.programs[i];
      std::erase_if(program.knobs, [](const tile::Knob& k) { return k.name.starts_with("simt_"); });
      std::vector<bool> aligned;
      for (const vulkan::BufferFacts& buffer : facts[i]) aligned.push_back(buffer.aligned);
      const Result<simt::Layout> layout = simt::choose_layout(program, kind.profile, aligned);
      ASSERT_TRUE(layout.ok()) << kind.name << ": " << render(layout.diagnostics())
                               << tile::print(planned->plan.programs[i]);
      const Result<simt::Lowered> lowered = simt::lower(program, *layout, kind.profile, aligned);
      EXPECT_TRUE(lowered.ok()) << kind.name << ": " << render(lowered.diagnostics())
                                << tile::print(program);
    }
  }
}

TEST(Accepted, EveryRandomGraph) {
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const uint64_t count = suite() == "quick" ? 20 : suite() == "slow" ? 3000 : 150;
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    RandomOptions options;
    options.loss = seed % 3 == 0;
    options.without = set_of(DType::f64);
    Module module = random_module(seed, options);
    if (options.loss) {
      ASSERT_TRUE(add_backward(module, {"forward", "loss", {}, ""}).ok());
    }
    expect_accepted(module);
  }
}

}  // namespace
}  // namespace weft
