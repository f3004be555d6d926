// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_clusters.h"

#include <algorithm>

#include "ir/support/check.h"

namespace weft {
namespace {

constexpr size_t kMaxClusterNodes = 256;  // a kernel that large compiles slowly and helps nobody
constexpr size_t kMaxSearched = 20'000;   // clusters looked at for a cycle: keeps large graphs fast

Refusal cycle_through(const Node& node) {
  if (node.names[0].empty()) return cat("cycle through a ", name(node.op));
  return cat("cycle through %", node.names[0]);
}

}  // namespace

Clusters::Clusters(const FuseGraph& source)
    : source_(source), of_(source.graph().nodes().size(), kNoCluster) {
  for (uint32_t i = 0; i < of_.size(); ++i) {
    if (!source.is_clustered(i)) continue;
    of_[i] = static_cast<ClusterId>(nodes_.size());
    nodes_.push_back({i});
    FormOrRefusal form = form_of({i}, results({i}));
    WEFT_CHECK(std::holds_alternative<RegionForm>(form),
               cat("a node makes a region: ", name(graph()[i].op), ": ",
                   std::holds_alternative<Refusal>(form) ? std::get<Refusal>(form) : ""));
    forms_.push_back(std::get<RegionForm>(std::move(form)));
  }
}

bool Clusters::has_matmul(ClusterId id) const { return forms_[id].kind == "matmul"; }

std::vector<Value> Clusters::results(const std::vector<uint32_t>& nodes) const {
  std::vector<Value> found;
  for (uint32_t i : nodes) {
    for (uint32_t r = 0; r < graph()[i].types.size(); ++r) {
      const std::vector<uint32_t>& users = source_.users({i, r});
      const bool outside = std::ranges::any_of(
          users, [&](uint32_t user) { return !std::ranges::binary_search(nodes, user); });
      if (outside || source_.leaves({i, r})) found.push_back({i, r});
    }
  }
  return found;
}

std::vector<ClusterId> Clusters::producers(ClusterId id) const {
  std::set<ClusterId> found;
  for (uint32_t i : nodes_[id]) {
    for (Value read : source_.reads(i)) {
      if (of_[read.node] != kNoCluster && of_[read.node] != id) found.insert(of_[read.node]);
    }
  }
  return {found.begin(), found.end()};
}

std::vector<ClusterId> Clusters::consumers(ClusterId id) const {
  std::set<ClusterId> found;
  for (uint32_t i : nodes_[id]) {
    for (uint32_t r = 0; r < graph()[i].types.size(); ++r) {
      for (uint32_t user : source_.users({i, r})) {
        if (of_[user] != kNoCluster && of_[user] != id) found.insert(of_[user]);
      }
    }
  }
  return {found.begin(), found.end()};
}

double Clusters::stored_bytes(const std::vector<uint32_t>& nodes) const {
  double total = 0;
  for (Value result : results(nodes)) total += source_.bytes(result);
  return total;
}

std::vector<uint32_t> Clusters::united(const std::vector<ClusterId>& ids) const {
  std::vector<uint32_t> all;
  for (ClusterId id : ids) all.insert(all.end(), nodes_[id].begin(), nodes_[id].end());
  std::ranges::sort(all);
  return all;
}

double Clusters::gain(const std::vector<ClusterId>& ids) const {
  double apart = 0;
  for (ClusterId id : ids) apart += stored_bytes(nodes_[id]);
  return apart - stored_bytes(united(ids));
}

FormOrRefusal Clusters::form_of(const std::vector<uint32_t>& nodes,
                                const std::vector<Value>& results) const {
  std::set<uint32_t> all(nodes.begin(), nodes.end());
  std::vector<uint32_t> open = nodes;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (Value operand : graph()[at].operands) {
      if (!source_.is_light(operand.node) || !all.insert(operand.node).second) continue;
      open.push_back(operand.node);
    }
  }
  Part part{&graph(), {all.begin(), all.end()}, {results.begin(), results.end()}};
  FormOrRefusal form = region_form(part, source_.facts());
  if (std::holds_alternative<RegionForm>(form) && nodes.size() > 1) {
    auto repeated = repeated_work(part, std::get<RegionForm>(form), source_.facts());
    if (repeated) return *repeated;
  }
  return form;
}

// A path that leaves the clusters and comes back would make them wait for themselves.
std::optional<Refusal> Clusters::find_cycle(const std::vector<ClusterId>& ids) const {
  std::set<ClusterId> seen(ids.begin(), ids.end());
  auto ours = [&](ClusterId id) { return std::ranges::find(ids, id) != ids.end(); };
  std::vector<uint32_t> open;  // nodes outside that depend on the clusters
  std::set<uint32_t> seen_outside;
  auto reach = [&](uint32_t user) -> bool {
    const ClusterId id = of_[user];
    if (id == kNoCluster) {
      if (seen_outside.insert(user).second) open.push_back(user);
      return false;
    }
    if (seen.insert(id).second) open.push_back(nodes_[id][0]);
    return false;
  };
  auto each_user = [&](const std::vector<uint32_t>& nodes, auto&& visit) {
    for (uint32_t i : nodes) {
      for (uint32_t r = 0; r < graph()[i].types.size(); ++r) {
        for (uint32_t user : source_.users({i, r})) visit(user);
      }
    }
  };
  for (ClusterId id : ids) {
    each_user(nodes_[id], [&](uint32_t user) {
      if (of_[user] == kNoCluster || !ours(of_[user])) reach(user);
    });
  }
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    std::optional<uint32_t> back;
    const std::vector<uint32_t> alone = {at};
    each_user(of_[at] == kNoCluster ? alone : nodes_[of_[at]], [&](uint32_t user) {
      if (of_[user] != kNoCluster && ours(of_[user])) {
        back = at;
      } else {
        reach(user);
      }
    });
    if (back) return cycle_through(graph()[*back]);
    if (seen.size() > kMaxSearched) return Refusal("too far apart to tell whether they wait");
  }
  return std::nullopt;
}

FormOrRefusal Clusters::check(const std::vector<ClusterId>& ids) const {
  const std::vector<uint32_t> nodes = united(ids);
  if (nodes.size() > kMaxClusterNodes) return cat("more than ", kMaxClusterNodes, " ops");
  FormOrRefusal form = form_of(nodes, results(nodes));
  if (std::holds_alternative<Refusal>(form)) return form;
  if (auto cycle = find_cycle(ids)) return *cycle;
  return form;
}

std::optional<Refusal> Clusters::refusal(const std::vector<ClusterId>& ids) const {
  FormOrRefusal form = check(ids);
  if (std::holds_alternative<Refusal>(form)) return std::get<Refusal>(form);
  return std::nullopt;
}

std::optional<Refusal> Clusters::join(const std::vector<ClusterId>& ids) {
  FormOrRefusal form = check(ids);
  if (std::holds_alternative<Refusal>(form)) return std::get<Refusal>(form);
  std::vector<uint32_t> all = united(ids);
  for (ClusterId id : ids) nodes_[id].clear();
  for (uint32_t i : all) of_[i] = ids[0];
  nodes_[ids[0]] = std::move(all);
  forms_[ids[0]] = std::get<RegionForm>(std::move(form));
  return std::nullopt;
}

}  // namespace weft
