// Every rule of `simplify` has a text test named after it, fires there, and keeps what is computed.
// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "ir/graph/rebuild.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "passes/sample_inputs.h"
#include "test_paths.h"
#include "tests/support/must_parse.h"
#include "tests/support/same.h"

namespace weft {
namespace {

using test::must_parse;

std::filesystem::path folder() { return WEFT_SOURCE_DIR "/tests/passes/simplify"; }

// The module of a text test, without what is expected of it.
Module load(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path.string(), 1 << 20);
  EXPECT_TRUE(text.ok()) << render(text.diagnostics());
  std::string input = text->substr(0, text->find("\n--- expect") + 1);
  Result<Module> module = parse(path.filename().string(), input);
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return std::move(module).value();
}

OracleResult run(const Module& module, const Graph& graph, uint64_t seed) {
  Result<DimBinding> dims = sample_dims(module, graph);
  EXPECT_TRUE(dims.ok()) << render(dims.diagnostics());
  Result<TensorMap> inputs = sample_inputs(module, graph, *dims, seed);
  EXPECT_TRUE(inputs.ok()) << render(inputs.diagnostics());
  Result<TensorMap> storage = initial_values(module, &graph, seed, *dims);
  EXPECT_TRUE(storage.ok()) << render(storage.diagnostics());
  Result<OracleResult> result = run_oracle(module, graph, *inputs, *storage, *dims);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return std::move(result).value();
}

class SimplifyRule : public testing::TestWithParam<const Rule*> {};

TEST_P(SimplifyRule, FiresInItsTestAndKeepsTheResults) {
  const Rule& rule = *GetParam();
  std::filesystem::path path = folder() / (std::string(rule.name) + ".weft");
  ASSERT_TRUE(std::filesystem::exists(path)) << "rule " << rule.name << " has no test";
  Module before = load(path);
  Module after = before;
  std::set<std::string> fired;
  int applied = 0;
  PassOptions options;
  options.fast_math = (rule.flags & kFastMath) != 0;
  options.on_rewrite = [&](const RewriteEvent& event) {
    fired.emplace(event.rule);
    ++applied;
  };
  Result<bool> changed = simplify(after, options);
  ASSERT_TRUE(changed.ok()) << render(changed.diagnostics());
  EXPECT_TRUE(*changed);
  EXPECT_TRUE(fired.contains(std::string(rule.name))) << print(after);
  EXPECT_LT(applied, 50) << "rules undo each other";
  Status valid = verify(after);
  EXPECT_TRUE(valid.ok()) << render(valid.diagnostics());
  for (const Graph& graph : before.graphs) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      EXPECT_TRUE(same(compare(run(before, graph, seed),
                               run(after, *after.find_graph(graph.name()), seed), RunBy::oracle)))
          << graph.name() << print(after);
    }
  }
}

// Numbers on which careless algebra shows.
void fill_with_specials(Tensor& tensor, uint64_t seed) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const double specials[] = {kNan, kInf, -kInf, 0.0,     -0.0,     1.0,
                             -1.0, 0.5,  3.0,   65504.0, -65504.0, 0x1p-24};
  for (size_t i = 0; i < tensor.reals.size(); ++i) {
    tensor.reals[i] = specials[(i * 5 + seed * 7) % std::size(specials)];
  }
}

void expect_same_bits(const TensorMap& before, const TensorMap& after, bool signed_zero) {
  for (const auto& [name, expected] : before) {
    const Tensor& got = after.at(name);
    EXPECT_EQ(expected.integers, got.integers) << name;
    for (size_t i = 0; i < expected.reals.size(); ++i) {
      double u = expected.reals[i];
      double v = got.reals[i];
      bool same = std::isnan(u) ? std::isnan(v)
                                : u == v && (signed_zero || std::signbit(u) == std::signbit(v));
      EXPECT_TRUE(same) << name << "[" << i << "]: " << u << " became " << v;
    }
  }
}

// A rule that does not say otherwise is right to the bit, for NaN, infinities and -0 too.
TEST_P(SimplifyRule, IsRightForSpecialNumbers) {
  const Rule& rule = *GetParam();
  if ((rule.flags & kFastMath) != 0) return;  // says that it is not
  Module before = load(folder() / (std::string(rule.name) + ".weft"));
  Module after = before;
  uint32_t flags = 0;
  PassOptions options;
  options.on_rewrite = [&](const RewriteEvent& event) {
    for (const Rule* other : simplify_rules()) {
      if (other->name == event.rule) flags |= other->flags;
    }
  };
  ASSERT_TRUE(simplify(after, options).ok());
  for (const Graph& graph : before.graphs) {
    Result<DimBinding> dims = sample_dims(before, graph);
    ASSERT_TRUE(dims.ok());
    for (uint64_t seed = 0; seed < 6; ++seed) {
      TensorMap inputs = sample_inputs(before, graph, *dims, seed).value();
      for (auto& [name, tensor] : inputs) fill_with_specials(tensor, seed + name.size());
      TensorMap storage = initial_values(before, &graph, seed, *dims).value();
      Result<OracleResult> expected = run_oracle(before, graph, inputs, storage, *dims);
      Result<OracleResult> got =
          run_oracle(after, *after.find_graph(graph.name()), inputs, storage, *dims);
      ASSERT_TRUE(expected.ok() && got.ok());
      if ((flags & kRounding) != 0) {
        EXPECT_TRUE(same(compare(*expected, *got, RunBy::oracle))) << graph.name();
      } else {
        expect_same_bits(expected->outputs, got->outputs, (flags & kSignedZero) != 0);
      }
    }
  }
}

