// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_matmul_jobs.h"

#include <algorithm>
#include <set>

#include "ir/support/check.h"

namespace weft::lowering {
namespace {

// Sums of matmuls that nobody else sees become chains of several.
std::vector<MatmulChain> find_chains(const Graph& body) {
  const auto uses = count_uses(body);
  std::vector<MatmulChain> chains;
  auto take = [&](Value sum) -> std::optional<MatmulChain> {
    auto found = std::ranges::find(chains, sum, &MatmulChain::sum);
    if (found == chains.end() || uses[sum.node][sum.result] != 1) return std::nullopt;
    return *found;
  };
  for (uint32_t i = 0; i < body.nodes().size(); ++i) {
    const Node& node = body[i];
    if (node.op == Op::matmul) chains.push_back({{i}, {i, 0}});
    if (node.op != Op::add || node.operands[0] == node.operands[1]) continue;
    std::optional<MatmulChain> left = take(node.operands[0]);
    std::optional<MatmulChain> right = take(node.operands[1]);
    if (!left || !right) continue;
    const bool alike =
        body.type(left->sum) == node.types[0] && body.type(right->sum) == node.types[0];
    if (!alike) continue;
    std::erase_if(chains,
                  [&](const MatmulChain& c) { return c.sum == left->sum || c.sum == right->sum; });
    left->matmuls.insert(left->matmuls.end(), right->matmuls.begin(), right->matmuls.end());
    chains.push_back({left->matmuls, {i, 0}});
  }
  return chains;
}

// The chains that a result is made of, by number.
std::set<size_t> chains_below(const Graph& body, const std::vector<MatmulChain>& chains,
                              Value value) {
  std::set<size_t> found;
  std::vector<bool> seen(body.nodes().size(), false);
  std::vector<Value> stack = {value};
  while (!stack.empty()) {
    const Value next = stack.back();
    stack.pop_back();
    if (seen[next.node]) continue;
    seen[next.node] = true;
    auto chain = std::ranges::find(chains, next, &MatmulChain::sum);
    if (chain != chains.end()) {
      found.insert(static_cast<size_t>(chain - chains.begin()));
      continue;
    }
    const std::vector<Value>& operands = body.node(next).operands;
    stack.insert(stack.end(), operands.begin(), operands.end());
  }
  return found;
}

}  // namespace

std::vector<MatmulJob> find_matmul_jobs(const Region& region) {
  const Graph& body = region.body();
  const std::vector<MatmulChain> chains = find_chains(body);
  const Shape shape = region.shape(chains[0].sum);
  const bool alike = std::ranges::all_of(
      chains, [&](const MatmulChain& chain) { return region.shape(chain.sum) == shape; });
  std::vector<std::set<size_t>> members;
  std::vector<std::vector<uint32_t>> results;
  for (uint32_t i = 0; i < body.outputs.size(); ++i) {
    std::set<size_t> own = chains_below(body, chains, body.outputs[i].value);
    WEFT_CHECK(!own.empty(), "a result of a matmul region is made of a matmul");
    std::vector<uint32_t> joined = {i};
    for (size_t j = members.size(); j-- > 0;) {
      const bool meets = std::ranges::any_of(own, [&](size_t c) { return members[j].contains(c); });
      if (!alike && !meets) continue;
      own.insert(members[j].begin(), members[j].end());
      joined.insert(joined.begin(), results[j].begin(), results[j].end());
      members.erase(members.begin() + static_cast<ptrdiff_t>(j));
      results.erase(results.begin() + static_cast<ptrdiff_t>(j));
    }
    members.push_back(std::move(own));
    results.push_back(std::move(joined));
  }
  std::vector<MatmulJob> jobs(members.size());
  for (size_t j = 0; j < members.size(); ++j) {
    for (size_t chain : members[j]) jobs[j].chains.push_back(chains[chain]);
    jobs[j].results = results[j];
  }
  return jobs;
}

}  // namespace weft::lowering
