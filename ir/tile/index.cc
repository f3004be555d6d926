// The canonical form of indices, and what can be asked of it.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/index.h"

#include <algorithm>

#include "ir/support/check.h"
#include "ir/tile/program.h"

namespace weft::tile {
namespace {

using Term = Index::Term;

std::strong_ordering compare_atoms(const Term& a, const Term& b) {
  if (auto c = a.kind <=> b.kind; c != 0) return c;
  if (auto c = a.axis_id <=> b.axis_id; c != 0) return c;
  if (auto c = a.value_id <=> b.value_id; c != 0) return c;
  if (auto c = a.inner.size() <=> b.inner.size(); c != 0) return c;
  if (!a.inner.empty()) {
    if (auto c = a.inner[0] <=> b.inner[0]; c != 0) return c;
  }
  return a.divisor <=> b.divisor;
}

void add_term(Index& sum, const Term& term) {
  auto place = std::ranges::find_if(
      sum.terms, [&](const Term& other) { return compare_atoms(other, term) >= 0; });
  if (place == sum.terms.end() || compare_atoms(*place, term) != 0) {
    if (!term.scale.is_constant(0)) sum.terms.insert(place, term);
    return;
  }
  place->scale = place->scale + term.scale;
  if (place->scale.is_constant(0)) sum.terms.erase(place);
}

// D * (x / D) + x % D is x.
bool join_quotient_and_rest(Index& index) {
  for (size_t m = 0; m < index.terms.size(); ++m) {
    if (index.terms[m].kind != Term::mod) continue;
    Term quotient = index.terms[m];
    quotient.kind = Term::floor_div;
    quotient.scale = quotient.scale * quotient.divisor;
    for (size_t q = 0; q < index.terms.size(); ++q) {
      const Term& other = index.terms[q];
      if (compare_atoms(other, quotient) != 0 || other.scale != quotient.scale) continue;
      Index whole = index.terms[m].inner[0] * index.terms[m].scale;
      index.terms.erase(index.terms.begin() + static_cast<ptrdiff_t>(std::max(m, q)));
      index.terms.erase(index.terms.begin() + static_cast<ptrdiff_t>(std::min(m, q)));
      index.offset = index.offset + whole.offset;
      for (const Term& term : whole.terms) add_term(index, term);
      return true;
    }
  }
  return false;
}

Index atom(Term::Kind kind, AxisId axis, ValueId value = kNone) {
  Index index;
  Term term;
  term.kind = kind;
  term.axis_id = axis;
  term.value_id = value;
  index.terms.push_back(std::move(term));
  return index;
}

std::optional<int64_t> evaluate_term(const Term& term, const IndexPoint& point) {
  std::optional<int64_t> scale = term.scale.evaluate(point.dims);
  if (!scale) return std::nullopt;
  std::optional<int64_t> number;
  if (term.inner.empty()) {
    number = point.atom(term);
  } else {
    std::optional<int64_t> inner = evaluate(term.inner[0], point);
    std::optional<int64_t> divisor = term.divisor.evaluate(point.dims);
    if (!inner || !divisor || *divisor <= 0) return std::nullopt;
    int64_t rest = *inner % *divisor;
    if (rest < 0) rest += *divisor;
    number = term.kind == Term::mod ? rest : (*inner - rest) / *divisor;
  }
  int64_t product = 0;
  if (!number || __builtin_mul_overflow(*scale, *number, &product)) return std::nullopt;
  return product;
}

}  // namespace

std::strong_ordering operator<=>(const Index::Term& a, const Index::Term& b) {
  if (auto c = compare_atoms(a, b); c != 0) return c;
  return a.scale <=> b.scale;
}

std::strong_ordering operator<=>(const Index& a, const Index& b) {
  if (auto c = a.offset <=> b.offset; c != 0) return c;
  return std::lexicographical_compare_three_way(a.terms.begin(), a.terms.end(), b.terms.begin(),
                                                b.terms.end());
}

bool operator==(const Index& a, const Index& b) { return (a <=> b) == 0; }
bool operator==(const Index::Term& a, const Index::Term& b) { return (a <=> b) == 0; }

Index axis_index(AxisId axis) { return atom(Term::axis, axis); }
Index base_index(AxisId axis) { return atom(Term::base, axis); }
Index end_index(AxisId axis) { return atom(Term::end, axis); }
Index program_index(AxisId axis) { return atom(Term::program, axis); }
Index value_index(ValueId value) { return atom(Term::value, kNone, value); }

Index operator+(const Index& a, const Index& b) {
  Index sum = a;
  sum.offset = sum.offset + b.offset;
  for (const Term& term : b.terms) add_term(sum, term);
  while (join_quotient_and_rest(sum)) {
  }
  return sum;
}

Index operator-(const Index& a, const Index& b) { return a + b * Dim(-1); }

Index operator*(const Index& a, const Dim& scale) {
  if (scale.is_constant(0)) return {};
  Index product = a;
  product.offset = product.offset * scale;
  for (Term& term : product.terms) term.scale = term.scale * scale;
  return product;
}

Index substitute(const Program& program, const Index& index,
                 const std::map<AxisId, Index>& replacements) {
  Index result(index.offset);
  for (const Term& term : index.terms) {
    Index part;
    if (!term.inner.empty()) {
      Index inner = substitute(program, term.inner[0], replacements);
      part = term.kind == Term::mod ? mod(program, inner, term.divisor)
                                    : floor_div(program, inner, term.divisor);
      part = part * term.scale;
    } else if (auto found = replacements.find(term.axis_id); found != replacements.end()) {
      WEFT_CHECK(term.kind == Term::axis, "an axis that is replaced occurs by its coordinate");
      part = found->second * term.scale;
    } else {
      part.terms.push_back(term);
    }
    result = result + part;
  }
  return result;
}

void for_each_term(const Index& index, const std::function<void(const Index::Term&)>& fn) {
  for (const Term& term : index.terms) {
    fn(term);
    for (const Index& inner : term.inner) for_each_term(inner, fn);
  }
}

bool uses_axis(const Index& index, AxisId axis) {
  bool used = false;
  for_each_term(index, [&](const Term& term) {
    used = used || (term.kind == Term::axis && term.axis_id == axis);
  });
  return used;
}

bool is_affine(const Index& index) {
  return std::ranges::all_of(index.terms, [](const Term& term) { return term.inner.empty(); });
}

std::optional<Dim> coefficient(const Index& index, AxisId axis) {
  Dim scale = 0;
  for (const Term& term : index.terms) {
    if (term.kind == Term::axis && term.axis_id == axis) scale = term.scale;
    for (const Index& inner : term.inner) {
      if (uses_axis(inner, axis)) return std::nullopt;
    }
  }
  return scale;
}

std::optional<int64_t> evaluate(const Index& index, const IndexPoint& point) {
  std::optional<int64_t> sum = index.offset.evaluate(point.dims);
  for (const Term& term : index.terms) {
    std::optional<int64_t> product = evaluate_term(term, point);
    if (!sum || !product || __builtin_add_overflow(*sum, *product, &*sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace weft::tile
