// SPDX-License-Identifier: Apache-2.0
#include "ir/types/dim.h"

#include <algorithm>
#include <ostream>

#include "ir/support/check.h"

namespace weft {

// A factor that is not a number.
struct Dim::Atom {
  enum Kind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax };
  Kind kind = kSymbol;
  std::string name;       // of a symbol
  std::vector<Dim> args;  // two for division and remainder, two or more for min and max

  std::strong_ordering operator<=>(const Atom& other) const {
    if (auto c = kind <=> other.kind; c != 0) return c;
    if (auto c = name <=> other.name; c != 0) return c;
    return std::lexicographical_compare_three_way(args.begin(), args.end(), other.args.begin(),
                                                  other.args.end());
  }
  bool operator==(const Atom& other) const { return (*this <=> other) == 0; }
};

// coefficient * factor * factor ...
struct Dim::Term {
  int64_t coefficient = 0;
  std::vector<Atom> factors;  // sorted
};

struct Dim::Poly {
  std::vector<Term> terms;  // higher degree first, then by factors; no zero coefficients
  bool overflow = false;
  size_t weight = 0;  // factors at any depth: what a walk through the tree costs
};

namespace {

constexpr size_t kMaxTerms = 64;
constexpr size_t kMaxDegree = 16;
// Subtrees are shared, so a short text could otherwise make a tree of exponential size.
constexpr size_t kMaxWeight = 512;

}  // namespace

Dim Dim::from(Poly poly) {
  poly.weight = 0;
  for (const Term& term : poly.terms) {
    poly.weight += term.factors.size();
    for (const Atom& atom : term.factors) {
      for (const Dim& arg : atom.args) poly.weight += arg.is_constant() ? 1 : arg.poly_->weight;
    }
  }
  if (poly.terms.size() > kMaxTerms || poly.weight > kMaxWeight) poly.overflow = true;
  if (!poly.overflow) {
    if (poly.terms.empty()) return Dim(0);
    if (poly.terms.size() == 1 && poly.terms[0].factors.empty()) {
      return Dim(poly.terms[0].coefficient);
    }
  } else {
    poly.terms.clear();
  }
  Dim dim;
  dim.poly_ = std::make_shared<const Poly>(std::move(poly));
  return dim;
}

Dim Dim::from_atom(Atom atom) {
  Poly poly;
  poly.terms.push_back({1, {std::move(atom)}});
  return from(std::move(poly));
}

Dim::Poly Dim::poly() const {
  if (poly_ != nullptr) return *poly_;
  Poly poly;
  if (constant_ != 0) poly.terms.push_back({constant_, {}});
  return poly;
}

Dim Dim::symbol(const std::string& name) { return from_atom({Atom::kSymbol, name, {}}); }

int64_t Dim::constant() const {
  WEFT_CHECK(is_constant(), "constant() of a symbolic dim " + str());
  return constant_;
}

std::optional<std::string> Dim::as_symbol() const {
  if (poly_ == nullptr || poly_->terms.size() != 1) return std::nullopt;
  const Term& term = poly_->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1) return std::nullopt;
  if (term.factors[0].kind != Atom::kSymbol) return std::nullopt;
  return term.factors[0].name;
}

bool Dim::overflowed() const { return poly_ != nullptr && poly_->overflow; }

