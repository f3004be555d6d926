// Bodies of a graph's lines: graphs without a name, whose inputs are given in place.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/region.h"
#include "ir/text/parse_graph.h"
#include "ir/text/parse_type.h"

namespace weft {

// {attributes} '(' inputs ')' '{' lines '}'. Once the body is open, it is consumed, wrong or not.
bool GraphParser::body(Statement& s) {
  std::vector<Binding> inputs;
  if (!attributes(s) || !open_body(s, inputs)) {
    in_.skip_body();
    return false;
  }
  s.values = resolve(s.operands);
  GraphParser inner(in_, module_, storage_, budget_, this);
  inner.graph_.loc = in_.loc(s.mnemonic.place);
  inner.opened_ = s.mnemonic.place;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::optional<Type> follows;
    std::optional<Value> value = s.values ? std::optional((*s.values)[i]) : std::nullopt;
    if (s.operands[i].kind == ParsedOperand::Kind::value) value = s.operands[i].value;
    if (value && s.attrs) follows = body_input_type(s.op->op, *s.attrs, i, graph_.type(*value));
    inner.bind(inputs[i], follows);
  }
  inner.lines();
  if (!inner.close_body(cat("the body of ", s.op->name))) return false;
  bool whole = inner.complete_ && inner.graph_.inputs().size() == inputs.size();
  if (whole) s.body = std::make_shared<const Graph>(std::move(inner.graph_));
  return true;
}

bool GraphParser::open_body(Statement& s, std::vector<Binding>& inputs) {
  if (!in_.expect("(")) return false;
  for (bool first = true; !in_.take_if(")"); first = false) {
    if (!first && !in_.expect(",")) return false;
    if (!binding(s, inputs)) return false;
  }
  if (depth() >= kMaxBodyDepth) {
    in_.fail(error(in_.loc(s.mnemonic.place), s.op->name, ": more than ", kMaxBodyDepth,
                   " bodies inside one another"));
    return false;
  }
  return in_.expect("{");
}

// %name '=' operand [':' type]
bool GraphParser::binding(Statement& s, std::vector<Binding>& inputs) {
  if (!in_.room_for(kMaxListItems, inputs.size(), "operands")) return false;
  if (!in_.at(Token::Kind::value)) {
    in_.unexpected("an input of the body, such as %x = %h");
    return false;
  }
  Binding input;
  input.name = in_.take();
  if (!in_.expect("=")) return false;
  std::optional<ParsedOperand> given = operand(s.names);
  if (!given) return false;
  s.operands.push_back(std::move(*given));
  if (in_.take_if(":")) {
    input.type = parse_type(in_);
    if (!input.type) return false;
  }
  inputs.push_back(std::move(input));
  return true;
}

// The type is the one written, or else the one that follows; without any the name is poisoned.
void GraphParser::bind(const Binding& input, const std::optional<Type>& follows) {
  std::optional<Type> type = input.type ? input.type : follows;
  std::optional<Value> value;
  if (type && scope_.find(input.name.name()) == nullptr && spend_node()) {
    value = graph_.add_input(input.name.name(), *std::move(type), in_.loc(input.name.place));
  }
  scope_.define(in_, input.name, value);
}

// 'return' value, ...
void GraphParser::finish_body() {
  returned_ = true;
  complete_ = true;
  Token word = in_.take();
  if (!in_.same_line() || in_.at("}")) {
    complete_ = false;
    in_.fail(error(in_.loc(word.place), "the body returns nothing")
                 .hint("name what it computes: return %y"));
    return;
  }
  do {
    std::optional<Value> value = value_operand();
    if (!value || !spend_result()) {
      complete_ = false;
      continue;
    }
    graph_.outputs.push_back({body_output_name(graph_.outputs.size()), *value, in_.here()});
  } while (in_.take_if(","));
  if (!in_.same_line() || in_.at("}")) return;
  in_.unexpected("the end of the line");
  in_.skip_to_line({"}", "graph"}, false);
}

bool GraphParser::close_body(const std::string& what) {
  if (in_.at("}")) {
    if (!returned_) {
      in_.fail(error(in_.here(), what, " has no return")
                   .hint("add a line 'return %...' before the '}'"));
    }
    in_.take();
    return true;
  }
  if (in_.at_end()) {
    in_.cut_short(what, opened_);
  } else {
    in_.unexpected(cat("'}' at the end of ", what));
  }
  return false;
}

const Scope::Entry* GraphParser::outer_entry(const std::string& name) const {
  for (const GraphParser* around = outer_; around != nullptr; around = around->outer_) {
    const Scope::Entry* entry = around->scope_.find(name);
    if (entry != nullptr && entry->defined) return entry;
  }
  return nullptr;
}

}  // namespace weft
