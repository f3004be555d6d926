// Lower case of any script.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft::eval {

// As Python's str.lower. The text is UTF-8.
std::string lower_case(std::string_view text);

}  // namespace weft::eval
