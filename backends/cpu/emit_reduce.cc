// Reductions: sums side by side in vectors, the rest one by one, and in the end across lanes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Reduce;
using tile::Value;

Reduce KernelEmitter::reduction_of(const Value& value) const {
  return value.kind == Value::dot ? Reduce::add : value.reduction;
}

DType KernelEmitter::reduced_dtype(const Value& value) const {
  return program_.values[value.operands[0]].dtype;
}

llvm::Value* KernelEmitter::neutral(Reduce reduction, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduce::add: return number(dtype, 0, 0);
    case Reduce::mul: return number(dtype, 1, 1);
    case Reduce::argmax:
    case Reduce::max: return number(dtype, -kInfinity, is_float(dtype) ? 0 : lowest_integer(dtype));
    case Reduce::min: return number(dtype, kInfinity, is_float(dtype) ? 0 : highest_integer(dtype));
    case Reduce::logical_and: return number(dtype, 1, 1);
    case Reduce::logical_or: return number(dtype, 0, 0);
  }
  WEFT_CHECK(false, "a kind of reduction");
}

llvm::Value* KernelEmitter::combine(Reduce reduction, llvm::Value* a, llvm::Value* b, DType dtype) {
  switch (reduction) {
    case Reduce::add: return emit_map(Op::add, {a, b}, dtype, dtype);
    case Reduce::mul: return emit_map(Op::mul, {a, b}, dtype, dtype);
    case Reduce::max: return emit_extremum(true, a, b, dtype);
    case Reduce::min: return emit_extremum(false, a, b, dtype);
    case Reduce::logical_and: return ir_.CreateAnd(a, b);
    case Reduce::logical_or: return ir_.CreateOr(a, b);
    case Reduce::argmax: break;
  }
  WEFT_CHECK(false, "a reduction of single numbers");
}

// By halves: lanes i and i + n/2 first.
llvm::Value* KernelEmitter::across_lanes(Reduce reduction, llvm::Value* vector, DType dtype) {
  auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  for (unsigned half = type->getNumElements() / 2; half >= 1; half /= 2) {
    std::vector<int> low;
    std::vector<int> high;
    for (unsigned i = 0; i < half; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + half));
    }
    vector = combine(reduction, ir_.CreateShuffleVector(vector, low),
                     ir_.CreateShuffleVector(vector, high), dtype);
  }
  return ir_.CreateExtractElement(vector, uint64_t{0});
}

// Whether the candidate (a, at_a) wins against (b, at_b): a NaN is the largest, of equals the
// first. An index below 0 stands for nothing found yet.
llvm::Value* KernelEmitter::is_better(llvm::Value* a, llvm::Value* at_a, llvm::Value* b,
                                      llvm::Value* at_b, DType dtype) {
  llvm::Value* none = llvm::Constant::getNullValue(at_a->getType());
  llvm::Value* larger = emit_compare(Op::lt, b, a, dtype);
  llvm::Value* equal = emit_compare(Op::eq, a, b, dtype);
  if (is_float(dtype)) {
    llvm::Value* nan_a = ir_.CreateFCmpUNO(a, a);
    llvm::Value* nan_b = ir_.CreateFCmpUNO(b, b);
    larger = ir_.CreateOr(larger, ir_.CreateAnd(nan_a, ir_.CreateNot(nan_b)));
    equal = ir_.CreateOr(equal, ir_.CreateAnd(nan_a, nan_b));
  }
  llvm::Value* first = ir_.CreateAnd(equal, ir_.CreateICmpSLT(at_a, at_b));
  llvm::Value* wins = ir_.CreateOr(ir_.CreateOr(larger, first), ir_.CreateICmpSLT(at_b, none));
  return ir_.CreateAnd(wins, ir_.CreateICmpSGE(at_a, none));
}

void KernelEmitter::start_accumulators(const Nest& nest) {
  for (const Sink& sink : nest.sinks) {
    if (sink.kind != Sink::reduce) continue;
    const Value& value = program_.values[sink.value];
    DType dtype = reduced_dtype(value);
    Reduce reduction = reduction_of(value);
    auto fresh = [&](llvm::Value* start, int lanes) {
      llvm::AllocaInst* place = new_register(with_lanes(start->getType(), lanes), "sum");
      ir_.CreateStore(splat(start, lanes), place);
      return place;
    };
    Accumulator accumulator;
    bool finds = reduction == Reduce::argmax;
    llvm::Value* start = neutral(reduction, dtype);
    accumulator.scalar = fresh(start, 1);
    if (finds) accumulator.scalar_index = fresh(i64(-1), 1);
    for (size_t part = 0; part < nest.parts && nest.lanes > 1; ++part) {
      accumulator.parts.push_back(fresh(start, nest.lanes));
      if (finds) accumulator.index_parts.push_back(fresh(i64(-1), nest.lanes));
    }
    accumulators_[sink.value] = accumulator;
  }
}

