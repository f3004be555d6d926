// Index maps as addresses; loads and stores of one element per lane.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Index;

llvm::Value* KernelEmitter::coordinate(AxisId axis) {
  for (const Level& level : std::views::reverse(levels_)) {
    if (level.axis == axis) return level.coordinate;
  }
  WEFT_CHECK(axes_[axis].single,
             "axis " + program_.axes[axis].name + " is used where no loop walks it");
  return axes_[axis].base;
}

KernelEmitter::Lane KernelEmitter::add(const Lane& a, const Lane& b) {
  Lane sum;
  sum.first = ir_.CreateAdd(a.first, b.first, "", false, true);
  if (a.all == nullptr && b.all == nullptr) {
    sum.step = a.step + b.step;
  } else {
    sum.all = ir_.CreateAdd(splat(spread(a), lanes_), splat(spread(b), lanes_), "", false, true);
  }
  return sum;
}

KernelEmitter::Lane KernelEmitter::scale(const Lane& a, const Dim& factor) {
  if (factor.is_constant(1)) return a;
  Lane product;
  llvm::Value* by = dim(factor);
  product.first = ir_.CreateMul(a.first, by, "", false, true);
  if (a.all == nullptr) {
    product.step = a.step * factor;
  } else {
    product.all = ir_.CreateMul(a.all, splat(by, lanes_), "", false, true);
  }
  return product;
}

KernelEmitter::Lane KernelEmitter::index(const Index& at) {
  Lane sum{.first = dim(at.offset)};
  for (const Index::Term& term : at.terms) sum = add(sum, scale(index_term(term), term.scale));
  return sum;
}

KernelEmitter::Lane KernelEmitter::index_term(const Index::Term& term) {
  const AxisState* axis = term.axis_id == tile::kNone ? nullptr : &axes_[term.axis_id];
  switch (term.kind) {
    case Index::Term::axis: {
      Lane at{.first = coordinate(term.axis_id)};
      if (term.axis_id == lane_axis_ && lanes_ > 1) at.step = 1;
      return at;
    }
    case Index::Term::base: return {.first = axis->base};
    case Index::Term::end: return {.first = ir_.CreateAdd(axis->base, axis->size)};
    case Index::Term::program: return {.first = axis->program};
    case Index::Term::value: {
      llvm::Value* value = eval(term.value_id);
      bool is_signed = is_signed_integer(program_.values[term.value_id].dtype);
      bool many = value->getType()->isVectorTy();
      llvm::Type* type = with_lanes(ir_.getInt64Ty(), many ? lanes_ : 1);
      llvm::Value* wide = ir_.CreateIntCast(value, type, is_signed);
      if (!many) return {.first = wide};
      return {.first = ir_.CreateExtractElement(wide, uint64_t{0}), .all = wide};
    }
    case Index::Term::floor_div:
    case Index::Term::mod: {
      Lane inner = index(term.inner[0]);
      Op op = term.kind == Index::Term::mod ? Op::mod : Op::floordiv;
      llvm::Value* by = dim(term.divisor);
      llvm::Value* all = spread(inner);
      bool many = all->getType()->isVectorTy();
      llvm::Value* result =
          emit_integer_division(op, all, splat(by, many ? lanes_ : 1), DType::i64);
      if (!many) return {.first = result};
      return {.first = ir_.CreateExtractElement(result, uint64_t{0}), .all = result};
    }
  }
  WEFT_CHECK(false, "a kind of index term");
}

llvm::Value* KernelEmitter::spread(const Lane& lane) {
  if (lane.all != nullptr) return lane.all;
  if (lane.uniform()) return lane.first;
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes_; ++i) numbers.push_back(ir_.getInt64(static_cast<uint64_t>(i)));
  llvm::Value* steps = llvm::ConstantVector::get(numbers);
  if (!lane.step.is_constant(1)) steps = ir_.CreateMul(steps, splat(dim(lane.step), lanes_));
  return ir_.CreateAdd(splat(lane.first, lanes_), steps, "", false, true);
}

