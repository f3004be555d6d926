// The type of a tensor: element type and shape.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/types/dim.h"
#include "ir/types/dtype.h"

namespace weft {

using Shape = std::vector<Dim>;
inline constexpr size_t kMaxRank = 8;

struct Type {
  DType dtype = DType::f32;
  Shape shape;

  size_t rank() const { return shape.size(); }
  std::string str() const;  // "f32[B, T, 512]"; a scalar is "f32[]"
  friend bool operator==(const Type&, const Type&) = default;
};

std::string str(const Shape& shape);  // "[B, T, 512]"
Dim element_count(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Type& type);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

// Same dtype and dims equal under the module's asserted equalities.
bool same_type(const Type& a, const Type& b, const DimFacts& facts);
bool same_shape(const Shape& a, const Shape& b, const DimFacts& facts);

}  // namespace weft
