// Checking and completing a node's attributes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

std::optional<int64_t> as_integer(const AttrValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* dim = std::get_if<Dim>(&value); dim != nullptr && dim->is_constant()) {
    return dim->constant();
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> as_ints(const AttrValue& value) {
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) return *ints;
  if (const auto* numbers = std::get_if<Numbers>(&value)) {
    if (numbers->size() == 0) return std::vector<int64_t>{};
    if (numbers->real()) return std::nullopt;
    return std::get<std::vector<int64_t>>(numbers->values);
  }
  const auto* dims = std::get_if<std::vector<Dim>>(&value);
  if (dims == nullptr) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Dim& dim : *dims) {
    if (!dim.is_constant()) return std::nullopt;
    ints.push_back(dim.constant());
  }
  return ints;
}

std::optional<std::vector<Dim>> as_dims(const AttrValue& value) {
  if (const auto* dims = std::get_if<std::vector<Dim>>(&value)) return *dims;
  std::optional<std::vector<int64_t>> ints = as_ints(value);
  if (!ints) return std::nullopt;
  return std::vector<Dim>(ints->begin(), ints->end());
}

std::optional<Numbers> as_numbers(const AttrValue& value) {
  if (const auto* numbers = std::get_if<Numbers>(&value)) return *numbers;
  if (const auto* real = std::get_if<double>(&value)) return Numbers{std::vector<double>{*real}};
  if (std::optional<int64_t> integer = as_integer(value)) {
    return Numbers{std::vector<int64_t>{*integer}};
  }
  std::optional<std::vector<int64_t>> ints = as_ints(value);
  if (!ints) return std::nullopt;
  return Numbers{*std::move(ints)};
}

template <class T>
std::optional<AttrValue> exactly(const AttrValue& value) {
  return std::holds_alternative<T>(value) ? std::optional(value) : std::nullopt;
}

template <class T>
std::optional<AttrValue> lift(std::optional<T> value) {
  if (!value) return std::nullopt;
  return AttrValue(*std::move(value));
}

// The value in the representation of its kind, or nothing if it is of another kind.
std::optional<AttrValue> convert(AttrKind kind, const AttrValue& value) {
  switch (kind) {
    case AttrKind::integer:
    case AttrKind::axis: return lift(as_integer(value));
    case AttrKind::real: {
      std::optional<int64_t> integer = as_integer(value);
      return integer ? AttrValue(static_cast<double>(*integer)) : exactly<double>(value);
    }
    case AttrKind::boolean: return exactly<bool>(value);
    case AttrKind::choice:
    case AttrKind::text: return exactly<std::string>(value);
    case AttrKind::axes:
    case AttrKind::ints: return lift(as_ints(value));
    case AttrKind::dim: {
      std::optional<int64_t> integer = as_integer(value);
      return integer ? AttrValue(Dim(*integer)) : exactly<Dim>(value);
    }
    case AttrKind::dims: return lift(as_dims(value));
    case AttrKind::dtype: return exactly<DType>(value);
    case AttrKind::numbers: return lift(as_numbers(value));
  }
  return std::nullopt;
}

std::string_view expectation(AttrKind kind) {
  switch (kind) {
    case AttrKind::integer: return "an integer";
    case AttrKind::real: return "a real number";
    case AttrKind::boolean: return "true or false";
    case AttrKind::choice: return "a quoted choice";
    case AttrKind::text: return "a quoted text";
    case AttrKind::axis: return "an axis such as 0 or -1";
    case AttrKind::axes: return "a list of axes such as [0, 1]";
    case AttrKind::ints: return "a list of integers such as [0, 1]";
    case AttrKind::dim: return "a size such as 4 or T + 1";
    case AttrKind::dims: return "a list of sizes such as [B, 4]";
    case AttrKind::dtype: return "an element type such as f32";
    case AttrKind::numbers: return "a list of numbers such as [0.5, 1.0]";
  }
  return "";
}

