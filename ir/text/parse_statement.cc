// Lines of a graph that define values.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/text/names.h"
#include "ir/text/parse_attrs.h"
#include "ir/text/parse_graph.h"
#include "ir/text/parse_type.h"

namespace weft {

// %name, ... '=' op operands {attributes} ':' types 'instance' n 'loc' "origin", ...
// In place of operands and attributes, an op with a body has: {attributes} '(' inputs ')' '{' lines
// '}'.
void GraphParser::statement() {
  Statement s;
  s.names.push_back(in_.take());
  std::optional<uint32_t> node;
  bool good = op_of(s) && parts(s);
  if (good && in_.same_line() && !in_.at("}")) {
    in_.unexpected("the end of the line");
    good = false;
  }
  if (good) node = add(s);
  for (uint32_t i = 0; i < s.names.size(); ++i) {
    bool there = node && i < graph_[*node].types.size();
    scope_.define(in_, s.names[i], there ? std::optional(Value{*node, i}) : std::nullopt);
  }
  if (!good) skip_line();
}

bool GraphParser::op_of(Statement& s) {
  while (in_.take_if(",")) {
    if (!in_.at(Token::Kind::value)) {
      in_.unexpected("a name such as %y");
      return false;
    }
    if (!in_.room_for(kMaxListItems, s.names.size(), "results of one line")) return false;
    s.names.push_back(in_.take());
  }
  if (!in_.expect("=")) return false;
  if (!in_.at(Token::Kind::word) || !in_.same_line()) {
    in_.unexpected("the name of an op");
    return false;
  }
  s.mnemonic = in_.take();
  std::optional<Op> op = find_op(s.mnemonic.text);
  if (!op || info(*op).has(kStructural)) {
    in_.fail(error(in_.loc(s.mnemonic.place), "unknown op '", shown(s.mnemonic.text), "'")
                 .hint(did_you_mean(s.mnemonic.text, op_names())));
    return false;
  }
  s.op = &info(*op);
  return true;
}

bool GraphParser::parts(Statement& s) {
  bool good = s.op->has(kBody) ? body(s) : operands(s) && attributes(s);
  return good && types(s) && origin(s);
}

bool GraphParser::operands(Statement& s) {
  bool more = in_.same_line() && !in_.at("{") && !in_.at(":") && !in_.at("instance") &&
              !in_.at("loc") && !in_.at("}");
  while (more) {
    if (!in_.room_for(kMaxListItems, s.operands.size(), "operands")) return false;
    std::optional<ParsedOperand> next = operand(s.names);
    if (!next) return false;
    s.operands.push_back(std::move(*next));
    more = in_.take_if(",");
  }
  return true;
}

bool GraphParser::attributes(Statement& s) {
  if (!in_.same_line() || !in_.at("{")) return true;
  s.attrs = parse_attrs(in_, *s.op);
  return s.attrs || in_.same_line();
}

bool GraphParser::types(Statement& s) {
  if (!in_.same_line() || !in_.take_if(":")) return true;
  do {
    if (!in_.room_for(kMaxListItems, s.types.size(), "types of one line")) return false;
    Place place = in_.peek().place;
    std::optional<Type> type = parse_type(in_);
    if (!type) return false;
    s.types.emplace_back(std::move(*type), place);
  } while (in_.take_if(","));
  return true;
}

bool GraphParser::origin(Statement& s) {
  if (in_.same_line() && in_.take_if("instance")) {
    Place place = in_.peek().place;
    std::optional<int64_t> number = parse_integer(in_);
    if (!number) return false;
    if (*number < 0 || *number > UINT32_MAX) {
      in_.fail(error(in_.loc(place), "instance ", *number, " is out of the range of 32 bits"));
      return false;
    }
    s.instance = static_cast<uint32_t>(*number);
  }
  if (!in_.same_line() || !in_.take_if("loc")) return true;
  do {
    if (!in_.at(Token::Kind::string)) {
      in_.unexpected("a string in quotes");
      return false;
    }
    if (!in_.room_for(kMaxOrigins, s.origin.size(), "origins of one line")) return false;
    s.origin.push_back(in_.take().name());
  } while (in_.take_if(","));
  std::sort(s.origin.begin(), s.origin.end());
  s.origin.erase(std::unique(s.origin.begin(), s.origin.end()), s.origin.end());
  return true;
}

std::optional<uint32_t> GraphParser::add(Statement& s) {
  bool has_body = s.op->has(kBody);
  if (has_body && !s.body) return std::nullopt;
  size_t results = has_body ? s.body->outputs.size() : s.op->results.size();
  if (s.names.size() != results) {
    std::string names;
    for (const std::string& result : s.op->results) names += (names.empty() ? "%" : ", %") + result;
    in_.fail(error(in_.loc(s.names[0].place), s.op->name, " has ", results,
                   results == 1 ? " result, but " : " results, but ", s.names.size(),
                   s.names.size() == 1 ? " name is given" : " names are given")
                 .hint(cat("write ", names, " = ", s.op->name, " ...")));
    return std::nullopt;
  }
  std::optional<std::vector<Value>> values = has_body ? s.values : resolve(s.operands);
  if (!values || !s.attrs) return std::nullopt;
  Node node;
  node.op = s.op->op;
  node.operands = std::move(*values);
  node.attrs = std::move(*s.attrs);
  for (const Token& name : s.names) {
    std::string own = name.name();
    const Scope::Entry* known = scope_.find(own);  // a second definition is reported, not named
    node.names.push_back(known != nullptr && known->defined ? "" : own);
  }
  node.origin = std::move(s.origin);
  node.loc = in_.loc(s.mnemonic.place);
  node.instance = s.instance;
  node.body = std::move(s.body);
  std::optional<uint32_t> index = append(std::move(node));
  if (index) check_types(s, *index);
  return index;
}

void GraphParser::check_types(const Statement& s, uint32_t node) {
  if (s.types.empty()) return;
  const std::vector<Type>& types = graph_[node].types;
  if (s.types.size() != types.size()) {
    in_.fail(error(in_.loc(s.types[0].second), s.op->name, " has ", types.size(),
                   types.size() == 1 ? " result, but " : " results, but ", s.types.size(),
                   s.types.size() == 1 ? " type is given" : " types are given"));
    return;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const auto& [stated, place] = s.types[i];
    if (same_type(stated, types[i], module_.dims)) continue;
    in_.fail(error(in_.loc(place), s.op->name, " gives ", types[i], ", but the line says ", stated)
                 .hint(cat("write ", types[i], ", or leave the type out")));
  }
}

}  // namespace weft
