// Elementwise operations: how each is spelled.
// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/lowering.h"

namespace weft::simt {
namespace {

// Of a quotient of floats as far apart as can be, eight bits a turn.
constexpr int64_t kDivisionTurns = 32;

// Of floats; packs have them too.
const char* function_of(Op op) {
  switch (op) {
    case Op::abs: return "abs";
    case Op::floor: return "floor";
    case Op::round: return "roundEven";
    case Op::sqrt: return "sqrt";
    case Op::exp: return "weft_exp";
    case Op::log: return "weft_log";
    case Op::tanh: return "weft_tanh";
    case Op::erf: return "weft_erf";
    case Op::sin: return "weft_sin";
    case Op::cos: return "weft_cos";
    case Op::pow: return "weft_pow";
    case Op::minimum: return "weft_min";
    case Op::maximum: return "weft_max";
    case Op::mod: return "weft_mod_float";
    default: return nullptr;
  }
}

std::string cast_to(const std::string& x, DType from, DType to, bool four) {
  const std::string type = type_name(to, four);
  if (to == DType::boolean)
    return "(" + x + " != " + (is_float(from) ? "0.0)" : type_name(from, false) + "(0))");
  if (is_float(to)) {
    const std::string wide = is_float(from) ? x : type + "(" + x + ")";
    if (to == DType::f16 && from != DType::f16) return "weft_round_f16(" + wide + ")";
    if (to == DType::bf16 && from != DType::bf16) return "weft_round_bf16(" + wide + ")";
    return wide;
  }
  if (is_float(from)) return "weft_to_" + std::string(name(to)) + "(" + x + ")";
  return wrapped(type + "(" + x + ")", to);
}

}  // namespace

// Small integers are computed in 32 bits: what comes out wraps before others use it.
std::string wrapped(const std::string& text, DType dtype) {
  if (dtype == DType::i8) return "weft_wrap_i8(" + text + ")";
  if (dtype == DType::u8) return "((" + text + ") & 255u)";
  return text;
}

void Lowering::wrap(const std::string& variable, DType dtype) {
  const std::string text = wrapped(variable, dtype);
  if (text != variable) line(variable + " = " + text + ";");
}

// A coordinate or a small number: an i64 that 32 bits hold.
bool Lowering::is_small(ValueId id) const {
  const Value& value = p_.values[id];
  if (value.dtype != DType::i64) return false;
  if (value.kind == Value::constant) {
    return value.integer >= INT32_MIN && value.integer <= INT32_MAX;
  }
  return value.kind == Value::coord && !value.limit;
}

std::string Lowering::small(ValueId id, const Point& at) {
  const Value& value = p_.values[id];
  if (value.kind == Value::constant) return "int(" + std::to_string(value.integer) + ")";
  return integer(index(value.index, at, false));
}

// A number that data gives, in the 32 bits that places are computed in. What they do not hold
// becomes the lowest number, which stays below every buffer whatever is added to it.
std::string Lowering::index_number(ValueId id, const Point& at) {
  const std::string number = scalar(id, at);
  const Value& value = p_.values[id];
  if (value.dtype == DType::i32) return number;
  const bool cast = value.kind == Value::map && value.op == Op::cast;
  const bool widened = cast && p_.values[value.operands[0]].dtype == DType::i32;
  const bool holds = value.dtype != DType::i64 || value.kind == Value::coord || is_small(id);
  return (widened || holds ? "int(" : "weft_index(") + number + ")";
}

std::string Lowering::compute_map(const Value& value, const Point& at, AxisId axis) {
  // Coordinates are compared in 32 bits: Mesa's CPU driver has been seen to compare them wrongly
  // after widening.
  const bool compares =
      value.op == Op::lt || value.op == Op::le || value.op == Op::eq || value.op == Op::ne;
  if (compares && is_small(value.operands[0]) && is_small(value.operands[1])) {
    const char* sign = value.op == Op::lt   ? " < "
                       : value.op == Op::le ? " <= "
                       : value.op == Op::eq ? " == "
                                            : " != ";
    return small(value.operands[0], at) + sign + small(value.operands[1], at);
  }
  std::vector<std::string> x;
  for (ValueId operand : value.operands) {
    x.push_back(axis == kNone ? scalar(operand, at) : vector(operand, at, axis));
  }
  const DType from = p_.values[value.operands[0]].dtype;
  const bool real = is_float(from);
  auto infix = [&](const char* sign) {
    return wrapped(x[0] + " " + sign + " " + x[1], value.dtype);
  };
  switch (value.op) {
    case Op::add: return infix("+");
    case Op::sub: return infix("-");
    case Op::mul: return infix("*");
    case Op::div: return infix("/");
    case Op::neg: return wrapped("-" + x[0], value.dtype);
    case Op::rsqrt:
      return (axis == kNone ? "1.0" : "vec4(1.0)") + std::string(" / sqrt(") + x[0] + ")";
    case Op::eq: return x[0] + " == " + x[1];
    case Op::ne: return x[0] + " != " + x[1];
    case Op::lt: return x[0] + " < " + x[1];
    case Op::le: return x[0] + " <= " + x[1];
    case Op::logical_and: return x[0] + " && " + x[1];
    case Op::logical_or: return x[0] + " || " + x[1];
    case Op::logical_not: return "!" + x[0];
    case Op::select:
      if (axis != kNone) return "mix(" + x[2] + ", " + x[1] + ", " + x[0] + ")";
      return x[0] + " ? " + x[1] + " : " + x[2];
    case Op::cast: return cast_to(x[0], from, value.dtype, axis != kNone);
    case Op::floordiv:
    case Op::mod:
      if (!real) {
        return wrapped(
            (value.op == Op::mod ? "weft_mod(" : "weft_floordiv(") + x[0] + ", " + x[1] + ")",
            value.dtype);
      }
      if (value.op == Op::mod) count_turns(kDivisionTurns * (axis == kNone ? 1 : 4));
      break;
    case Op::minimum:
    case Op::maximum:
      if (!real) return (value.op == Op::minimum ? "min(" : "max(") + x[0] + ", " + x[1] + ")";
      break;
    case Op::abs: return wrapped("abs(" + x[0] + ")", value.dtype);
    default: break;
  }
  const char* function = function_of(value.op);
  if (function == nullptr) {
    fail("no spelling for the op " + std::string(info(value.op).name));
    return "0";
  }
  std::string text = std::string(function) + "(" + x[0];
  if (x.size() > 1) text += ", " + x[1];
  return text + ")";
}

}  // namespace weft::simt