std::string brief(const AttrValue& value) {
  constexpr size_t kLongest = 60;
  std::string text = format(value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

class Normaliser {
 public:
  Normaliser(Op op, std::span<const Type> operands, const Loc& loc)
      : row_(info(op)), operands_(operands), loc_(loc) {}

  Result<Attrs> run(const Attrs& given) const {
    WEFT_TRY_STATUS(check_operand_count(row_.op, operands_.size(), loc_));
    WEFT_TRY_STATUS(check_names(given));
    Attrs complete;
    for (const AttrSpec& spec : row_.attrs) {
      const AttrValue* value = given.find(spec.name);
      if (value == nullptr && spec.required) {
        return fail("attribute '", spec.name, "' is missing")
            .hint(cat("add {", spec.name, " = ...}, ", expectation(spec.kind)));
      }
      WEFT_TRY(AttrValue normal, normalise(spec, value == nullptr ? spec.fallback : *value));
      complete.set(spec.name, std::move(normal));
    }
    return complete;
  }

 private:
  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(loc_, row_.name, ": ", parts...);
  }

  Status check_names(const Attrs& given) const {
    std::vector<std::string> known;
    for (const AttrSpec& spec : row_.attrs) known.push_back(spec.name);
    std::set<std::string_view> seen;
    for (const Attr& attr : given) {
      if (std::find(known.begin(), known.end(), attr.name) == known.end()) {
        return fail("unknown attribute '", attr.name, "'").hint(did_you_mean(attr.name, known));
      }
      if (!seen.insert(attr.name).second) return fail("attribute '", attr.name, "' is given twice");
    }
    return ok();
  }

  Result<AttrValue> normalise(const AttrSpec& spec, const AttrValue& given) const {
    std::optional<AttrValue> value = convert(spec.kind, given);
    if (!value) {
      return fail("attribute '", spec.name, "' is ", brief(given), "; expected ",
                  expectation(spec.kind));
    }
    WEFT_TRY_STATUS(check_length(spec, *value));
    if (spec.kind == AttrKind::choice) WEFT_TRY_STATUS(check_choice(spec, *value));
    if (spec.kind == AttrKind::axis) {
      WEFT_TRY(int64_t axis, normalise_axis(std::get<int64_t>(*value)));
      return AttrValue(axis);
    }
    if (spec.kind == AttrKind::axes) return normalise_axes(*value);
    return *std::move(value);
  }

  // Every list has an entry per axis, but for a constant's numbers and those of an op with a body,
  // which have an entry per operand or result.
  Status check_length(const AttrSpec& spec, const AttrValue& value) const {
    if (row_.has(kBody)) return ok();
    size_t length = 0;
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) length = ints->size();
    if (const auto* dims = std::get_if<std::vector<Dim>>(&value)) length = dims->size();
    if (length <= kMaxRank) return ok();
    return fail("attribute '", spec.name, "' has ", length, " entries, more than the limit of ",
                kMaxRank, " axes");
  }

  Status check_choice(const AttrSpec& spec, const AttrValue& value) const {
    const auto& text = std::get<std::string>(value);
    if (std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end()) {
      return ok();
    }
    std::string choices;
    for (const std::string& choice : spec.choices) {
      choices += cat(choices.empty() ? "" : " or ", '"', choice, '"');
    }
    return fail("attribute '", spec.name, "' is ", brief(value), "; expected ", choices)
        .hint(did_you_mean(text, spec.choices));
  }

  Result<int64_t> normalise_axis(int64_t axis) const {
    const Type& type = operands_[0];
    auto rank = static_cast<int64_t>(type.rank());
    if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
    return fail("axis ", axis, " is out of range for ", type, " of rank ", rank);
  }

  Result<AttrValue> normalise_axes(const AttrValue& given) const {
    std::vector<int64_t> axes;
    for (int64_t axis : std::get<std::vector<int64_t>>(given)) {
      WEFT_TRY(int64_t normal, normalise_axis(axis));
      if (std::find(axes.begin(), axes.end(), normal) != axes.end()) {
        return fail("axis ", normal, " occurs twice in ", brief(given));
      }
      axes.push_back(normal);
    }
    std::sort(axes.begin(), axes.end());
    return AttrValue(std::move(axes));
  }

  const OpInfo& row_;
  std::span<const Type> operands_;
  const Loc& loc_;
};

}  // namespace

Result<Attrs> normalise_attrs(Op op, const Attrs& attrs, std::span<const Type> operands,
                              const Loc& loc) {
  return Normaliser(op, operands, loc).run(attrs);
}

}  // namespace weft
