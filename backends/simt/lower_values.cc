// Values: computed where they are first needed, in fours where memory has them in fours.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "backends/simt/lowering.h"
#include "ir/support/check.h"

namespace weft::simt {
namespace {

std::string bits_of(float value) {
  char text[40];
  std::snprintf(text, sizeof text, "uintBitsToFloat(0x%08xu)", std::bit_cast<uint32_t>(value));
  return text;
}

std::string real_text(double number) {
  const auto value = static_cast<float>(number);
  if (!std::isfinite(value)) return bits_of(value);
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos) result += ".0";
  return result[0] == '-' ? "(" + result + ")" : result;
}

bool is_name(const std::string& text) {
  return std::ranges::all_of(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

constexpr const char* kParts[] = {".x", ".y", ".z", ".w"};

}  // namespace

std::string Lowering::splat(const std::string& number, DType dtype) const {
  return type_name(dtype, true) + "(" + number + ")";
}

std::string Lowering::constant(const Value& value, AxisId axis) const {
  std::string text;
  if (is_float(value.dtype)) {
    text = real_text(value.number);
  } else if (value.dtype == DType::boolean) {
    text = value.integer != 0 ? "true" : "false";
  } else if (value.dtype == DType::i64) {
    text = "int64_t(" + std::to_string(value.integer) + "l)";
  } else if (is_signed_integer(value.dtype)) {
    text = value.integer == INT32_MIN ? "int(0x80000000u)" : std::to_string(value.integer);
    if (value.integer < 0 && text[0] == '-') text = "(" + text + ")";
  } else {
    text = std::to_string(value.integer) + "u";
  }
  return axis == kNone ? text : splat(text, value.dtype);
}

AxisId Lowering::pack_of(ValueId id) {
  auto found = packs_.find(id);
  if (found != packs_.end()) return found->second;
  const AxisId axis = find_pack(id);
  packs_[id] = axis;
  return axis;
}

AxisId Lowering::find_pack(ValueId id) {
  const Value& value = p_.values[id];
  const bool words = byte_size(value.dtype) == 4 || is_float(value.dtype);
  if (!words) return kNone;
  switch (value.kind) {
    case Value::load: {
      if (value.where != kNone || byte_size(value.dtype) != 4) return kNone;
      const AxisId axis = packed_axis(p_, value.ref, aligned_[value.ref.buffer]);
      if (axis == kNone || layout_.axes[axis].pack != 4) return kNone;
      return !written(value.ref.buffer) || packs_whole(value.ref.buffer) ? axis : kNone;
    }
    case Value::map: {
      if (!is_float(value.dtype)) return kNone;
      for (ValueId operand : value.operands) {
        if (const AxisId axis = pack_of(operand); axis != kNone) return axis;
      }
      return kNone;
    }
    case Value::dot:
    case Value::reduce:
    case Value::carried:
    case Value::result: {
      if (!is_float(value.dtype)) return kNone;
      AxisId best = kNone;
      for (AxisId axis : value.axes) {
        if (layout_.axes[axis].pack != 4) continue;
        if (best == kNone || layout_.axes[axis].lanes > layout_.axes[best].lanes) best = axis;
      }
      return best;
    }
    default: return kNone;
  }
}

std::string Lowering::scalar(ValueId id, const Point& at) {
  const Value& value = p_.values[id];
  if (value.kind == Value::constant) return constant(value, kNone);
  const AxisId pack = pack_of(id);
  if (pack != kNone) {
    const std::string four = vector(id, at, pack);
    return (is_name(four) ? four : "(" + four + ")") + kParts[at[pack] % 4];
  }
  return element(id, at, kNone);
}

std::string Lowering::vector(ValueId id, const Point& at, AxisId axis) {
  const Value& value = p_.values[id];
  if (value.kind == Value::constant) return constant(value, axis);
  if (std::ranges::count(value.axes, axis) == 0) return splat(scalar(id, at), value.dtype);
  if (pack_of(id) == axis) return element(id, at, axis);
  const std::string key = key_of(id, at, axis);
  if (const std::string* text = known(key)) return *text;
  std::string parts;
  Point part = at;
  const int64_t first = at[axis] / 4 * 4;
  for (int64_t i = 0; i < 4; ++i) {
    part[axis] = first + i;
    parts += (i == 0 ? "" : ", ") + scalar(id, part);
  }
  return declare(type_name(value.dtype, true), "v_" + hints_[id], key,
                 type_name(value.dtype, true) + "(" + parts + ")");
}

std::string Lowering::element(ValueId id, const Point& at, AxisId axis) {
  const Value& value = p_.values[id];
  const std::string key = key_of(id, at, axis);
  if (const std::string* text = known(key)) return *text;
  if (auto tile = reading_.find(id); tile != reading_.end()) {
    return read_tile(tile->second, id, at, axis);
  }
  if (value.kind == Value::reduce || value.kind == Value::dot) {
    evaluate(id);
    const std::string* text = known(key);
    if (text == nullptr) {
      fail("a value is used where its tile is not walked");
      return "0";
    }
    return *text;
  }
  if (value.kind == Value::carried || value.kind == Value::result) {
    fail("a carried value is used outside of its loop");
    return "0";
  }
  const std::string expression = compute(id, at, axis);
  return declare(type_name(value.dtype, axis != kNone), "v_" + hints_[id], key, expression);
}

std::string Lowering::compute(ValueId id, const Point& at, AxisId axis) {
  const Value& value = p_.values[id];
  switch (value.kind) {
    case Value::load: return load(value, at, axis);
    case Value::map: return compute_map(value, at, axis);
    case Value::coord: {
      std::string number = index(value.index, at, false);
      if (value.limit) {
        number = checked(number, *value.limit, "an index is not below " + value.limit->str(),
                         value.axes, at);
      }
      if (value.dtype == DType::i32) return "(" + number + ")";
      return type_name(value.dtype, false) + "(" + number + ")";
    }
    case Value::random: return random(value, at);
    default: WEFT_CHECK(false, "a value that is computed on demand");
  }
}

std::string Lowering::random(const Value& value, const Point& at) {
  // Elements are counted in 32 bits without a sign, other numbers of a launch in 31: half of the
  // largest is one of them, so that a launch beyond fails.
  if (auto range = tile::range_of(p_, value.index)) {
    if (range->high.is_constant() && range->high.constant() > int64_t{UINT32_MAX}) {
      fail("random numbers of more than 2^32 elements");
    } else {
      dim(Dim::floor_div(range->high, Dim(2)));
    }
  }
  return "weft_random(" + scalar(value.operands[0], at) + ", " + scalar(value.operands[1], at) +
         ", uint(" + dim(value.stream) + "), uint(" + index(value.index, at, false) + "))";
}

}  // namespace weft::simt