TEST_P(SimplifyRule, LeavesNothingToDo) {
  const Rule& rule = *GetParam();
  Module module = load(folder() / (std::string(rule.name) + ".weft"));
  PassOptions options;
  options.fast_math = (rule.flags & kFastMath) != 0;
  ASSERT_TRUE(simplify(module, options).ok());
  std::string once = print(module);
  Result<bool> again = simplify(module, options);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(*again);
  EXPECT_EQ(once, print(module));
}

INSTANTIATE_TEST_SUITE_P(All, SimplifyRule, testing::ValuesIn(simplify_rules()),
                         [](const testing::TestParamInfo<const Rule*>& param) {
                           std::string name(param.param->name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Simplify, RulesHaveNamesOfTheirOwnAndNotesWhereTheyAreNotExact) {
  std::set<std::string_view> names;
  for (const Rule* rule : simplify_rules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name << " occurs twice";
    bool exact = rule->flags == kExact;
    EXPECT_TRUE(exact || !rule->note.empty()) << rule->name;
  }
}

TEST(Simplify, EveryTestBelongsToARule) {
  std::set<std::string> names;
  for (const Rule* rule : simplify_rules()) names.emplace(rule->name);
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    EXPECT_TRUE(names.contains(entry.path().stem().string())) << entry.path();
  }
}

TEST(Simplify, MergesEqualNodesAndUnitesTheirOrigins) {
  Module module = must_parse(R"(graph @g(%x: f32[B]) -> (y) {
  %a = exp %x loc "one"
  %b = exp %x loc "two"
  %y = add %a, %b
  return %y
})");
  ASSERT_TRUE(simplify(module, {}).ok());
  EXPECT_EQ(print(module), R"(graph @g(%x: f32[B]) -> (y: f32[B]) {
  %a = exp %x : f32[B] loc "one", "two"
  %y = add %a, %a : f32[B]
  return %y
}
)");
}

TEST(Simplify, ReplacementKeepsOriginsOfAllItReplaces) {
  Module module = must_parse(R"(graph @g(%x: f32[B]) -> (y) {
  %a = mul %x, 0.5 loc "scale"
  %y = mul %a, 0.25 loc "mask"
  return %y
})");
  ASSERT_TRUE(simplify(module, {}).ok());
  EXPECT_EQ(print(module), R"(graph @g(%x: f32[B]) -> (y: f32[B]) {
  %y = mul %x, 0.125 : f32[B] loc "mask", "scale"
  return %y
}
)");
}

TEST(Simplify, StopsAtTheLimit) {
  const std::string text = R"(graph @g(%x: f32[B]) -> (y) {
  %a = add %x, 0.0
  %b = exp %a
  %c = mul %b, 1.0
  %y = neg %c
  return %y
})";
  int64_t total = 0;
  PassOptions options;
  options.on_rewrite = [&](const RewriteEvent&) { ++total; };
  for (int64_t limit = 0; limit <= 2; ++limit) {
    Module module = must_parse(text);
    total = 0;
    options.rewrite_limit = limit;
    ASSERT_TRUE(simplify(module, options).ok());
    EXPECT_EQ(total, limit);
    EXPECT_EQ(module.graphs[0].nodes().size(), static_cast<size_t>(7 - 2 * limit));
  }
}

TEST(Simplify, LeavesRecomputationsAlone) {
  Module module = must_parse(R"(graph @g(%x: f32[B]) -> (y) {
  %a = add %x, 0.0 : f32[B] instance 1
  %y = exp %a : f32[B]
  return %y
})");
  Result<bool> changed = simplify(module, {});
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(Simplify, DoesNotFoldWhatFails) {
  Module module = must_parse(R"(graph @g(%x: f32[2]) -> (y) {
  %c = constant {value = [1.0, 2.0], dtype = f32, shape = [2]}
  %i = constant {value = [0, 7], dtype = i32, shape = [2]}
  %y = gather %c, %i
  return %y
})");
  Result<bool> changed = simplify(module, {});
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(Simplify, EndlessQuarrelOfTwoRulesStops) {
  using namespace pattern;
  const std::vector<Rule> quarrel = {
      {"exp-to-tanh", exp(x), build(tanh(x))},
      {"tanh-to-exp", tanh(x), build(exp(x))},
  };
  Module module = must_parse("graph @g(%x: f32[B]) -> (y) {\n  %y = exp %x\n  return %y\n}\n");
  PassOptions options;
  options.extra_rules = quarrel;
  EXPECT_TRUE(simplify(module, options).ok());
}

}  // namespace
}  // namespace weft
