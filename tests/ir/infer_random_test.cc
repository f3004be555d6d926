// Random operands and attributes through every type rule: an error or sound types, never a crash.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include "tests/ir/infer_cases.h"

namespace weft {
namespace {

using namespace infer_cases;  // NOLINT: a vocabulary for these tests only

class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}

  size_t below(size_t n) { return engine_() % n; }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  int64_t integer() {
    return pick<int64_t>({-9, -1, 0, 0, 1, 1, 2, 2, 3, 4, 100, INT64_MAX, INT64_MIN});
  }
  Dim dim() { return pick<Dim>({0, 1, 1, 2, 2, 4, 4, B, B, T, T + 1, B * T, T - 3, integer()}); }
  double real() { return pick<double>({0.0, 0.5, 1.0, -1.0, 1e300, kNan, INFINITY}); }
  DType dtype() { return static_cast<DType>(below(kDTypeCount)); }
  template <class Make>
  auto list(Make make) {
    std::vector<decltype(make())> items;
    for (size_t n = below(5); n > 0; --n) items.push_back(make());
    return items;
  }

  AttrValue value(const AttrSpec& spec) {
    switch (below(20) == 0 ? static_cast<AttrKind>(below(12)) : spec.kind) {
      case AttrKind::integer:
      case AttrKind::axis: return integer();
      case AttrKind::real: return real();
      case AttrKind::boolean: return below(2) == 0;
      case AttrKind::choice: return spec.choices.empty() ? "none" : pick(spec.choices);
      case AttrKind::text: return std::string("text");
      case AttrKind::axes:
      case AttrKind::ints: return list([this] { return integer(); });
      case AttrKind::dim: return dim();
      case AttrKind::dims: return list([this] { return dim(); });
      case AttrKind::dtype: return dtype();
      case AttrKind::numbers: break;
    }
    if (below(2) == 0) return Numbers{list([this] { return real(); })};
    return Numbers{list([this] { return integer(); })};
  }

  // Mostly alike, so that many calls type-check.
  std::vector<Type> operands(const OpInfo& op) {
    Type like{DType::f32, list([this] { return dim(); })};
    while (!contains(op.dtypes, like.dtype)) like.dtype = dtype();
    std::vector<Type> types(op.operands.size() + (op.variadic ? below(3) : 0), like);
    for (Type& type : types) {
      if (below(4) == 0) type.dtype = pick<DType>({DType::i32, DType::u32, dtype()});
      if (below(4) == 0) type.shape = list([this] { return dim(); });
      if (below(8) == 0) type = {DType::u32, {2}};
    }
    return types;
  }

 private:
  std::mt19937 engine_;
};

TEST(InferRandom, ErrorsOrSoundTypes) {
  Dice dice(7);
  DimFacts facts;
  facts.bounds["B"] = {1, 8};
  size_t good = 0;
  for (const OpInfo& op : all_ops()) {
    if (op.has(kStructural) || op.has(kBody)) continue;  // random operands fit no body
    for (int round = 0; round < 60; ++round) {
      std::vector<Type> operands = dice.operands(op);
      Attrs given;
      for (const AttrSpec& spec : op.attrs) {
        if (spec.required || dice.below(3) == 0) given.set(spec.name, dice.value(spec));
      }
      Result<Attrs> attrs = normalise_attrs(op.op, given, operands, {});
      if (!attrs.ok()) continue;
      Result<Attrs> again = normalise_attrs(op.op, *attrs, operands, {});
      ASSERT_TRUE(again.ok() && *again == *attrs) << op.name;
      Result<std::vector<Type>> types = infer_types({op.op, operands, *attrs, facts, {}, {}});
      if (!types.ok()) continue;
      ++good;
      ASSERT_EQ(types->size(), op.results.size()) << op.name;
      for (const Type& type : *types) EXPECT_EQ(type_fault(type), std::nullopt) << op.name;
    }
  }
  EXPECT_GT(good, 1000u);
}

}  // namespace
}  // namespace weft
