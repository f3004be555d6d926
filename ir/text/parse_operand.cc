// Operands of a line: values, parameters, and numbers written in place.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/parse_graph.h"
#include "ir/text/parse_type.h"

namespace weft {

std::optional<ParsedOperand> GraphParser::operand(const std::vector<Token>& defining) {
  if (in_.at(Token::Kind::value) || in_.at(Token::Kind::storage)) return named_operand(defining);
  bool typed = in_.at(Token::Kind::word) && parse_dtype(in_.peek().text);
  if (at_number(in_) || in_.at("true") || in_.at("false") || typed) return number_operand();
  in_.unexpected("an operand (%value, @parameter or a number)");
  return std::nullopt;
}

// number | 'true' | 'false' | dtype '(' number ')'
std::optional<ParsedOperand> GraphParser::number_operand() {
  ParsedOperand result;
  result.kind = ParsedOperand::Kind::number;
  result.place = in_.peek().place;
  bool typed = in_.at(Token::Kind::word) && parse_dtype(in_.peek().text);
  if (typed) {
    result.dtype = parse_dtype(in_.take().text);
    if (!in_.expect("(")) return std::nullopt;
  }
  if (in_.at("true") || in_.at("false")) {
    if (!typed) result.dtype = DType::boolean;
    result.numbers = Numbers{std::vector<int64_t>{in_.take().is("true") ? 1 : 0}};
  } else {
    std::optional<Number> number = parse_number(in_);
    if (!number) return std::nullopt;
    result.numbers = number->real ? Numbers{std::vector<double>{number->value}}
                                  : Numbers{std::vector<int64_t>{number->integer}};
  }
  if (typed && !in_.expect(")")) return std::nullopt;
  return result;
}

ParsedOperand GraphParser::named_operand(const std::vector<Token>& defining) {
  Token token = in_.take();
  std::string name = token.name();
  ParsedOperand result;
  result.place = token.place;
  auto bind = [&](Value value) {
    result.kind = ParsedOperand::Kind::value;
    result.value = value;
  };
  if (token.kind == Token::Kind::value) {
    const Scope::Entry* entry = scope_.find(name);
    if (entry == nullptr) report_undefined(token, defining);
    if (entry != nullptr && entry->value) bind(*entry->value);
    return result;
  }
  if (outer_ != nullptr) {
    in_.fail(
        error(in_.loc(token.place), shown(token.text), " is read inside a body")
            .hint(cat("give the body an input: (%", shown(name), " = ", shown(token.text), ")")));
    return result;
  }
  if (const Storage* item = storage(token)) {
    size_t before = graph_.nodes().size();
    bind(graph_.read_param(name, item->type, item->loc));
    if (graph_.nodes().size() > before) spend_node();
  }
  return result;
}

const Storage* GraphParser::storage(const Token& name) {
  auto found = storage_.find(name.name());
  if (found == storage_.end()) {
    in_.fail(error(in_.loc(name.place), shown(name.text), " is not declared in the module")
                 .hint(did_you_mean(name.name(), module_.storage_names())));
    return nullptr;
  }
  return found->second ? &module_.storage[*found->second] : nullptr;
}

std::optional<Value> GraphParser::value_operand() {
  if (!in_.at(Token::Kind::value) && !in_.at(Token::Kind::storage)) {
    bool number = at_number(in_);
    if (!number) {
      in_.unexpected("%value or @parameter");
      return std::nullopt;
    }
    in_.fail(error(in_.here(), "a number cannot stand here")
                 .hint("give it a line: %c = constant {value = 0.0, dtype = f32}"));
    in_.take_if("-");
    in_.take();
    return std::nullopt;
  }
  ParsedOperand operand = named_operand({});
  return operand.kind == ParsedOperand::Kind::value ? std::optional(operand.value) : std::nullopt;
}

void GraphParser::report_undefined(const Token& name, const std::vector<Token>& defining) {
  if (!later_) {  // what the rest of this graph defines
    later_.emplace();
    Lexer lexer = in_.look_ahead();
    bool names = in_.peek().starts_line;  // at the names before '='
    size_t inside = 0;  // brackets, among them those of bodies, whose names are their own
    for (Token t = in_.peek(); t.kind != Token::Kind::end; t = lexer.next()) {
      if (t.starts_line && ((t.is("}") && inside == 0) || t.is("graph"))) break;
      if (t.is("(") || t.is("{")) ++inside;
      if (inside > 0 && (t.is(")") || t.is("}"))) --inside;
      if (inside > 0) continue;
      if (t.starts_line) names = true;
      if (later_->size() == kMaxModuleNodes) break;
      if (names && t.kind == Token::Kind::value) later_->emplace(t.name(), t.place);
      if (t.kind != Token::Kind::value && !t.is(",")) names = false;
    }
  }
  std::string own = name.name();
  scope_.poison_undefined(own);
  Loc loc = in_.loc(name.place);
  for (const Token& token : defining) {
    if (token.name() == own) {
      in_.fail(error(loc, shown(name.text), " is used in its own definition")
                   .hint("use another value: a graph has no cycles"));
      return;
    }
  }
  if (const Scope::Entry* outside = outer_entry(own)) {
    in_.fail(error(loc, shown(name.text), " is not defined in this body")
                 .note(in_.loc(outside->place), "defined outside of it")
                 .hint(cat("give the body an input: (", shown(name.text), " = ", shown(name.text),
                           ")")));
    return;
  }
  auto found = later_->find(own);
  if (found != later_->end()) {
    in_.fail(error(loc, shown(name.text), " is used before it is defined")
                 .note(in_.loc(found->second), "defined here")
                 .hint("move its line up; if it depends on this one, the graph has a cycle"));
    return;
  }
  in_.fail(error(loc, shown(name.text), " is not defined")
               .hint(did_you_mean(name.text, scope_.names())));
}

std::optional<std::vector<Value>> GraphParser::resolve(const std::vector<ParsedOperand>& operands) {
  std::vector<std::optional<DType>> dtypes;
  for (const ParsedOperand& operand : operands) {
    if (operand.kind == ParsedOperand::Kind::poisoned) return std::nullopt;
    bool value = operand.kind == ParsedOperand::Kind::value;
    dtypes.push_back(value ? std::optional(graph_.type(operand.value).dtype) : std::nullopt);
  }
  std::optional<DType> bare = bare_literal_dtype(dtypes);
  std::vector<Value> values;
  for (const ParsedOperand& operand : operands) {
    if (operand.kind == ParsedOperand::Kind::value) {
      values.push_back(operand.value);
      continue;
    }
    std::optional<DType> dtype = operand.dtype ? operand.dtype : bare;
    if (!dtype) {
      in_.fail(error(in_.loc(operand.place), "the element type of this number does not follow")
                   .hint("write it out, such as f32(1.0)"));
      return std::nullopt;
    }
    std::optional<Value> value = constant(operand, *dtype);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// Equal numbers are one node, as they are where a pass has made them.
std::optional<Value> GraphParser::constant(const ParsedOperand& number, DType dtype) {
  uint64_t bits = 0;
  bool real = number.numbers.real();
  int64_t integer = real ? 0 : std::get<1>(number.numbers.values)[0];
  if (real || is_float(dtype)) {
    double value = real ? std::get<0>(number.numbers.values)[0] : static_cast<double>(integer);
    bits = std::bit_cast<uint64_t>(is_float(dtype) ? round_to(dtype, value) : value);
  } else {
    bits = static_cast<uint64_t>(integer);
  }
  auto known = constants_.find({dtype, bits});
  if (known != constants_.end()) return known->second;
  Node node;
  node.op = Op::constant;
  node.attrs = {{"value", number.numbers}, {"dtype", dtype}};
  node.loc = in_.loc(number.place);
  std::optional<uint32_t> index = append(std::move(node));
  if (!index) return std::nullopt;
  Value value{*index, 0};
  constants_.emplace(std::pair(dtype, bits), value);
  return value;
}

std::optional<uint32_t> GraphParser::append(Node node) {
  if (!spend_node()) return std::nullopt;
  Result<Value> value = graph_.append(std::move(node), module_.dims);
  if (value.ok()) return value->node;
  in_.fail(std::move(value).take_error());
  return std::nullopt;
}

bool GraphParser::spend_node() {
  if (budget_.nodes == 0) {
    in_.fail_and_stop(
        error(in_.here(), "the module has more than ", kMaxModuleNodes, " operations"));
    return false;
  }
  --budget_.nodes;
  return true;
}

bool GraphParser::spend_result() {
  if (budget_.results == 0) {
    in_.fail_and_stop(
        error(in_.here(), "the module has more than ", kMaxModuleResults, " outputs and updates"));
    return false;
  }
  --budget_.results;
  return true;
}

}  // namespace weft
