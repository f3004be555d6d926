// Attributes of a node: static facts such as axes, shapes and rates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/types/type.h"

namespace weft {

// The numbers of a constant: reals for float types, integers (bool as 0 and 1) for the others.
// One number stands for a whole tensor of it.
struct Numbers {
  std::variant<std::vector<double>, std::vector<int64_t>> values;

  bool real() const { return values.index() == 0; }
  size_t size() const;
  friend bool operator==(const Numbers& a, const Numbers& b);  // bitwise for reals: NaN == NaN
};

enum class AttrKind : uint8_t {
  integer,  // int64_t
  real,     // double
  boolean,  // bool
  choice,   // std::string, one of AttrSpec::choices
  text,     // std::string
  axis,     // int64_t; a negative one counts from the end and is stored non-negative
  axes,     // std::vector<int64_t>; as axis, sorted, unique
  ints,     // std::vector<int64_t>
  dim,      // Dim
  dims,     // std::vector<Dim>
  dtype,    // DType
  numbers,  // Numbers
};
std::string_view name(AttrKind kind);

using AttrValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, Dim,
                               std::vector<Dim>, DType, Numbers>;

struct Attr {
  std::string name;
  AttrValue value;
};

// What the op table says of one attribute.
struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::integer;
  std::vector<std::string> choices;
  bool required = true;
  AttrValue fallback;  // if not required
};

// Reads "axis:axis=-1 keepdims:bool=false approximate:none|tanh shape:dims".
std::vector<AttrSpec> parse_attr_specs(std::string_view specs);

// In the order of the op's specs once a node is in a graph, defaults filled in.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<Attr> attrs) : attrs_(attrs) {}

  const AttrValue* find(std::string_view name) const;
  // The value of an attribute that the op table promises to be there.
  int64_t integer(std::string_view name) const;  // also of kind axis
  double real(std::string_view name) const;
  bool boolean(std::string_view name) const;
  const std::string& text(std::string_view name) const;           // also of kind choice
  const std::vector<int64_t>& ints(std::string_view name) const;  // also of kind axes
  const Dim& dim(std::string_view name) const;
  const std::vector<Dim>& dims(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const Numbers& numbers(std::string_view name) const;

  void set(std::string_view name, AttrValue value);  // replaces or appends
  bool empty() const { return attrs_.empty(); }
  size_t size() const { return attrs_.size(); }
  auto begin() const { return attrs_.begin(); }
  auto end() const { return attrs_.end(); }

  friend bool operator==(const Attrs& a, const Attrs& b);
  size_t hash() const;

 private:
  std::vector<Attr> attrs_;
};

bool equal(const AttrValue& a, const AttrValue& b);

// Text forms. A real keeps a '.', an exponent, or is inf, -inf or nan; it parses back to the same
// double. `format_number` prints the shortest text that reads back to the same value of `dtype`.
std::string format_real(double value);
std::string format_number(double value, DType dtype);
std::string format(const AttrValue& value);

}  // namespace weft
