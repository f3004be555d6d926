// Comparisons as assertions: EXPECT_TRUE(same(compare(expected, actual, RunBy::device))).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "ir/oracle/compare.h"

namespace weft {

inline testing::AssertionResult same(const std::optional<Difference>& difference) {
  if (!difference) return testing::AssertionSuccess();
  return testing::AssertionFailure() << difference->str();
}

}  // namespace weft