// The lanes of a shorter vector, and `rest` in those behind them.
llvm::Value* KernelEmitter::widened(llvm::Value* value, llvm::Type* type, llvm::Value* rest) {
  const auto have = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  const auto want = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  if (have == want) return value;
  std::vector<int> lanes;
  for (unsigned i = 0; i < want; ++i) lanes.push_back(static_cast<int>(std::min(i, have)));
  return ir_.CreateShuffleVector(value, splat(rest, static_cast<int>(have)), lanes);
}

void KernelEmitter::accumulate(const Sink& sink, llvm::Value* value, int lanes, size_t part) {
  const Value& reduced = program_.values[sink.value];
  DType dtype = reduced_dtype(reduced);
  const Accumulator& into = accumulators_.at(sink.value);
  llvm::AllocaInst* place = lanes == 1 ? into.scalar : into.parts[part];
  llvm::Value* old = ir_.CreateLoad(place->getAllocatedType(), place);
  if (reduction_of(reduced) != Reduce::argmax) {
    if (lanes > 1) value = widened(value, old->getType(), neutral(reduction_of(reduced), dtype));
    ir_.CreateStore(combine(reduction_of(reduced), old, value, dtype), place);
    return;
  }
  llvm::AllocaInst* found = lanes == 1 ? into.scalar_index : into.index_parts[part];
  llvm::Value* best = ir_.CreateLoad(found->getAllocatedType(), found);
  llvm::Value* at = splat(spread(index(tile::axis_index(reduced.axes_reduced[0]))), lanes);
  llvm::Value* wins = is_better(value, at, old, best, dtype);
  ir_.CreateStore(ir_.CreateSelect(wins, value, old), place);
  ir_.CreateStore(ir_.CreateSelect(wins, at, best), found);
}

// The vectors of all bodies into the single accumulator, which has what did not fill a vector.
void KernelEmitter::fold_vectors(const Nest& nest) {
  for (const Sink& sink : nest.sinks) {
    if (sink.kind != Sink::reduce) continue;
    const Value& value = program_.values[sink.value];
    DType dtype = reduced_dtype(value);
    Accumulator& from = accumulators_.at(sink.value);
    if (reduction_of(value) == Reduce::argmax) {
      fold_argmax(from, dtype);
      continue;
    }
    llvm::Value* sum = nullptr;
    for (llvm::AllocaInst* part : from.parts) {
      llvm::Value* next = ir_.CreateLoad(part->getAllocatedType(), part);
      sum = sum == nullptr ? next : combine(reduction_of(value), sum, next, dtype);
    }
    sum = across_lanes(reduction_of(value), sum, dtype);
    llvm::Value* old = ir_.CreateLoad(from.scalar->getAllocatedType(), from.scalar);
    ir_.CreateStore(combine(reduction_of(value), old, sum, dtype), from.scalar);
  }
}

void KernelEmitter::fold_argmax(Accumulator& into, DType dtype) {
  for (size_t part = 0; part < into.parts.size(); ++part) {
    auto* type = llvm::cast<llvm::FixedVectorType>(into.parts[part]->getAllocatedType());
    llvm::Value* values = ir_.CreateLoad(type, into.parts[part]);
    llvm::Value* places =
        ir_.CreateLoad(into.index_parts[part]->getAllocatedType(), into.index_parts[part]);
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
      llvm::Value* value = ir_.CreateExtractElement(values, lane);
      llvm::Value* at = ir_.CreateExtractElement(places, lane);
      llvm::Value* old = ir_.CreateLoad(into.scalar->getAllocatedType(), into.scalar);
      llvm::Value* best = ir_.CreateLoad(ir_.getInt64Ty(), into.scalar_index);
      llvm::Value* wins = is_better(value, at, old, best, dtype);
      ir_.CreateStore(ir_.CreateSelect(wins, value, old), into.scalar);
      ir_.CreateStore(ir_.CreateSelect(wins, at, best), into.scalar_index);
    }
  }
}

void KernelEmitter::finish_accumulators(const Nest& nest) {
  if (nest.lanes > 1) fold_vectors(nest);
  for (const Sink& sink : nest.sinks) {
    if (sink.kind != Sink::reduce) continue;
    const Value& value = program_.values[sink.value];
    const Accumulator& from = accumulators_.at(sink.value);
    llvm::Value* result = nullptr;
    if (reduction_of(value) == Reduce::argmax) {
      result =
          convert(ir_.CreateLoad(ir_.getInt64Ty(), from.scalar_index), DType::i64, value.dtype);
    } else {
      result = ir_.CreateLoad(from.scalar->getAllocatedType(), from.scalar);
    }
    if (value.kind == Value::dot && value.operands.size() > 2) {
      result = emit_map(Op::add, {eval(value.operands[2]), result}, value.dtype, value.dtype);
    }
    store_slot(fresh_.at(sink.value), value.dtype, result);
  }
}

}  // namespace weft::cpu
