// SPDX-License-Identifier: Apache-2.0
#include "ir/text/parse_attrs.h"

#include "ir/text/names.h"
#include "ir/text/parse_type.h"

namespace weft {
namespace {

// '[' item ',' ... ']'
template <class T, class ParseItem>
std::optional<std::vector<T>> parse_list(Cursor& in, ParseItem parse_item) {
  if (!in.expect("[")) return std::nullopt;
  std::vector<T> items;
  while (!in.take_if("]")) {
    if (!items.empty() && !in.expect(",")) return std::nullopt;
    if (!in.room_for(kMaxListItems, items.size(), "items in a list")) return std::nullopt;
    std::optional<T> item = parse_item(in);
    if (!item) return std::nullopt;
    items.push_back(std::move(*item));
  }
  return items;
}

std::optional<bool> parse_bool(Cursor& in) {
  if (in.take_if("true")) return true;
  if (in.take_if("false")) return false;
  in.unexpected("true or false");
  return std::nullopt;
}

std::optional<double> parse_real(Cursor& in) {
  std::optional<Number> number = parse_number(in);
  return number ? std::optional(number->value) : std::nullopt;
}

std::optional<std::string> parse_string(Cursor& in) {
  if (in.at(Token::Kind::string)) return in.take().name();
  in.unexpected("a string in quotes");
  return std::nullopt;
}

std::optional<Number> parse_element(Cursor& in) {
  if (!in.at("true") && !in.at("false")) return parse_number(in);
  Number number;
  number.integer = in.take().is("true") ? 1 : 0;
  number.value = static_cast<double>(number.integer);
  return number;
}

// One number, or a list: reals as soon as one of them is.
std::optional<Numbers> parse_numbers(Cursor& in) {
  std::vector<Number> items;
  if (in.at("[")) {
    std::optional<std::vector<Number>> list = parse_list<Number>(in, parse_element);
    if (!list) return std::nullopt;
    items = std::move(*list);
  } else {
    std::optional<Number> item = parse_element(in);
    if (!item) return std::nullopt;
    items.push_back(*item);
  }
  std::vector<double> reals;
  std::vector<int64_t> integers;
  bool real = false;
  for (const Number& item : items) {
    real = real || item.real;
    reals.push_back(item.value);
    integers.push_back(item.integer);
  }
  return real ? Numbers{std::move(reals)} : Numbers{std::move(integers)};
}

template <class T>
std::optional<AttrValue> as_value(std::optional<T> value) {
  return value ? std::optional(AttrValue(std::move(*value))) : std::nullopt;
}

std::optional<AttrValue> parse_value(Cursor& in, AttrKind kind) {
  switch (kind) {
    case AttrKind::integer:
    case AttrKind::axis: return as_value(parse_integer(in));
    case AttrKind::real: return as_value(parse_real(in));
    case AttrKind::boolean: return as_value(parse_bool(in));
    case AttrKind::choice:
    case AttrKind::text: return as_value(parse_string(in));
    case AttrKind::axes:
    case AttrKind::ints: return as_value(parse_list<int64_t>(in, parse_integer));
    case AttrKind::dim: return as_value(parse_dim(in));
    case AttrKind::dims:
      return as_value(parse_list<Dim>(in, [](Cursor& cursor) { return parse_dim(cursor); }));
    case AttrKind::dtype: return as_value(parse_dtype(in));
    case AttrKind::numbers: return as_value(parse_numbers(in));
  }
  return std::nullopt;
}

const AttrSpec* find_spec(const OpInfo& op, std::string_view name) {
  for (const AttrSpec& spec : op.attrs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

std::string attr_hint(const OpInfo& op, std::string_view wrong) {
  std::vector<std::string> known;
  std::string list;
  for (const AttrSpec& spec : op.attrs) {
    list += (known.empty() ? "" : ", ") + spec.name;
    known.push_back(spec.name);
  }
  if (known.empty()) return cat("leave it out: ", op.name, " has no attributes");
  std::string hint = did_you_mean(wrong, known);
  return hint.empty() ? cat(op.name, " has ", list) : hint;
}

// name '=' value
bool parse_attr(Cursor& in, const OpInfo& op, Attrs& attrs) {
  if (!in.at(Token::Kind::word)) {
    in.unexpected(cat("the name of an attribute of ", op.name));
    return false;
  }
  Token name = in.take();
  const AttrSpec* spec = find_spec(op, name.text);
  if (spec == nullptr) {
    in.fail(error(in.loc(name.place), op.name, ": unknown attribute '", shown(name.text), "'")
                .hint(attr_hint(op, name.text)));
    return false;
  }
  if (attrs.find(spec->name) != nullptr) {
    in.fail(error(in.loc(name.place), op.name, ": attribute '", spec->name, "' is given twice"));
    return false;
  }
  if (!in.expect("=")) return false;
  std::optional<AttrValue> value = parse_value(in, spec->kind);
  if (value) attrs.set(spec->name, std::move(*value));
  return value.has_value();
}

}  // namespace

std::optional<Attrs> parse_attrs(Cursor& in, const OpInfo& op) {
  in.take();
  Attrs attrs;
  bool good = true;
  bool first = true;
  while (!in.take_if("}")) {
    if (!first && !in.expect(",")) return std::nullopt;
    first = false;
    if (parse_attr(in, op, attrs)) continue;
    good = false;
    in.skip_to_comma("}");
    if (!in.at(",") && !in.at("}")) return std::nullopt;
  }
  return good ? std::optional(std::move(attrs)) : std::nullopt;
}

}  // namespace weft
