// Parsing of numbers, dims and types. Nothing is returned where an error was reported.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "ir/text/cursor.h"
#include "ir/types/type.h"

namespace weft {

struct Number {
  bool real = false;    // written with a point or an exponent, inf or nan, or -0
  int64_t integer = 0;  // if not real
  double value = 0;
};

bool at_number(const Cursor& in);
std::optional<Number> parse_number(Cursor& in);
std::optional<int64_t> parse_integer(Cursor& in);
std::optional<Dim> parse_dim(Cursor& in);
std::optional<DType> parse_dtype(Cursor& in);
std::optional<Type> parse_type(Cursor& in);

// A dim alone, as Dim::str() writes it, in valid UTF-8. `file` is used in diagnostics.
Result<Dim> parse_dim(const std::string& file, std::string text);

}  // namespace weft
