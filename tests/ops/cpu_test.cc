// Every case of every op on the CPU, for every kind of processor that the host can run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/execute.h"
#include "ir/text/text.h"
#include "tests/support/case_file.h"
#include "tests/support/on_cpu.h"
#include "tests/support/same.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

TensorMap rounded(TensorMap tensors) {
  for (auto& [name, tensor] : tensors) {
    for (double& element : tensor.reals) element = round_to(tensor.dtype, element);
  }
  return tensors;
}

// With one thread and with two, which must give the same bits.
Result<OracleResult> run_on_cpu(const Module& module, const std::string& target,
                                const TensorMap& inputs) {
  CompileRequest request;
  request.target_cpu = target;
  WEFT_TRY(Compiled compiled, compile(module, request));
  const Graph& graph = *module.find_graph("case");
  WEFT_TRY(DimBinding dims, bind_dims(module, graph, inputs, {}, {}));
  std::vector<OracleResult> results;
  for (int threads : {1, 2}) {
    ContextOptions options;
    options.threads = threads;
    options.poison = true;
    WEFT_TRY(Executor executor, Executor::create(compiled.executable, options));
    WEFT_TRY(OracleResult result, run_once(executor, graph, inputs, {}, dims));
    results.push_back(std::move(result));
  }
  EXPECT_TRUE(same_bits(results[0], results[1])) << "one thread and two differ";
  return std::move(results[0]);
}

class CpuMatrix : public testing::TestWithParam<std::string> {};

void expect_cpu_agrees(const OpCase& c, const std::string& target) {
  Result<Module> module = parse(c.name, c.graph);
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  TensorMap inputs = rounded(c.inputs);
  Result<OracleResult> expected = run_oracle(*module, *module->find_graph("case"), inputs, {});
  Result<OracleResult> actual = run_on_cpu(*module, target, inputs);
  ASSERT_EQ(actual.ok(), expected.ok()) << render(actual.diagnostics());
  if (!expected.ok()) return;
  EXPECT_TRUE(same(compare(expected->outputs, actual->outputs, RunBy::device))) << print(*module);
}

TEST_P(CpuMatrix, AgreesWithOracle) {
  if (!has_code_generator()) GTEST_SKIP() << "built without LLVM";
  Result<std::vector<OpCase>> cases = load_cases(GetParam());
  ASSERT_TRUE(cases.ok()) << render(cases.diagnostics());
  const bool slow = suite() == "slow";
  constexpr size_t kQuick = 7;  // no multiple of the number of targets
  // All targets in the slow suite; else each case on one of them, in turn.
  const std::vector<std::string>& targets = cpu_targets();
  for (size_t turn = 0; turn < cases->size(); ++turn) {
    if (left_out(turn, kQuick)) continue;
    const OpCase& c = (*cases)[turn];
    SCOPED_TRACE(c.name);
    for (size_t i = 0; i < (slow ? targets.size() : 1); ++i) {
      const std::string& target = targets[(turn + i) % targets.size()];
      SCOPED_TRACE(target);
      expect_cpu_agrees(c, target);
    }
  }
}

std::vector<std::string> written_ops() {
  std::vector<std::string> names;
  for (const OpInfo& op : all_ops()) {
    if (!op.has(kStructural)) names.emplace_back(op.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllOps, CpuMatrix, testing::ValuesIn(written_ops()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace weft
