// Modules from text that a test knows to be right.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/graph/module.h"

namespace weft::test {

// The module, or an empty one and a failed test.
Module must_parse(const std::string& text);

}  // namespace weft::test
