// What the code of single kernels has to say.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/compile.h"
#include "ir/tile/text.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string glsl_of(const std::string& text) {
  std::vector<tile::Program> programs = {tile::parse("kernel.tile", text).value()};
  const vulkan::ProgramFacts facts = {std::vector<vulkan::BufferFacts>(programs[0].buffers.size())};
  return vulkan::compile_programs(programs, facts, {}, true).value().texts[0].glsl;
}

// All invocations read %n, one of them writes it.
TEST(SimtLowering, WhatOthersReadIsWrittenBehindABarrier) {
  const std::string body = R"(
  in %x: f32[256]
  axis c: 256 full
  %v = load %n[] + reduce.add[c](load %x[c]) : f32[]
  store %n[], %v
}
)";
  EXPECT_THAT(glsl_of("kernel @k {\n  inout %n: f32[]" + body), HasSubstr("barrier();"));
  EXPECT_THAT(glsl_of(R"(kernel @k {
  out %n: f32[]
  in %x: f32[256]
  axis c: 256 full
  store %n[], reduce.add[c](load %x[c])
}
)"),
              Not(HasSubstr("barrier();")));
}

}  // namespace
}  // namespace weft
