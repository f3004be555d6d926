// A dimension: a number or a symbolic expression such as `T + 1`, `H*D`, `min(T, 512)`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// Sizes of symbols at a call: {"B": 8, "T": 128}.
using DimBinding = std::map<std::string, int64_t>;

// Kept in canonical form: a sum of products, sorted, with equal products joined. The factors of a
// product are symbols, floor divisions, remainders, minima and maxima of canonical dims. Two dims
// are equal if and only if their canonical forms are the same.
class Dim {
 public:
  Dim(int64_t value = 0) : constant_(value) {}  // NOLINT: a number is a dim
  static Dim symbol(const std::string& name);
  static Dim floor_div(const Dim& a, const Dim& b);
  static Dim mod(const Dim& a, const Dim& b);
  // a / b if b is a single product that divides every product of a: 6*B*T by 3*T is 2*B.
  static std::optional<Dim> exact_quotient(const Dim& a, const Dim& b);
  static Dim min(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);

  bool is_constant() const { return poly_ == nullptr; }
  bool is_constant(int64_t value) const { return is_constant() && constant_ == value; }
  int64_t constant() const;                      // needs is_constant()
  std::optional<std::string> as_symbol() const;  // the name, if this is one bare symbol
  // True once an operation left the range of 64 bits or grew too large; such a dim equals nothing.
  bool overflowed() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend std::strong_ordering operator<=>(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b) { return (a <=> b) == 0; }

  // Text that parses back to the same dim.
  std::string str() const;
  // The size under a binding; nothing if a symbol is unbound, on overflow or division by zero.
  std::optional<int64_t> evaluate(const DimBinding& binding) const;
  void collect_symbols(std::set<std::string>& into) const;
  // Replaces symbols by expressions.
  Dim substitute(const std::map<std::string, Dim>& replacements) const;
  // This as coefficient * symbol + rest, if the symbol occurs, but nowhere in the rest.
  std::optional<std::pair<int64_t, Dim>> linear_in(const std::string& symbol) const;

 private:
  friend struct DimFacts;  // interval analysis walks the terms
  struct Atom;
  struct Term;
  struct Poly;
  static Dim from(Poly poly);
  static Dim from_atom(Atom atom);
  Poly poly() const;

  int64_t constant_ = 0;
  std::shared_ptr<const Poly> poly_;  // shared because immutable: copying a dim is cheap
};

std::ostream& operator<<(std::ostream& out, const Dim& dim);

// What a module states about its symbols.
struct DimFacts {
  static constexpr int64_t kDefaultLow = 0;
  static constexpr int64_t kDefaultHigh = (int64_t{1} << 31) - 1;
  struct Bounds {
    int64_t low = kDefaultLow;
    int64_t high = kDefaultHigh;
    friend bool operator==(const Bounds&, const Bounds&) = default;
  };

  std::map<std::string, Bounds> bounds;  // undeclared symbols have the default bounds

  // What was asserted, in order; checked when sizes are bound.
  const std::vector<std::pair<Dim, Dim>>& equalities() const { return equalities_; }
  void assert_equal(const Dim& a, const Dim& b);

  // Equal for every size that satisfies the asserted equalities (as far as can be decided:
  // equalities that give a symbol as an expression of others are used, the rest only checked at
  // bind).
  bool equal(const Dim& a, const Dim& b) const;
  Dim canonical(const Dim& a) const;
  Bounds bounds_of(const Dim& a) const;  // interval of an expression

 private:
  std::vector<std::pair<Dim, Dim>> equalities_;
  std::map<std::string, Dim> solved_;  // no symbol of a value is a key: one pass replaces them all
};

}  // namespace weft
