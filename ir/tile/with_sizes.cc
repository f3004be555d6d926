// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "ir/tile/interpret.h"

namespace weft::tile {
namespace {

class Sizer {
 public:
  explicit Sizer(const DimBinding& dims) : dims_(dims) {}

  void set(Dim& dim) {
    std::optional<int64_t> size = dim.evaluate(dims_);
    if (!size && fault_.empty()) fault_ = dim.str();
    dim = size.value_or(0);
  }
  void set(Index& index) {
    set(index.offset);
    for (Index::Term& term : index.terms) {
      set(term.scale);
      set(term.divisor);
      for (Index& inner : term.inner) set(inner);
    }
  }
  void set(Block& block) {
    for (Stmt& stmt : block) {
      for (Index& index : stmt.ref.at) set(index);
      if (stmt.from) set(*stmt.from);
      if (stmt.to) set(*stmt.to);
      set(stmt.body);
    }
  }
  const std::string& fault() const { return fault_; }

 private:
  const DimBinding& dims_;
  std::string fault_;  // the first dim without a size
};

}  // namespace

Result<Program> with_sizes(const Program& program, const DimBinding& dims) {
  Program sized = program;
  Sizer sizer(dims);
  for (Axis& axis : sized.axes) sizer.set(axis.dim);
  for (Buffer& buffer : sized.buffers) {
    for (Dim& dim : buffer.dims) sizer.set(dim);
    for (Dim& stride : buffer.strides) sizer.set(stride);
  }
  for (Value& value : sized.values) {
    for (Index& index : value.ref.at) sizer.set(index);
    sizer.set(value.index);
    if (value.limit) sizer.set(*value.limit);
  }
  sizer.set(sized.body);
  if (!sizer.fault().empty()) {
    return error(Loc{}, "kernel @", program.name, ": dim ", sizer.fault(), " has no size")
        .hint("bind every symbol");
  }
  return sized;
}

}  // namespace weft::tile
