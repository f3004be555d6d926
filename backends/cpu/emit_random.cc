// Philox4x32-10 on vectors: the random bits of ir/oracle/philox.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "ir/oracle/philox.h"

namespace weft::cpu {

using tile::Value;

namespace {

constexpr int kWords = 4;  // of one call

int lanes_of(llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

}  // namespace

// Low and high halves of the products of u32 lanes with a number. Vectors are multiplied as the
// hardware does it: every other lane into 64 bits.
std::pair<llvm::Value*, llvm::Value*> KernelEmitter::multiply_words(llvm::Value* x, uint32_t by) {
  const int lanes = lanes_of(x);
  llvm::Type* words = x->getType();
  const bool pairs = lanes % 2 == 0;
  llvm::Type* wide = with_lanes(ir_.getInt64Ty(), pairs ? lanes / 2 : lanes);
  auto number = [&](uint64_t value) { return llvm::ConstantInt::get(wide, value); };
  if (!pairs) {
    llvm::Value* product = ir_.CreateMul(ir_.CreateZExt(x, wide), number(by));
    return {ir_.CreateTrunc(product, words),
            ir_.CreateTrunc(ir_.CreateLShr(product, number(32)), words)};
  }
  constexpr uint64_t kLow = 0xffffffff;
  llvm::Value* both = ir_.CreateBitCast(x, wide);
  llvm::Value* even = ir_.CreateMul(ir_.CreateAnd(both, number(kLow)), number(by));
  llvm::Value* odd = ir_.CreateMul(ir_.CreateLShr(both, number(32)), number(by));
  llvm::Value* low =
      ir_.CreateOr(ir_.CreateAnd(even, number(kLow)), ir_.CreateShl(odd, number(32)));
  llvm::Value* high =
      ir_.CreateOr(ir_.CreateLShr(even, number(32)), ir_.CreateAnd(odd, number(~kLow)));
  return {ir_.CreateBitCast(low, words), ir_.CreateBitCast(high, words)};
}

// The four words of each lane's counter (u64).
KernelEmitter::Words KernelEmitter::philox(llvm::Value* counter, const RandomKey& key) {
  const int lanes = lanes_of(counter);
  llvm::Type* u64 = with_lanes(ir_.getInt64Ty(), lanes);
  llvm::Type* u32 = with_lanes(ir_.getInt32Ty(), lanes);
  llvm::Value* high = ir_.CreateLShr(counter, llvm::ConstantInt::get(u64, 32));
  Words c = {ir_.CreateTrunc(counter, u32), ir_.CreateTrunc(high, u32), splat(key.step, lanes),
             llvm::ConstantInt::get(u32, 0)};
  llvm::Value* keys[2] = {key.seed, key.stream};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    auto [low0, high0] = multiply_words(c[0], kPhiloxMultipliers[0]);
    auto [low1, high1] = multiply_words(c[2], kPhiloxMultipliers[1]);
    c = {ir_.CreateXor(ir_.CreateXor(high1, c[1]), splat(keys[0], lanes)), low1,
         ir_.CreateXor(ir_.CreateXor(high0, c[3]), splat(keys[1], lanes)), low0};
    for (size_t i = 0; i < 2; ++i) {
      keys[i] = ir_.CreateAdd(keys[i], ir_.getInt32(kPhiloxKeySteps[i]));
    }
  }
  return c;
}

KernelEmitter::RandomKey KernelEmitter::random_key(const Value& value) {
  return {eval(value.operands[0]), eval(value.operands[1]),
          ir_.CreateTrunc(dim(value.stream), ir_.getInt32Ty())};
}

// One word per lane, whatever elements the lanes are.
llvm::Value* KernelEmitter::random_word(const Value& value) {
  const RandomKey key = random_key(value);
  llvm::Value* element = spread(index(value.index));
  const int lanes = lanes_of(element);
  llvm::Type* u64 = element->getType();
  llvm::Type* u32 = with_lanes(ir_.getInt32Ty(), lanes);
  const Words words = philox(ir_.CreateLShr(element, llvm::ConstantInt::get(u64, 2)), key);
  llvm::Value* which = ir_.CreateAnd(ir_.CreateTrunc(element, u32), llvm::ConstantInt::get(u32, 3));
  llvm::Value* result = words[3];
  for (uint64_t i = 0; i < 3; ++i) {
    llvm::Value* is_it = ir_.CreateICmpEQ(which, llvm::ConstantInt::get(u32, i));
    result = ir_.CreateSelect(is_it, words[i], result);
  }
  return result;
}

// The axis along which neighbours have neighbouring words; kNone if there is none in the tile.
tile::AxisId KernelEmitter::random_axis(ValueId id) const {
  const Value& value = program_.values[id];
  for (ValueId operand : value.operands) {
    const Value& part = program_.values[operand];
    const bool simple = part.kind == Value::load || part.kind == Value::constant;
    if (!simple || !walked(part.axes).empty()) return tile::kNone;
  }
  bool affine = true;
  tile::for_each_term(value.index, [&](const tile::Index::Term& term) {
    affine &= term.kind == tile::Index::Term::axis;
  });
  if (!affine) return tile::kNone;
  for (AxisId axis : walked(value.axes)) {
    const std::optional<Dim> step = tile::coefficient(value.index, axis);
    if (step && step->is_constant(1)) return axis;
  }
  return tile::kNone;
}

// Makes the random numbers of the whole tile before they are used: neighbours share a call of
// Philox. Words come in fours, so that a row may begin with up to three of the row before.
void KernelEmitter::fill_random(ValueId id, AxisId along) {
  const Value& value = program_.values[id];
  const int lanes = target_.f32_lanes();
  Slot slot;
  slot.axes = walked(value.axes);
  std::erase(slot.axes, along);
  slot.axes.push_back(along);
  slot.strides.assign(slot.axes.size(), Dim(1));
  Dim elements = round_up(most_coordinates(along) + Dim(kWords - 1), lanes);
  for (size_t i = slot.axes.size() - 1; i-- > 0;) {
    slot.strides[i] = elements;
    elements = elements * most_coordinates(slot.axes[i]);
  }
  for (AxisId axis : slot.axes) slot.bases.push_back(axes_[axis].base);
  llvm::Value* room = new_scratch(elements + Dim((kWords + 1) * lanes), DType::u32, "random");
  slot.address = element_address(room, i64(lanes), DType::u32);

  std::function<void(size_t)> walk = [&](size_t i) {
    const AxisState& axis = axes_[slot.axes[i]];
    if (i + 1 == slot.axes.size()) {
      at_level(along, axis.base, 1, [&] { fill_random_row(value, slot, axis.size); });
      return;
    }
    loop(axis.base, ir_.CreateAdd(axis.base, axis.size), i64(1), "random",
         [&](llvm::Value* at) { at_level(slot.axes[i], at, 1, [&] { walk(i + 1); }); });
  };
  apart([&] { walk(0); });
  slots_[id] = std::move(slot);
}

void KernelEmitter::fill_random_row(const Value& value, const Slot& slot, llvm::Value* size) {
  const int lanes = target_.f32_lanes();
  const RandomKey key = random_key(value);
  llvm::Value* first = index(value.index).first;
  llvm::Value* before = ir_.CreateAnd(first, i64(kWords - 1));
  llvm::Value* start = ir_.CreateSub(slot_offset(slot).first, before);
  llvm::Value* counter = ir_.CreateLShr(first, i64(2));
  std::vector<llvm::Constant*> steps;
  for (int i = 0; i < lanes; ++i) steps.push_back(ir_.getInt64(static_cast<uint64_t>(i)));
  llvm::Value* each = llvm::ConstantVector::get(steps);
  loop(i64(0), ir_.CreateAdd(size, before), i64(int64_t{kWords} * lanes), "words",
       [&](llvm::Value* at) {
         llvm::Value* here = ir_.CreateAdd(counter, ir_.CreateLShr(at, i64(2)));
         const Words words = philox(ir_.CreateAdd(splat(here, lanes), each), key);
         ir_.CreateAlignedStore(interleave(words),
                                element_address(slot.address, ir_.CreateAdd(start, at), DType::u32),
                                alignment(DType::u32));
       });
}

// Word 0 of lane 0, word 1 of lane 0, ...
llvm::Value* KernelEmitter::interleave(const Words& words) {
  auto zip = [&](llvm::Value* a, llvm::Value* b, int piece) {
    const int count = lanes_of(a);
    std::vector<int> order;
    for (int i = 0; i < count; i += piece) {
      for (int j = 0; j < 2 * piece; ++j)
        order.push_back(j < piece ? i + j : count + i + j - piece);
    }
    return ir_.CreateShuffleVector(a, b, order);
  };
  return zip(zip(words[0], words[1], 1), zip(words[2], words[3], 1), 2);
}

}  // namespace weft::cpu