Dim operator+(const Dim& a, const Dim& b) {
  // Most dims are numbers: passes would spend a tenth of their time on sums and products of them.
  int64_t number = 0;
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  if (a.is_constant() && b.is_constant() &&
      !__builtin_add_overflow(a.constant_, b.constant_, &number)) {
    return number;
  }
  Dim::Poly left = a.poly();
  Dim::Poly right = b.poly();
  Dim::Poly sum;
  sum.overflow = left.overflow || right.overflow;
  auto before = [](const Dim::Term& x, const Dim::Term& y) {
    if (x.factors.size() != y.factors.size()) return x.factors.size() > y.factors.size();
    return x.factors < y.factors;
  };
  auto l = left.terms.begin();
  auto r = right.terms.begin();
  while (l != left.terms.end() || r != right.terms.end()) {
    if (r == right.terms.end() || (l != left.terms.end() && before(*l, *r))) {
      sum.terms.push_back(std::move(*l++));
    } else if (l == left.terms.end() || before(*r, *l)) {
      sum.terms.push_back(std::move(*r++));
    } else {
      int64_t coefficient = 0;
      if (__builtin_add_overflow(l->coefficient, r->coefficient, &coefficient)) sum.overflow = true;
      if (coefficient != 0) sum.terms.push_back({coefficient, std::move(l->factors)});
      ++l;
      ++r;
    }
  }
  return Dim::from(std::move(sum));
}