llvm::Value* KernelEmitter::at_lane(const Lane& lane, int i) {
  if (lane.all != nullptr) return ir_.CreateExtractElement(lane.all, static_cast<uint64_t>(i));
  if (i == 0 || lane.uniform()) return lane.first;
  llvm::Value* distance = ir_.CreateMul(dim(lane.step), i64(i), "", false, true);
  return ir_.CreateAdd(lane.first, distance, "", false, true);
}

namespace {

bool has_value(const Index& at) {
  bool found = false;
  tile::for_each_term(at,
                      [&](const Index::Term& term) { found |= term.kind == Index::Term::value; });
  return found;
}

}  // namespace

// In elements from the start of the buffer. Where an index comes from data it is checked.
KernelEmitter::Lane KernelEmitter::offset(const tile::Ref& ref, llvm::Value* where) {
  const tile::Buffer& buffer = program_.buffers[ref.buffer];
  Lane sum{.first = i64(0)};
  for (size_t d = 0; d < ref.at.size(); ++d) {
    Lane at = index(ref.at[d]);
    if (has_value(ref.at[d])) {
      check_index(at, buffer.dims[d], where, "index into %" + buffer.name + " out of range");
    } else if (options_.bounds_checks) {
      check_index(at, buffer.dims[d], where, "generated code left the bounds of %" + buffer.name);
    }
    sum = add(sum, scale(at, buffer.strides[d]));
  }
  return sum;
}

void KernelEmitter::check_index(const Lane& at, const Dim& limit, llvm::Value* where,
                                const std::string& what) {
  llvm::Value* bound = dim(limit);
  auto check_one = [&](llvm::Value* value, llvm::Value* asked) {
    llvm::Value* ok = ir_.CreateICmpULT(value, bound);
    if (asked != nullptr) ok = ir_.CreateOr(ok, ir_.CreateNot(asked));
    check(ok, what, value, bound);
  };
  bool where_lanes = where != nullptr && where->getType()->isVectorTy();
  if (at.uniform() && !where_lanes) {
    check_one(at.first, where);
    return;
  }
  if (at.uniform()) {
    check_one(at.first, ir_.CreateOrReduce(where));
    return;
  }
  llvm::Value* all = spread(at);
  llvm::Value* bad = ir_.CreateICmpUGE(all, splat(bound, lanes_));
  if (where != nullptr) bad = ir_.CreateAnd(bad, splat(where, lanes_));
  llvm::Value* culprit = at_lane(at, lanes_ - 1);
  for (int i = lanes_ - 2; i >= 0; --i) {
    llvm::Value* is_bad = ir_.CreateExtractElement(bad, static_cast<uint64_t>(i));
    culprit = ir_.CreateSelect(is_bad, at_lane(at, i), culprit);
  }
  check(ir_.CreateNot(ir_.CreateOrReduce(bad)), what, culprit, bound);
}

llvm::Value* KernelEmitter::element_address(llvm::Value* buffer, llvm::Value* offset, DType dtype) {
  return ir_.CreateInBoundsGEP(memory_type(dtype), buffer, offset);
}

llvm::Align KernelEmitter::alignment(DType dtype) {
  return llvm::Align(static_cast<uint64_t>(byte_size(dtype)));
}

llvm::Value* KernelEmitter::load(const tile::Value& value) {
  llvm::Value* where = value.where == tile::kNone ? nullptr : eval(value.where);
  llvm::Value* buffer = buffer_addresses_[value.ref.buffer];
  const bool many = lanes_ > 1 && std::ranges::count(value.axes, lane_axis_) > 0;
  if (many && existing_lanes_ != nullptr) {
    where =
        where == nullptr ? existing_lanes_ : ir_.CreateAnd(splat(where, lanes_), existing_lanes_);
  }
  Lane at = offset(value.ref, where);
  if (where == nullptr) return load_at(value.dtype, buffer, at);
  llvm::Value* fill = number(value.dtype, value.number, value.integer);
  return load_where(value.dtype, buffer, at, where, fill);
}

