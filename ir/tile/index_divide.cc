// Division of indices, simplified by the ranges of axes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/check.h"
#include "ir/tile/program.h"

namespace weft::tile {
namespace {

using Term = Index::Term;

// Symbols are sizes, and sizes are not negative.
bool surely_not_negative(const Dim& dim) { return DimFacts().bounds_of(dim).low >= 0; }

// a / b for a >= 0, in a simple form where one is at hand: (T*C - 1) / C is T - 1.
Dim quotient_of(const Dim& a, const Dim& b) {
  if (auto exact = Dim::exact_quotient(a, b)) return *exact;
  if (auto above = Dim::exact_quotient(a + 1, b)) return *above - 1;
  return Dim::floor_div(a, b);
}

std::optional<IndexRange> range_of(const Program& program, const Term& term) {
  switch (term.kind) {
    case Term::axis:
    case Term::base: return IndexRange{0, program.axes[term.axis_id].dim - 1};
    case Term::end: return IndexRange{0, program.axes[term.axis_id].dim};
    case Term::program: return IndexRange{0, program.programs_along(term.axis_id) - 1};
    case Term::value: return std::nullopt;
    case Term::mod: return IndexRange{0, term.divisor - 1};
    case Term::floor_div: {
      std::optional<IndexRange> inner = tile::range_of(program, term.inner[0]);
      if (!inner || !surely_not_negative(inner->low)) return std::nullopt;
      return IndexRange{0, quotient_of(inner->high, term.divisor)};
    }
  }
  return std::nullopt;
}

// The index as divisor * whole + rest.
struct Split {
  Index whole;
  Index rest;
};

Split split(const Index& index, const Dim& divisor) {
  Split parts;
  if (auto exact = Dim::exact_quotient(index.offset, divisor)) {
    parts.whole.offset = *exact;
  } else if (index.offset.is_constant() && divisor.is_constant()) {
    parts.whole.offset = Dim::floor_div(index.offset, divisor);
    parts.rest.offset = Dim::mod(index.offset, divisor);
  } else {
    parts.rest.offset = index.offset;
  }
  for (const Term& term : index.terms) {
    if (auto exact = Dim::exact_quotient(term.scale, divisor)) {
      parts.whole.terms.push_back(term);
      parts.whole.terms.back().scale = *exact;
    } else {
      parts.rest.terms.push_back(term);
    }
  }
  return parts;
}

// Calls fn(f, divisor / f, index as f * whole + rest with 0 <= rest < f) for factors of the divisor
// that stand before a term, until it gives something. By floor(x / (f g)) = floor(floor(x / f) / g)
// such a factor leaves a division.
template <class Fn>
std::optional<Index> by_factor(const Program& program, const Index& index, const Dim& divisor,
                               Fn fn) {
  for (const Term& term : index.terms) {
    const Dim& factor = term.scale;
    if (factor.is_constant(1) || !surely_not_negative(factor)) continue;
    std::optional<Dim> other = Dim::exact_quotient(divisor, factor);
    if (!other) continue;
    Split parts = split(index, factor);
    if (surely_within(program, parts.rest, factor)) return fn(factor, *other, parts);
  }
  return std::nullopt;
}

bool is_single(const Index& index, Term::Kind kind) {
  return index.terms.size() == 1 && index.terms[0].kind == kind &&
         index.terms[0].scale.is_constant(1) && index.offset.is_constant(0);
}

Index divided(Term::Kind kind, const Index& index, const Dim& divisor) {
  Index result;
  Term term;
  term.kind = kind;
  term.inner = {index};
  term.divisor = divisor;
  result.terms.push_back(std::move(term));
  return result;
}

}  // namespace

std::optional<IndexRange> range_of(const Program& program, const Index& index) {
  IndexRange total{index.offset, index.offset};
  for (const Term& term : index.terms) {
    std::optional<IndexRange> range = range_of(program, term);
    if (!range) return std::nullopt;
    bool positive = surely_not_negative(term.scale);
    if (!positive && !surely_not_negative(Dim(0) - term.scale)) return std::nullopt;
    total.low = total.low + term.scale * (positive ? range->low : range->high);
    total.high = total.high + term.scale * (positive ? range->high : range->low);
  }
  return total;
}

bool surely_within(const Program& program, const Index& index, const Dim& limit) {
  std::optional<IndexRange> range = range_of(program, index);
  return range && surely_not_negative(range->low) && surely_not_negative(limit - 1 - range->high);
}

Index floor_div(const Program& program, const Index& a, const Dim& divisor) {
  if (divisor.is_constant(1)) return a;
  WEFT_CHECK(!divisor.is_constant() || divisor.constant() > 0, "a divisor is positive");
  auto [whole, rest] = split(a, divisor);
  if (surely_within(program, rest, divisor)) return whole;
  if (rest.terms.empty()) return whole + Dim::floor_div(rest.offset, divisor);
  if (is_single(rest, Term::floor_div)) {
    const Term& term = rest.terms[0];
    return whole + floor_div(program, term.inner[0], term.divisor * divisor);
  }
  auto simpler =
      by_factor(program, rest, divisor, [&](const Dim&, const Dim& other, const Split& parts) {
        return floor_div(program, parts.whole, other);
      });
  return whole + (simpler ? *simpler : divided(Term::floor_div, rest, divisor));
}

Index mod(const Program& program, const Index& a, const Dim& divisor) {
  if (divisor.is_constant(1)) return {};
  WEFT_CHECK(!divisor.is_constant() || divisor.constant() > 0, "a divisor is positive");
  Index rest = split(a, divisor).rest;
  if (surely_within(program, rest, divisor)) return rest;
  if (rest.terms.empty()) return Dim::mod(rest.offset, divisor);
  if (is_single(rest, Term::mod) && Dim::exact_quotient(rest.terms[0].divisor, divisor)) {
    return mod(program, rest.terms[0].inner[0], divisor);
  }
  auto simpler =
      by_factor(program, rest, divisor, [&](const Dim& f, const Dim& other, const Split& parts) {
        return mod(program, parts.whole, other) * f + parts.rest;
      });
  return simpler ? *simpler : divided(Term::mod, rest, divisor);
}

}  // namespace weft::tile
