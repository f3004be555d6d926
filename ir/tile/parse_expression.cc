// The parser of Tile programs: expressions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/tile/build.h"
#include "ir/tile/parse_kernel.h"

namespace weft::tile {
namespace {

// In one line: what follows walks expressions by recursion.
constexpr size_t kMaxStatementValues = 512;

}  // namespace

std::optional<ValueId> KernelParser::add(Value value) {
  if (!in_.room_for(kMaxModuleNodes, program_.values.size(), "values")) return std::nullopt;
  if (++statement_values_ > kMaxStatementValues) {
    in_.fail_and_stop(error(in_.here(), "more than ", kMaxStatementValues, " values in one line")
                          .hint("give parts of it names"));
    return std::nullopt;
  }
  program_.values.push_back(std::move(value));
  return static_cast<ValueId>(program_.values.size() - 1);
}

std::optional<KernelParser::Expr> KernelParser::added(Value value, const Place& place) {
  std::optional<ValueId> id = add(std::move(value));
  return id ? std::optional(Expr{*id, {}, place}) : std::nullopt;
}

bool KernelParser::set_number(Value& value, const Number& number, const Place& place) {
  if (is_float(value.dtype)) {
    value.number = round_to(value.dtype, number.value);
    return true;
  }
  bool fits = !number.real && value.dtype != DType::boolean &&
              number.integer >= lowest_integer(value.dtype) &&
              number.integer <= highest_integer(value.dtype);
  if (!fits) {
    in_.fail(error(in_.loc(place), "this number is no ", name(value.dtype)));
    return false;
  }
  value.integer = number.integer;
  return true;
}

std::optional<ValueId> KernelParser::value_of(const Expr& expr, std::optional<DType> dtype) {
  if (!expr.number) return expr.id;
  if (!dtype) {
    in_.fail(
        error(in_.loc(expr.place), "the element type of this number does not follow from others")
            .hint("write f32(..)"));
    return std::nullopt;
  }
  Value value;
  value.dtype = *dtype;
  if (!set_number(value, *expr.number, expr.place)) return std::nullopt;
  return add(std::move(value));
}

std::optional<std::vector<ValueId>> KernelParser::values_of(const std::vector<Expr>& operands) {
  std::vector<std::optional<DType>> dtypes;
  for (const Expr& operand : operands) {
    bool literal = operand.number || (program_.values[operand.id].kind == Value::constant &&
                                      program_.values[operand.id].name.empty());
    dtypes.push_back(literal ? std::nullopt : std::optional(program_.values[operand.id].dtype));
  }
  std::optional<DType> dtype = bare_literal_dtype(dtypes);
  std::vector<ValueId> ids;
  for (const Expr& operand : operands) {
    std::optional<ValueId> id = value_of(operand, dtype);
    if (!id) return std::nullopt;
    ids.push_back(*id);
  }
  return ids;
}

std::optional<KernelParser::Expr> KernelParser::expression() {
  if (++depth_ > kMaxNesting) {
    in_.fail_and_stop(
        error(in_.here(), "expression nested deeper than ", kMaxNesting, " parentheses")
            .hint("give parts of it names"));
    return std::nullopt;
  }
  std::optional<Expr> total = product();
  while (total && (in_.at("+") || in_.at("-"))) {
    Token sign = in_.take();
    std::optional<Expr> next = product();
    if (!next) return std::nullopt;
    total = make_map(sign.is("+") ? Op::add : Op::sub, {*total, *next}, sign.place);
  }
  --depth_;
  return total;
}

std::optional<KernelParser::Expr> KernelParser::product() {
  std::optional<Expr> total = primary();
  while (total && (in_.at("*") || in_.at("/"))) {
    Token sign = in_.take();
    std::optional<Expr> next = primary();
    if (!next) return std::nullopt;
    total = make_map(sign.is("*") ? Op::mul : Op::div, {*total, *next}, sign.place);
  }
  return total;
}

std::optional<KernelParser::Expr> KernelParser::primary() {
  Place place = in_.peek().place;
  if (in_.at("true") || in_.at("false")) {
    Value value;
    value.dtype = DType::boolean;
    value.integer = in_.take().is("true") ? 1 : 0;
    return added(std::move(value), place);
  }
  if (at_number(in_)) {
    std::optional<Number> number = parse_number(in_);
    return number ? std::optional(Expr{kNone, number, place}) : std::nullopt;
  }
  if (in_.take_if("(")) {
    std::optional<Expr> inner = expression();
    return inner && in_.expect(")") ? inner : std::nullopt;
  }
  if (in_.at(Token::Kind::value)) {
    std::optional<ValueId> id = find_value(in_.take());
    return id ? std::optional(Expr{*id, {}, place}) : std::nullopt;
  }
  if (!in_.at(Token::Kind::word)) {
    in_.unexpected("a value");
    return std::nullopt;
  }
  return call(in_.take());
}

std::optional<KernelParser::Expr> KernelParser::call(const Token& name) {
  std::string_view stem = name.text.substr(0, name.text.find('.'));
  std::string_view rest =
      stem.size() < name.text.size() ? name.text.substr(stem.size() + 1) : std::string_view();
  if (name.is("load")) return load();
  if (name.is("dot")) return dot();
  if (name.is("random")) return random();
  if (stem == "coord") return coord(rest.empty() ? "i32" : rest);
  if (stem == "cast") return cast(rest, name);
  if (stem == "reduce") return reduce(rest, name);
  if (std::optional<DType> dtype = weft::parse_dtype(name.text)) return typed_number(*dtype);
  if (std::optional<Op> op = find_op(name.text)) return map(name, *op);
  std::vector<std::string> known = {"load", "dot", "random", "coord", "cast.f32", "reduce.add"};
  for (const OpInfo& op : all_ops()) {
    if (op.has(kElementwise) && !op.composite()) known.emplace_back(op.name);
  }
  in_.fail(error(in_.loc(name.place), "unknown function ", shown(name.text))
               .hint(did_you_mean(name.text, known)));
  return std::nullopt;
}

std::optional<KernelParser::Expr> KernelParser::map(const Token& name, Op op) {
  std::optional<std::vector<Expr>> operands = arguments();
  return operands ? make_map(op, *std::move(operands), name.place) : std::nullopt;
}

std::optional<KernelParser::Expr> KernelParser::make_map(Op op, std::vector<Expr> operands,
                                                         const Place& place) {
  std::optional<std::vector<ValueId>> ids = values_of(operands);
  if (!ids) return std::nullopt;
  Value made;
  made.kind = Value::map;
  made.op = op;
  std::vector<DType> dtypes;
  for (ValueId id : *ids) {
    dtypes.push_back(program_.values[id].dtype);
    made.axes = unite(made.axes, program_.values[id].axes);
  }
  Result<DType> dtype = map_dtype(op, dtypes, in_.loc(place));
  if (!dtype.ok()) {
    in_.fail(std::move(dtype).take_error());
    return std::nullopt;
  }
  made.dtype = *dtype;
  made.operands = *std::move(ids);
  return added(std::move(made), place);
}

}  // namespace weft::tile