llvm::Value* KernelEmitter::load_at(DType dtype, llvm::Value* buffer, const Lane& at) {
  llvm::Type* type = memory_type(dtype);
  if (at.uniform()) {
    llvm::Value* address = element_address(buffer, at.first, dtype);
    return widen(ir_.CreateAlignedLoad(type, address, alignment(dtype)), dtype);
  }
  if (at.all == nullptr && at.step.is_constant(1)) {
    llvm::Value* address = element_address(buffer, at.first, dtype);
    return widen(ir_.CreateAlignedLoad(with_lanes(type, lanes_), address, alignment(dtype)), dtype);
  }
  llvm::Value* result = llvm::PoisonValue::get(with_lanes(type, lanes_));
  for (int i = 0; i < lanes_; ++i) {
    llvm::Value* address = element_address(buffer, at_lane(at, i), dtype);
    llvm::Value* element = ir_.CreateAlignedLoad(type, address, alignment(dtype));
    result = ir_.CreateInsertElement(result, element, static_cast<uint64_t>(i));
  }
  return widen(result, dtype);
}

// Nothing is read where `where` is false.
llvm::Value* KernelEmitter::load_where(DType dtype, llvm::Value* buffer, const Lane& at,
                                       llvm::Value* where, llvm::Value* fill) {
  llvm::Type* type = memory_type(dtype);
  if (nowhere_ == nullptr) nowhere_ = new_register(ir_.getInt64Ty(), "nowhere");
  auto one = [&](llvm::Value* offset, llvm::Value* asked) {
    llvm::Value* address = element_address(buffer, offset, dtype);
    address = ir_.CreateSelect(asked, address, nowhere_);
    return ir_.CreateAlignedLoad(type, address, alignment(dtype));
  };
  bool many = where->getType()->isVectorTy();
  if (at.uniform() && !many) {
    return ir_.CreateSelect(where, widen(one(at.first, where), dtype), fill);
  }
  llvm::Value* mask = splat(where, lanes_);
  llvm::Value* fills = splat(fill, lanes_);
  if (at.uniform()) {
    llvm::Value* element = widen(one(at.first, ir_.CreateOrReduce(mask)), dtype);
    return ir_.CreateSelect(mask, splat(element, lanes_), fills);
  }
  if (at.all == nullptr && at.step.is_constant(1)) {
    llvm::Value* address = element_address(buffer, at.first, dtype);
    llvm::Type* vector = with_lanes(type, lanes_);
    llvm::Value* nothing = llvm::Constant::getNullValue(vector);
    llvm::Value* read = ir_.CreateMaskedLoad(vector, address, alignment(dtype), mask, nothing);
    return ir_.CreateSelect(mask, widen(read, dtype), fills);
  }
  llvm::Value* result = llvm::PoisonValue::get(with_lanes(type, lanes_));
  for (int i = 0; i < lanes_; ++i) {
    llvm::Value* asked = ir_.CreateExtractElement(mask, static_cast<uint64_t>(i));
    result = ir_.CreateInsertElement(result, one(at_lane(at, i), asked), static_cast<uint64_t>(i));
  }
  return ir_.CreateSelect(mask, widen(result, dtype), fills);
}

void KernelEmitter::store_at(DType dtype, llvm::Value* buffer, const Lane& at, llvm::Value* value,
                             llvm::Value* where) {
  llvm::Value* stored = narrow(value, dtype);
  auto one = [&](llvm::Value* offset, llvm::Value* element, llvm::Value* asked) {
    auto write = [&] {
      ir_.CreateAlignedStore(element, element_address(buffer, offset, dtype), alignment(dtype));
    };
    if (asked == nullptr) {
      write();
    } else {
      if_then(asked, write);
    }
  };
  if (lanes_ == 1) {
    one(at.first, stored, where);
    return;
  }
  llvm::Value* all = splat(stored, lanes_);
  if (at.all == nullptr && at.step.is_constant(1)) {
    llvm::Value* address = element_address(buffer, at.first, dtype);
    if (where == nullptr) {
      ir_.CreateAlignedStore(all, address, alignment(dtype));
    } else {
      ir_.CreateMaskedStore(all, address, alignment(dtype), splat(where, lanes_));
    }
    return;
  }
  for (int i = 0; i < lanes_; ++i) {
    auto lane = static_cast<uint64_t>(i);
    llvm::Value* asked =
        where == nullptr ? nullptr : ir_.CreateExtractElement(splat(where, lanes_), lane);
    one(at_lane(at, i), ir_.CreateExtractElement(all, lane), asked);
  }
}

}  // namespace weft::cpu
