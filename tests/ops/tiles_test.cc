// Every case of every op, fused, lowered to Tile programs and interpreted.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "passes/pass.h"
#include "tests/support/case_file.h"
#include "tests/support/run_tiles.h"
#include "tests/support/same.h"

namespace weft {
namespace {

class TileMatrix : public testing::TestWithParam<std::string> {};

void expect_tiles_agree(const OpCase& c) {
  Result<Module> module = parse(c.name, c.graph);
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  Result<OracleResult> expected = run_oracle(*module, *module->find_graph("case"), c.inputs, {});
  auto records = run_pipeline(*module, {});
  ASSERT_TRUE(records.ok()) << render(records.diagnostics());
  const Graph& fused = *module->find_graph("case");
  Result<OracleResult> actual = run_tiles(*module, fused, c.inputs);
  ASSERT_EQ(actual.ok(), expected.ok()) << render(actual.diagnostics()) << print(*module);
  if (!expected.ok()) return;
  EXPECT_TRUE(same(compare(expected->outputs, actual->outputs, RunBy::rewritten)))
      << print(*module) << print_tiles(*module, fused).value();
}

TEST_P(TileMatrix, AgreesWithOracle) {
  Result<std::vector<OpCase>> cases = load_cases(GetParam());
  ASSERT_TRUE(cases.ok()) << render(cases.diagnostics());
  for (const OpCase& c : *cases) {
    SCOPED_TRACE(c.name);
    expect_tiles_agree(c);
  }
}

std::vector<std::string> written_ops() {
  std::vector<std::string> names;
  for (const OpInfo& op : all_ops()) {
    if (!op.has(kStructural)) names.emplace_back(op.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllOps, TileMatrix, testing::ValuesIn(written_ops()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace weft
