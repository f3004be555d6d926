// A run allocates nothing: counted by replacing the program's operator new.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/runtime/allocations.h"
#include "tests/runtime/sample.h"

namespace weft {
namespace {

TEST(Allocation, NoneInARun) {
  for (int threads : {1, 2}) {
    Context context = Context::create(load(sample_executable()), {.threads = threads}).value();
    BoundPtr forward = context.bind("forward", {{"B", 50}}).value();
    BoundPtr chunks = context.bind("chunks", {{"B", 50}}).value();
    BoundPtr count = context.bind("count", {}).value();
    std::vector<float> x(150, 1);
    std::vector<float> y(150);
    std::vector<float> n(2);
    std::vector<ConstBytes> in = {bytes_of(x)};
    std::vector<MutableBytes> out = {room_in(y)};
    std::vector<MutableBytes> counts = {room_in(n)};
    int64_t before = allocation_count();
    bool good = true;
    for (int i = 0; i < 10; ++i) {
      good &= context.run(forward, in, out).ok();
      good &= context.run(chunks, in, out).ok();
      good &= context.run(count, {}, counts).ok();
    }
    EXPECT_EQ(allocation_count() - before, 0);
    EXPECT_TRUE(good);
  }
}

}  // namespace
}  // namespace weft
