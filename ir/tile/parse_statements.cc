// The parser of Tile programs: statements.
// SPDX-License-Identifier: Apache-2.0
#include "ir/text/names.h"
#include "ir/tile/parse_kernel.h"

namespace weft::tile {

void KernelParser::begin_statement(const Place& place) {
  lines_.push_back(in_.loc(place));
  statement_values_ = 0;
  depth_ = 0;
}

void KernelParser::block(Block& into, Stmt* loop, const Place& opened) {
  if (++blocks_ > kMaxNesting) {
    return in_.fail_and_stop(
        error(in_.here(), "blocks nested deeper than ", kMaxNesting, " levels"));
  }
  bool yielded = false;
  while (!in_.at_end() && !in_.at("}")) {
    bool fine = true;
    if (in_.at("yield") && loop != nullptr && !yielded) {
      yielded = true;
      fine = yield(*loop);
      if (fine && !in_.at("}")) in_.unexpected("'}' behind 'yield'");
      fine = fine && in_.at("}");
    } else {
      fine = statement(into);
    }
    if (fine) continue;
    in_.skip_to_line({"store", "update", "scatter", "loop", "when", "yield", "}"}, true);
  }
  --blocks_;
  if (in_.at_end()) return in_.cut_short("a block", opened);
  in_.take();
}

bool KernelParser::statement(Block& into) {
  Place place = in_.peek().place;
  if (!in_.room_for(kMaxModuleNodes, lines_.size(), "statements")) return false;
  begin_statement(place);
  if (in_.at(Token::Kind::value) || in_.at("(")) return definition(into);
  if (in_.take_if("store")) return write(into, Stmt::store);
  if (in_.take_if("update")) return write(into, Stmt::update);
  if (in_.take_if("scatter")) return write(into, Stmt::scatter);
  if (in_.take_if("loop")) return loop(into, {});
  if (in_.take_if("when")) return when(into);
  if (in_.at(Token::Kind::word) && in_.peek().text.starts_with("accumulate.")) {
    return accumulate(into);
  }
  in_.unexpected("a statement");
  in_.take();
  return false;
}

bool KernelParser::define(const Token& token, ValueId id) {
  std::string name = token.name();
  if (buffers_.contains(name) || !values_.emplace(name, id).second) {
    in_.fail(error(in_.loc(token.place), shown(token.text), " is defined twice"));
    return false;
  }
  program_.values[id].name = std::move(name);
  return true;
}

std::optional<ValueId> KernelParser::find_value(const Token& token) {
  auto found = values_.find(token.name());
  if (found != values_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : values_) known.push_back(entry.first);
  bool buffer = buffers_.contains(token.name());
  in_.fail(error(in_.loc(token.place), buffer ? "a buffer is used as a value: " : "unknown value ",
                 shown(token.text))
               .hint(buffer ? cat("write load ", shown(token.text), "[..]")
                            : did_you_mean(token.name(), known)));
  return std::nullopt;
}

bool KernelParser::check_type(ValueId id, const Place& place) {
  std::optional<DType> dtype = parse_dtype(in_);
  if (!dtype) return false;
  std::optional<std::vector<AxisId>> axes = axis_list();
  if (!axes) return false;
  const Value& value = program_.values[id];
  if (value.dtype == *dtype && value.axes == *axes) return true;
  std::string own;
  for (AxisId axis : value.axes) own += (own.empty() ? "" : ", ") + program_.axes[axis].name;
  in_.fail(error(in_.loc(place), "this value is ", name(value.dtype), "[", own,
                 "], not of the type that is stated")
               .hint("leave the type away"));
  return false;
}

bool KernelParser::definition(Block& into) {
  std::vector<Token> names;
  Token first = in_.peek();
  if (in_.take_if("(")) {
    do {
      if (!in_.room_for(kMaxListItems, names.size(), "results")) return false;
      if (!in_.at(Token::Kind::value)) {
        in_.unexpected("a value's name, such as %x");
        return false;
      }
      names.push_back(in_.take());
    } while (in_.take_if(","));
    if (!in_.expect(")")) return false;
  } else {
    names.push_back(in_.take());
  }
  if (!in_.expect("=")) return false;
  if (in_.take_if("loop")) return loop(into, std::move(names));
  if (names.size() != 1) {
    in_.unexpected("'loop'");
    return false;
  }
  std::optional<Expr> expr = expression();
  if (!expr) return false;
  std::optional<ValueId> id = value_of(*expr, std::nullopt);
  if (!id) return false;
  if (!program_.values[*id].name.empty()) {
    in_.fail(error(in_.loc(first.place), "this value has the name %",
                   shown(program_.values[*id].name), " already")
                 .hint("use that one"));
    return false;
  }
  if (in_.take_if(":") && !check_type(*id, first.place)) return false;
  Stmt let;
  let.value = *id;
  into.push_back(std::move(let));
  return define(names[0], *id);
}

bool KernelParser::carried(Stmt& loop) {
  std::vector<Token> names;
  do {
    if (!in_.room_for(kMaxNesting, names.size(), "carried values")) return false;
    if (!in_.at(Token::Kind::value)) {
      in_.unexpected("a carried value's name, such as %c");
      return false;
    }
    names.push_back(in_.take());
    if (!in_.expect("=")) return false;
    std::optional<Expr> init = expression();
    if (!init || !in_.expect(":")) return false;
    Value made;
    made.kind = Value::carried;
    std::optional<DType> dtype = parse_dtype(in_);
    if (!dtype) return false;
    made.dtype = *dtype;
    std::optional<std::vector<AxisId>> axes = axis_list();
    if (!axes) return false;
    made.axes = *std::move(axes);
    std::optional<ValueId> begin = value_of(*init, dtype);
    std::optional<ValueId> id = begin ? add(std::move(made)) : std::nullopt;
    if (!id) return false;
    loop.init.push_back(*begin);
    loop.carried.push_back(*id);
  } while (in_.take_if(","));
  for (size_t i = 0; i < names.size(); ++i) {
    if (!define(names[i], loop.carried[i])) return false;
  }
  return true;
}

bool KernelParser::loop(Block& into, std::vector<Token> results) {
  Stmt made;
  made.kind = Stmt::loop;
  std::optional<AxisId> axis = axis_name();
  if (!axis) return false;
  made.axis = *axis;
  if (in_.take_if("from")) {
    made.from = index();
    if (!made.from) return false;
  }
  if (in_.take_if("to")) {
    made.to = index();
    if (!made.to) return false;
  }
  if (in_.take_if("carry") && !carried(made)) return false;
  if (made.carried.size() != results.size()) {
    in_.fail(error(lines_.back(), "the loop carries ", made.carried.size(), " values, and ",
                   results.size(), " results are named"));
    return false;
  }
  Place opened = in_.peek().place;
  if (!in_.expect("{")) return false;
  Loc line = lines_.back();
  block(made.body, &made, opened);
  if (made.yields.size() != made.carried.size() && !in_.failed()) {
    in_.fail(error(line, "the loop carries ", made.carried.size(), " values and yields ",
                   made.yields.size())
                 .hint("end its body with yield"));
    return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Value result = program_.values[made.carried[i]];
    result.kind = Value::result;
    result.name.clear();
    statement_values_ = 0;
    std::optional<ValueId> id = add(std::move(result));
    if (!id || !define(results[i], *id)) return false;
    made.results.push_back(*id);
  }
  into.push_back(std::move(made));
  return true;
}

bool KernelParser::yield(Stmt& loop) {
  in_.take();
  statement_values_ = 0;
  depth_ = 0;
  do {
    std::optional<Expr> expr = expression();
    if (!expr) return false;
    size_t i = loop.yields.size();
    std::optional<DType> dtype;
    if (i < loop.carried.size()) dtype = program_.values[loop.carried[i]].dtype;
    std::optional<ValueId> id = value_of(*expr, dtype);
    if (!id) return false;
    loop.yields.push_back(*id);
  } while (in_.take_if(","));
  return true;
}

bool KernelParser::when(Block& into) {
  Stmt made;
  made.kind = Stmt::when;
  std::optional<Expr> predicate = expression();
  if (!predicate) return false;
  std::optional<ValueId> id = value_of(*predicate, std::nullopt);
  if (!id) return false;
  made.value = *id;
  Place opened = in_.peek().place;
  if (!in_.expect("{")) return false;
  block(made.body, nullptr, opened);
  into.push_back(std::move(made));
  return true;
}

}  // namespace weft::tile
