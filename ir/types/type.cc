// SPDX-License-Identifier: Apache-2.0
#include "ir/types/type.h"

#include <ostream>

namespace weft {

std::string str(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += shape[i].str();
  }
  return out + "]";
}

std::string Type::str() const { return std::string(name(dtype)) + weft::str(shape); }

Dim element_count(const Shape& shape) {
  Dim count(1);
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

std::ostream& operator<<(std::ostream& out, const Type& type) { return out << type.str(); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << str(shape); }

bool same_shape(const Shape& a, const Shape& b, const DimFacts& facts) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!facts.equal(a[i], b[i])) return false;
  }
  return true;
}

bool same_type(const Type& a, const Type& b, const DimFacts& facts) {
  return a.dtype == b.dtype && same_shape(a.shape, b.shape, facts);
}

}  // namespace weft
