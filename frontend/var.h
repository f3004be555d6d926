// Var: a value of a model under construction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"

namespace weft {

class ModelBuilder;

// Puts a name in front of parameters and provenance ("encoder.0") for as long as it lives.
class [[nodiscard]] Scope {
 public:
  Scope(ModelBuilder* builder, const std::string& name);  // null: does nothing
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  ModelBuilder* builder_;
  size_t outer_length_ = 0;
};

// Cheap to copy, and good as long as its builder. An operation that is not possible gives a Var
// without a value, and so does every operation on such a Var; the builder keeps the first reason
// and returns it from finish(). Nothing has to be checked on the way.
class Var {
 public:
  Var() = default;

  bool valid() const;
  const Type& type() const;  // f32[] without a value
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int64_t rank() const { return static_cast<int64_t>(type().rank()); }
  Dim dim(int64_t axis) const;  // a negative axis counts from the end

  ModelBuilder* builder() const { return builder_; }  // null if default-constructed
  Scope scope(const std::string& name) const { return Scope(builder_, name); }

 private:
  friend class ModelBuilder;
  ModelBuilder* builder_ = nullptr;
  uint32_t graph_ = 0;  // which graph of the builder
  Value value_;
  bool has_value_ = false;
};

// What an op takes: a value, or a number that becomes a scalar of the other operands' element type.
struct Operand {
  Operand(const Var& value) : var(value) {}                  // NOLINT: implicit by design
  Operand(double value) : number(value), is_number(true) {}  // NOLINT

  Var var;
  double number = 0;
  bool is_number = false;
};

}  // namespace weft
