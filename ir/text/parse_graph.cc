// SPDX-License-Identifier: Apache-2.0
#include "ir/text/parse_graph.h"

#include <algorithm>

#include "ir/text/parse_type.h"

namespace weft {

const Scope::Entry* Scope::find(const std::string& name) const {
  auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

void Scope::define(Cursor& in, const Token& name, std::optional<Value> value) {
  auto [entry, fresh] = entries_.try_emplace(name.name(), Entry{value, name.place});
  if (fresh) return;
  if (entry->second.defined) {
    in.fail(error(in.loc(name.place), shown(name.text), " is defined twice")
                .note(in.loc(entry->second.place), "first defined here"));
    return;
  }
  entry->second = {value, name.place};
}

std::vector<std::string> Scope::names() const {
  constexpr size_t kMaxCandidates = 10'000;  // comparing with more takes longer than it helps
  std::vector<std::string> names;
  if (entries_.size() > kMaxCandidates) return names;
  for (const auto& [name, entry] : entries_) {
    if (entry.defined) names.push_back("%" + name);
  }
  std::sort(names.begin(), names.end());  // the hint must not depend on hash order
  return names;
}

Graph GraphParser::parse() {
  if (!header()) {
    in_.skip_to_line({"}", "graph"}, false);
    in_.take_if("}");
    return std::move(graph_);
  }
  lines();
  if (in_.at("}")) {
    if (!returned_) {
      in_.fail(error(in_.here(), "graph @", graph_.name(), " has no return")
                   .hint("add a line 'return %...' before the '}'"));
    }
    in_.take();
  } else if (in_.at_end()) {
    in_.cut_short("graph @" + graph_.name(), opened_);
  } else {
    in_.unexpected(cat("'}' at the end of graph @", graph_.name()));
  }
  return std::move(graph_);
}

// @name '(' inputs ')' '->' '(' outputs ')' '{'
bool GraphParser::header() {
  if (!in_.at(Token::Kind::storage)) {
    in_.unexpected("the name of the graph, such as @forward");
    return false;
  }
  Token name = in_.take();
  graph_.set_name(name.name());
  graph_.loc = in_.loc(name.place);
  opened_ = name.place;
  if (!in_.expect("(")) return false;
  for (bool first = true; !in_.take_if(")"); first = false) {
    if (!first && !in_.expect(",")) return false;
    if (!input()) return false;
  }
  if (!in_.expect("->") || !in_.expect("(")) return false;
  for (bool first = true; !in_.take_if(")"); first = false) {
    if (!first && !in_.expect(",")) return false;
    if (!output()) return false;
  }
  return in_.expect("{");
}

// %name ':' type. A wrong type poisons the name, and parsing goes on.
bool GraphParser::input() {
  if (!in_.at(Token::Kind::value)) {
    in_.unexpected("an input, such as %x: f32[B, T]");
    return false;
  }
  Token name = in_.take();
  std::optional<Type> type;
  if (in_.expect(":")) type = parse_type(in_);
  if (!type) {
    scope_.define(in_, name, std::nullopt);
    in_.skip_to_comma(")");
    return in_.at(",") || in_.at(")");
  }
  const Scope::Entry* known = scope_.find(name.name());
  std::optional<Value> value;
  if (known == nullptr && spend_node()) {
    value = graph_.add_input(name.name(), std::move(*type), in_.loc(name.place));
  }
  scope_.define(in_, name, value);
  return true;
}

// name [':' type]
bool GraphParser::output() {
  if (!in_.at(Token::Kind::word) && !in_.at(Token::Kind::string)) {
    in_.unexpected("the name of an output, such as y: f32[B, T]");
    return false;
  }
  if (!spend_result()) return false;
  Declared declared;
  declared.name = in_.take();
  if (in_.take_if(":")) {
    declared.place = in_.peek().place;
    declared.type = parse_type(in_);
    if (!declared.type) in_.skip_to_comma(")");
  }
  outputs_.push_back(std::move(declared));
  return true;
}

void GraphParser::lines() {
  while (!in_.at_end() && !in_.at("}")) {
    if (returned_) {
      in_.unexpected("'}' behind the return");
      in_.take();
      in_.skip_to_line({"}", "graph"}, false);
    } else if (in_.at(Token::Kind::value)) {
      statement();
    } else if (in_.at("update")) {
      update();
    } else if (in_.at("return")) {
      outer_ == nullptr ? finish() : finish_body();
    } else if (in_.at("graph") || in_.at("param") || in_.at("state") || in_.at("module")) {
      return;  // the '}' is missing
    } else {
      in_.unexpected("a line such as '%y = exp %x', 'update', 'return' or '}'");
      in_.take();
      skip_line();
    }
  }
}

void GraphParser::skip_line() {
  in_.skip_to_line({"update", "return", "}", "graph", "param", "state", "module"}, true);
}

// 'update' @target '=' value
void GraphParser::update() {
  if (outer_ != nullptr) {
    in_.fail(error(in_.here(), "a body updates nothing")
                 .hint("return the new value, and update it behind the body"));
    in_.take();
    return skip_line();
  }
  in_.take();
  bool good = false;
  if (!in_.at(Token::Kind::storage)) {
    in_.unexpected("the name of a parameter or state, such as @w");
  } else {
    Token target = in_.take();
    const Storage* item = storage(target);
    if (in_.expect("=")) {
      std::optional<Value> value = value_operand();
      good = !in_.same_line() || in_.at("}");
      if (!good) in_.unexpected("the end of the line");
      if (value && item != nullptr && spend_result()) {
        graph_.updates.push_back({target.name(), *value, in_.loc(target.place)});
      }
    }
  }
  if (!good) skip_line();
}

// 'return' value, ...
void GraphParser::finish() {
  returned_ = true;
  Token word = in_.take();
  size_t count = 0;
  std::vector<std::optional<Value>> values;  // as many as there are outputs
  std::vector<Place> places;
  if (in_.same_line() && !in_.at("}")) {
    do {
      Place place = in_.peek().place;
      std::optional<Value> value = value_operand();
      if (count++ >= outputs_.size()) continue;
      places.push_back(place);
      values.push_back(value);
    } while (in_.take_if(","));
  }
  if (in_.same_line() && !in_.at("}")) {
    in_.unexpected("the end of the line");
    return in_.skip_to_line({"}", "graph"}, false);
  }
  if (count != outputs_.size()) {
    in_.fail(error(in_.loc(word.place), "graph @", graph_.name(), " has ", outputs_.size(),
                   outputs_.size() == 1 ? " output, but " : " outputs, but ", count,
                   count == 1 ? " value is returned" : " values are returned")
                 .note(graph_.loc, "outputs declared here"));
    return;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const Declared& declared = outputs_[i];
    const Type& type = graph_.type(*values[i]);
    if (declared.type && !same_type(*declared.type, type, module_.dims)) {
      in_.fail(error(in_.loc(places[i]), "output ", shown(declared.name.text), " has type ", type,
                     ", but the graph declares ", *declared.type)
                   .note(in_.loc(declared.place), "declared here"));
    }
    graph_.outputs.push_back({declared.name.name(), *values[i], in_.loc(declared.name.place)});
  }
}

}  // namespace weft
