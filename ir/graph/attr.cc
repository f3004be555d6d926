// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/attr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>

#include "ir/support/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 12> kKindNames = {"integer", "real", "bool",  "choice",
                                                         "text",    "axis", "axes",  "ints",
                                                         "dim",     "dims", "dtype", "numbers"};

AttrKind kind_named(std::string_view kind) {
  auto found = std::find(kKindNames.begin(), kKindNames.end(), kind);
  WEFT_CHECK(found != kKindNames.end(), "op table: unknown attribute kind " + std::string(kind));
  return static_cast<AttrKind>(found - kKindNames.begin());
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

AttrValue parse_fallback(AttrKind kind, const std::string& text) {
  switch (kind) {
    case AttrKind::integer:
    case AttrKind::axis: return static_cast<int64_t>(std::stoll(text));
    case AttrKind::real: return std::stod(text);
    case AttrKind::boolean: return text == "true";
    case AttrKind::choice:
    case AttrKind::text: return text;
    case AttrKind::dtype: return *parse_dtype(text);
    case AttrKind::ints:
    case AttrKind::axes: return std::vector<int64_t>{};
    case AttrKind::dims: return std::vector<Dim>{};
    default: break;
  }
  WEFT_CHECK(false, "op table: no default for an attribute of kind " + std::string(name(kind)));
  return int64_t{0};
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

void mix(size_t& hash, size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
}

size_t hash_value(const AttrValue& value) { return std::hash<std::string>{}(format(value)); }

template <class T>
const T& get(const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  WEFT_CHECK(value != nullptr, "no attribute " + std::string(name));
  const T* typed = std::get_if<T>(value);
  WEFT_CHECK(typed != nullptr, "attribute " + std::string(name) + " has another kind");
  return *typed;
}

}  // namespace

std::string_view name(AttrKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

size_t Numbers::size() const {
  return std::visit([](const auto& v) { return v.size(); }, values);
}

bool operator==(const Numbers& a, const Numbers& b) {
  if (a.values.index() != b.values.index()) return false;
  if (!a.real()) return a.values == b.values;
  const auto& x = std::get<0>(a.values);
  const auto& y = std::get<0>(b.values);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_bits);
}

std::vector<AttrSpec> parse_attr_specs(std::string_view specs) {
  std::vector<AttrSpec> result;
  for (const std::string& text : split(specs, ' ')) {
    size_t colon = text.find(':');
    size_t equals = text.find('=');
    WEFT_CHECK(colon != std::string::npos, "op table: attribute without a kind: " + text);
    AttrSpec spec;
    spec.name = text.substr(0, colon);
    std::string kind =
        text.substr(colon + 1, equals == std::string::npos ? equals : equals - colon - 1);
    if (kind.find('|') != std::string::npos) {
      spec.kind = AttrKind::choice;
      spec.choices = split(kind, '|');
    } else {
      spec.kind = kind_named(kind);
    }
    spec.required = equals == std::string::npos;
    if (!spec.required) spec.fallback = parse_fallback(spec.kind, text.substr(equals + 1));
    result.push_back(std::move(spec));
  }
  return result;
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Attr& attr : attrs_) {
    if (attr.name == name) return &attr.value;
  }
  return nullptr;
}

int64_t Attrs::integer(std::string_view name) const { return get<int64_t>(*this, name); }
double Attrs::real(std::string_view name) const { return get<double>(*this, name); }
bool Attrs::boolean(std::string_view name) const { return get<bool>(*this, name); }
const std::string& Attrs::text(std::string_view name) const {
  return get<std::string>(*this, name);
}
const std::vector<int64_t>& Attrs::ints(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}
const Dim& Attrs::dim(std::string_view name) const { return get<Dim>(*this, name); }
const std::vector<Dim>& Attrs::dims(std::string_view name) const {
  return get<std::vector<Dim>>(*this, name);
}
DType Attrs::dtype(std::string_view name) const { return get<DType>(*this, name); }
const Numbers& Attrs::numbers(std::string_view name) const { return get<Numbers>(*this, name); }

void Attrs::set(std::string_view name, AttrValue value) {
  for (Attr& attr : attrs_) {
    if (attr.name == name) {
      attr.value = std::move(value);
      return;
    }
  }
  attrs_.push_back({std::string(name), std::move(value)});
}

bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a)) return same_bits(*x, std::get<double>(b));
  return a == b;
}

bool operator==(const Attrs& a, const Attrs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Attr& x, const Attr& y) {
    return x.name == y.name && equal(x.value, y.value);
  });
}

size_t Attrs::hash() const {
  size_t hash = 0;
  for (const Attr& attr : attrs_) mix(hash, hash_value(attr.value));
  return hash;
}

namespace {

template <class T>
std::string shortest(T value) {
  char buffer[64];
  auto [end, status] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

// "1" and "1e+20" read as reals only with a point or an exponent.
std::string as_real(std::string text) {
  if (text.find_first_of(".enN") == std::string::npos) text += ".0";
  return text;
}

std::string special(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

template <class T, class Format>
std::string list(const std::vector<T>& items, Format format_item) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    out += format_item(items[i]);
  }
  return out + "]";
}

std::string quote(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string format_real(double value) {
  return std::isfinite(value) ? as_real(shortest(value)) : special(value);
}

std::string format_number(double value, DType dtype) {
  if (!std::isfinite(value)) return special(value);
  if (dtype == DType::f64) return as_real(shortest(value));
  std::string brief = shortest(static_cast<float>(value));
  // The short text is right only if reading it as a double and rounding gives the value back.
  double back = 0;
  std::from_chars(brief.data(), brief.data() + brief.size(), back);
  return as_real(round_to(dtype, back) == value ? brief : shortest(value));
}

std::string format(const AttrValue& value) {
  struct Formatter {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return format_real(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return quote(v); }
    std::string operator()(const std::vector<int64_t>& v) const {
      return list(v, [](int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const Dim& v) const { return v.str(); }
    std::string operator()(const std::vector<Dim>& v) const {
      return list(v, [](const Dim& d) { return d.str(); });
    }
    std::string operator()(DType v) const { return std::string(name(v)); }
    std::string operator()(const Numbers& v) const {
      if (!v.real()) return (*this)(std::get<1>(v.values));
      return list(std::get<0>(v.values), format_real);
    }
  };
  return std::visit(Formatter{}, value);
}

}  // namespace weft