Dim operator*(const Dim& a, const Dim& b) {
  int64_t number = 0;
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  if (a.is_constant() && b.is_constant() &&
      !__builtin_mul_overflow(a.constant_, b.constant_, &number)) {
    return number;
  }
  const Dim::Poly left = a.poly();
  const Dim::Poly right = b.poly();
  Dim::Poly poison;
  poison.overflow = true;
  if (left.overflow || right.overflow || left.terms.size() * right.terms.size() > kMaxTerms) {
    return Dim::from(std::move(poison));
  }
  Dim total;
  for (const Dim::Term& l : left.terms) {
    for (const Dim::Term& r : right.terms) {
      Dim::Term term;
      if (__builtin_mul_overflow(l.coefficient, r.coefficient, &term.coefficient) ||
          l.factors.size() + r.factors.size() > kMaxDegree) {
        return Dim::from(std::move(poison));
      }
      std::merge(l.factors.begin(), l.factors.end(), r.factors.begin(), r.factors.end(),
                 std::back_inserter(term.factors));
      Dim::Poly product;
      product.terms.push_back(std::move(term));
      total = total + Dim::from(std::move(product));
    }
  }
  return total;
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

std::strong_ordering operator<=>(const Dim& a, const Dim& b) {
  if (a.poly_ == b.poly_ && a.poly_ == nullptr) return a.constant_ <=> b.constant_;
  if (a.poly_ == nullptr) return std::strong_ordering::less;
  if (b.poly_ == nullptr) return std::strong_ordering::greater;
  if (a.poly_->overflow ||
      b.poly_->overflow) {  // an overflowed dim equals nothing, itself included
    return std::strong_ordering::less;
  }
  if (a.poly_ == b.poly_) return std::strong_ordering::equal;
  return std::lexicographical_compare_three_way(
      a.poly_->terms.begin(), a.poly_->terms.end(), b.poly_->terms.begin(), b.poly_->terms.end(),
      [](const Dim::Term& x, const Dim::Term& y) {
        if (auto c = x.coefficient <=> y.coefficient; c != 0) return c;
        return x.factors <=> y.factors;
      });
}

namespace {

int64_t floor_div_int(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

// The remainder with the sign of b: no product that could overflow.
int64_t floor_mod_int(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool division_overflows(int64_t a, int64_t b) { return b == -1 && a == INT64_MIN; }

}  // namespace

Dim Dim::floor_div(const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return a.overflowed() ? a : b;
  auto quotient_of = [](int64_t x, int64_t y) -> Dim {
    if (y != 0 && !division_overflows(x, y)) return floor_div_int(x, y);
    Poly poison;
    poison.overflow = true;
    return from(std::move(poison));
  };
  if (b.is_constant(1)) return a;
  if (b.is_constant(0)) return quotient_of(0, 0);
  if (a.is_constant() && b.is_constant()) return quotient_of(a.constant(), b.constant());
  if (!b.is_constant()) return from_atom({Atom::kFloorDiv, "", {a, b}});
  // Divisible terms leave the division: (6*B + T) / 3 = 2*B + T/3.
  Poly whole;
  Poly rest;
  int64_t divisor = b.constant();
  for (Term& term : a.poly().terms) {
    bool divides =
        !division_overflows(term.coefficient, divisor) && term.coefficient % divisor == 0;
    if (divides) {
      whole.terms.push_back({term.coefficient / divisor, std::move(term.factors)});
    } else {
      rest.terms.push_back(std::move(term));
    }
  }
  Dim remainder = from(std::move(rest));
  Dim quotient = from(std::move(whole));
  if (remainder.is_constant()) return quotient + quotient_of(remainder.constant(), divisor);
  return quotient + from_atom({Atom::kFloorDiv, "", {remainder, b}});
}

Dim Dim::mod(const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return a.overflowed() ? a : b;
  if (b.is_constant()) return a - b * floor_div(a, b);
  return from_atom({Atom::kMod, "", {a, b}});
}

std::optional<Dim> Dim::exact_quotient(const Dim& a, const Dim& b) {
  Poly divisor = b.poly();
  if (a.overflowed() || divisor.overflow || divisor.terms.size() != 1) return std::nullopt;
  const Term& by = divisor.terms[0];
  Poly quotient;
  for (const Term& term : a.poly().terms) {
    bool divides = !division_overflows(term.coefficient, by.coefficient) &&
                   term.coefficient % by.coefficient == 0 &&
                   std::ranges::includes(term.factors, by.factors);
    if (!divides) return std::nullopt;
    Term rest{term.coefficient / by.coefficient, {}};
    std::ranges::set_difference(term.factors, by.factors, std::back_inserter(rest.factors));
    quotient.terms.push_back(std::move(rest));
  }
  return from(std::move(quotient));
}

Dim Dim::min(const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return a.overflowed() ? a : b;
  if (a == b) return a;
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  return from_atom({Atom::kMin, "", a < b ? std::vector{a, b} : std::vector{b, a}});
}

Dim Dim::max(const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return a.overflowed() ? a : b;
  if (a == b) return a;
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  return from_atom({Atom::kMax, "", a < b ? std::vector{a, b} : std::vector{b, a}});
}

std::string Dim::str() const {
  if (overflowed()) return "<overflow>";
  if (is_constant()) return std::to_string(constant_);
  auto operand = [](const Dim& dim) {
    bool bare = dim.is_constant() ? dim.constant() >= 0 : dim.as_symbol().has_value();
    return bare ? dim.str() : "(" + dim.str() + ")";
  };
  auto atom_text = [&](const Atom& atom, bool alone) {
    switch (atom.kind) {
      case Atom::kSymbol: return atom.name;
      case Atom::kFloorDiv: {
        std::string text = operand(atom.args[0]) + "/" + operand(atom.args[1]);
        return alone ? text : "(" + text + ")";
      }
      case Atom::kMod: return "mod(" + atom.args[0].str() + ", " + atom.args[1].str() + ")";
      case Atom::kMin: return "min(" + atom.args[0].str() + ", " + atom.args[1].str() + ")";
      case Atom::kMax: return "max(" + atom.args[0].str() + ", " + atom.args[1].str() + ")";
    }
    return std::string();
  };
  std::string out;
  for (const Term& term : poly_->terms) {
    bool negative = term.coefficient < 0;
    // As unsigned: the magnitude of INT64_MIN has no int64_t.
    uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(term.coefficient)
                                  : static_cast<uint64_t>(term.coefficient);
    if (out.empty()) {
      if (negative) out += "-";
    } else {
      out += negative ? " - " : " + ";
    }
    std::string product;
    if (magnitude != 1 || term.factors.empty()) product = std::to_string(magnitude);
    bool alone = product.empty() && term.factors.size() == 1;
    for (const Atom& atom : term.factors) {
      if (!product.empty()) product += "*";
      product += atom_text(atom, alone);
    }
    out += product;
  }
  return out;
}

std::optional<int64_t> Dim::evaluate(const DimBinding& binding) const {
  if (is_constant()) return constant_;
  if (overflowed()) return std::nullopt;
  auto atom_value = [&](const Atom& atom) -> std::optional<int64_t> {
    if (atom.kind == Atom::kSymbol) {
      auto found = binding.find(atom.name);
      return found == binding.end() ? std::nullopt : std::optional(found->second);
    }
    std::optional<int64_t> a = atom.args[0].evaluate(binding);
    std::optional<int64_t> b = atom.args[1].evaluate(binding);
    if (!a || !b) return std::nullopt;
    if (atom.kind == Atom::kMin) return std::min(*a, *b);
    if (atom.kind == Atom::kMax) return std::max(*a, *b);
    if (*b == 0 || division_overflows(*a, *b)) return std::nullopt;
    return atom.kind == Atom::kFloorDiv ? floor_div_int(*a, *b) : floor_mod_int(*a, *b);
  };
  int64_t sum = 0;
  for (const Term& term : poly_->terms) {
    int64_t product = term.coefficient;
    for (const Atom& atom : term.factors) {
      std::optional<int64_t> value = atom_value(atom);
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

void Dim::collect_symbols(std::set<std::string>& into) const {
  if (is_constant()) return;
  for (const Term& term : poly_->terms) {
    for (const Atom& atom : term.factors) {
      if (atom.kind == Atom::kSymbol) into.insert(atom.name);
      for (const Dim& arg : atom.args) arg.collect_symbols(into);
    }
  }
}

Dim Dim::substitute(const std::map<std::string, Dim>& replacements) const {
  if (is_constant() || overflowed()) return *this;
  Dim sum;
  for (const Term& term : poly_->terms) {
    Dim product(term.coefficient);
    for (const Atom& atom : term.factors) {
      if (atom.kind == Atom::kSymbol) {
        auto found = replacements.find(atom.name);
        product = product * (found == replacements.end() ? symbol(atom.name) : found->second);
        continue;
      }
      Dim a = atom.args[0].substitute(replacements);
      Dim b = atom.args[1].substitute(replacements);
      switch (atom.kind) {
        case Atom::kFloorDiv: product = product * floor_div(a, b); break;
        case Atom::kMod: product = product * mod(a, b); break;
        case Atom::kMin: product = product * min(a, b); break;
        default: product = product * max(a, b); break;
      }
    }
    sum = sum + product;
    if (sum.overflowed()) break;  // and stays so
  }
  return sum;
}

std::ostream& operator<<(std::ostream& out, const Dim& dim) { return out << dim.str(); }

std::optional<std::pair<int64_t, Dim>> Dim::linear_in(const std::string& symbol) const {
  if (is_constant()) return std::nullopt;
  int64_t coefficient = 0;
  Poly others;
  for (const Term& term : poly_->terms) {
    bool alone = term.factors.size() == 1 && term.factors[0].kind == Atom::kSymbol;
    if (alone && term.factors[0].name == symbol) {
      coefficient = term.coefficient;
    } else {
      others.terms.push_back(term);
    }
  }
  Dim rest = from(std::move(others));
  std::set<std::string> used;
  rest.collect_symbols(used);
  if (coefficient == 0 || used.contains(symbol)) return std::nullopt;
  return std::pair(coefficient, std::move(rest));
}

void DimFacts::assert_equal(const Dim& a, const Dim& b) {
  equalities_.emplace_back(a, b);
  Dim left = canonical(a);
  Dim right = canonical(b);
  Dim difference = left - right;
  if (difference.is_constant() || difference.overflowed()) return;

  std::vector<std::string> candidates;  // first a symbol that makes up one side
  for (const Dim& side : {left, right}) {
    if (auto symbol = side.as_symbol()) candidates.push_back(*symbol);
  }
  for (const Dim::Term& term : difference.poly_->terms) {
    bool alone = term.factors.size() == 1 && term.factors[0].kind == Dim::Atom::kSymbol;
    if (alone) candidates.push_back(term.factors[0].name);
  }
  for (const std::string& symbol : candidates) {
    auto linear = difference.linear_in(symbol);
    if (!linear || (linear->first != 1 && linear->first != -1)) continue;
    const std::map<std::string, Dim> step = {{symbol, Dim(-linear->first) * linear->second}};
    std::map<std::string, Dim> solved = step;
    for (const auto& [name, value] : solved_) solved.emplace(name, value.substitute(step));
    // An equality that would make expressions too large is left to bind.
    bool grown = std::ranges::any_of(solved, [](const auto& s) { return s.second.overflowed(); });
    if (!grown) solved_ = std::move(solved);
    return;
  }
}

Dim DimFacts::canonical(const Dim& a) const { return solved_.empty() ? a : a.substitute(solved_); }

bool DimFacts::equal(const Dim& a, const Dim& b) const {
  return a == b || (!solved_.empty() && canonical(a) == canonical(b));
}

namespace {

__extension__ using Wide = __int128;  // products of two sizes

int64_t saturating(Wide value) {
  constexpr Wide kHigh = INT64_MAX;
  constexpr Wide kLow = INT64_MIN;
  return static_cast<int64_t>(std::clamp(value, kLow, kHigh));
}

DimFacts::Bounds product_of(DimFacts::Bounds a, DimFacts::Bounds b) {
  Wide corners[] = {static_cast<Wide>(a.low) * b.low, static_cast<Wide>(a.low) * b.high,
                    static_cast<Wide>(a.high) * b.low, static_cast<Wide>(a.high) * b.high};
  auto [low, high] = std::minmax_element(std::begin(corners), std::end(corners));
  return {saturating(*low), saturating(*high)};
}

}  // namespace

DimFacts::Bounds DimFacts::bounds_of(const Dim& a) const {
  if (a.is_constant()) return {a.constant(), a.constant()};
  if (a.overflowed()) return {INT64_MIN, INT64_MAX};
  auto atom_bounds = [&](const Dim::Atom& atom) -> Bounds {
    if (atom.kind == Dim::Atom::kSymbol) {
      auto found = bounds.find(atom.name);
      return found == bounds.end() ? Bounds{} : found->second;
    }
    Bounds x = bounds_of(atom.args[0]);
    Bounds y = bounds_of(atom.args[1]);
    switch (atom.kind) {
      case Dim::Atom::kMin: return {std::min(x.low, y.low), std::min(x.high, y.high)};
      case Dim::Atom::kMax: return {std::max(x.low, y.low), std::max(x.high, y.high)};
      case Dim::Atom::kMod:  // between 0 and the divisor, which may be negative
        return {std::min<int64_t>(y.low, -1) + 1, std::max<int64_t>(y.high, 1) - 1};
      default: {
        if (y.low < 0) {  // no quotient of integers is larger than what is divided
          Wide most = std::max({-static_cast<Wide>(x.low), static_cast<Wide>(x.low),
                                -static_cast<Wide>(x.high), static_cast<Wide>(x.high)});
          return {saturating(-most), saturating(most)};
        }
        int64_t divisor_low = std::max<int64_t>(y.low, 1);
        int64_t divisor_high = std::max<int64_t>(y.high, 1);
        return {floor_div_int(x.low, x.low < 0 ? divisor_low : divisor_high),
                floor_div_int(x.high, x.high < 0 ? divisor_high : divisor_low)};
      }
    }
  };
  Bounds total{0, 0};
  for (const Dim::Term& term : a.poly_->terms) {
    Bounds product{term.coefficient, term.coefficient};
    for (const Dim::Atom& atom : term.factors) product = product_of(product, atom_bounds(atom));
    total = {saturating(static_cast<Wide>(total.low) + product.low),
             saturating(static_cast<Wide>(total.high) + product.high)};
  }
  return total;
}

}  // namespace weft
