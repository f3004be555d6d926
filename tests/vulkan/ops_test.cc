// Every case of every op on a Vulkan device, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/text.h"
#include "tests/support/case_file.h"
#include "tests/support/same.h"
#include "tests/support/suite.h"
#include "tests/vulkan/run.h"

namespace weft {
namespace {

TensorMap rounded(TensorMap tensors) {
  for (auto& [name, tensor] : tensors) {
    for (double& element : tensor.reals) element = round_to(tensor.dtype, element);
  }
  return tensors;
}

void expect_same(const Module& module, const Result<OracleResult>& expected,
                 const Result<OracleResult>& actual) {
  // It may copy them, and says that it does not compute with them.
  if (has_type_refused(module) && !actual.ok() && expected.ok()) {
    EXPECT_NE(render(actual.diagnostics()).find(" computes in "), std::string::npos)
        << render(actual.diagnostics());
    return;
  }
  ASSERT_EQ(actual.ok(), expected.ok()) << render(actual.diagnostics()) << print(module);
  if (!expected.ok()) return;
  EXPECT_TRUE(same(compare(expected->outputs, actual->outputs, RunBy::device))) << print(module);
}

// Sizes of zero and numbers at the ends of their type: where code that is right elsewhere is not.
bool is_at_an_edge(const std::string& name) {
  for (const char* part : {"empty", "nothing", "no_", "special", "extreme", "ends_i8"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

using Mappings = std::vector<simt::Mapping>;

// Another number for each name, the same on every machine (FNV-1a).
size_t hash_of(const std::string& name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

DTypeSet types_of(const OpCase& c) {
  DTypeSet types = 0;
  for (const TensorMap* tensors : {&c.inputs, &c.outputs}) {
    for (const auto& [name, tensor] : *tensors) types |= set_of(tensor.dtype);
  }
  return types;
}

// Drivers take long to compile. Of each op: two cases and what it takes for one of each type, under
// one mapping after the other, and those at an edge under both; all of them in the slow suite.
// Files have types in the same order: each op begins at another case.
std::vector<Mappings> chosen(const std::string& op, const std::vector<OpCase>& cases) {
  const Mappings both = {simt::Mapping::registers, simt::Mapping::workgroup};
  if (suite() == "slow") return std::vector<Mappings>(cases.size(), both);
  std::vector<Mappings> result(cases.size());
  const size_t first = hash_of(op) % cases.size();
  size_t turn = hash_of(op);
  DTypeSet seen = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const size_t at = (first + i) % cases.size();
    DTypeSet types = types_of(cases[at]);
    if ((types & types_refused()) != 0) types &= types_refused();  // the others do not run
    if (i == cases.size() / 2 || (types & ~seen) != 0) result[at] = {both[turn++ % 2]};
    if (suite() != "quick" && is_at_an_edge(cases[at].name)) result[at] = both;
    seen |= types;
  }
  return result;
}

class VulkanMatrix : public testing::TestWithParam<std::string> {};

TEST_P(VulkanMatrix, AgreesWithOracle) {
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  Result<std::vector<OpCase>> cases = load_cases(GetParam());
  ASSERT_TRUE(cases.ok()) << render(cases.diagnostics());
  const std::vector<Mappings> runs = chosen(GetParam(), *cases);
  for (size_t i = 0; i < cases->size(); ++i) {
    const OpCase& c = (*cases)[i];
    if (runs[i].empty()) continue;
    SCOPED_TRACE(c.name);
    Result<Module> module = parse(c.name, c.graph);
    ASSERT_TRUE(module.ok()) << render(module.diagnostics());
    TensorMap inputs = rounded(c.inputs);
    Result<OracleResult> expected = run_oracle(*module, *module->find_graph("case"), inputs, {});
    for (simt::Mapping mapping : runs[i]) {
      SCOPED_TRACE(simt::str({mapping}));
      expect_same(*module, expected, run_on_vulkan(*module, "case", inputs, mapping));
    }
  }
  for (const std::string& message : shared_vulkan_log().take()) ADD_FAILURE() << message;
}

std::vector<std::string> written_ops() {
  std::vector<std::string> names;
  for (const OpInfo& op : all_ops()) {
    if (!op.has(kStructural)) names.emplace_back(op.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllOps, VulkanMatrix, testing::ValuesIn(written_ops()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace weft
