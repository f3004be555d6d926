// The step of `fuse` that finds values which are rather computed again than stored.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/fuse_steps.h"

namespace weft {
namespace {

constexpr size_t kMostWork = 24;  // units; a costly op takes several
constexpr size_t kCostlyWork = 8;
constexpr size_t kMostOperandWork = 3;  // where a product computes it for each block

// What was decided so far, per node.
struct Decided {
  std::vector<bool> recomputed;
  std::vector<bool> kept;  // what is recomputed begins with these
};

// Decides for one value of a cluster.
class Recompute {
 public:
  Recompute(const Clusters& clusters, const Decided& decided, Value value)
      : clusters_(clusters),
        source_(clusters.source()),
        decided_(decided),
        value_(value),
        home_(clusters.of(value.node)) {
    for (uint32_t user : source_.users(value_)) {
      read_by_product_ =
          read_by_product_ || (clusters_.of(user) != home_ && graph()[user].op == Op::matmul);
    }
  }

  bool read_by_product() const { return read_by_product_; }

  // Everything between the value and what is in memory is computed where it is needed.
  void decide(Decided& decided) const {
    for (uint32_t node : seen_) decided.recomputed[node] = !source_.is_light(node);
    decided.recomputed[value_.node] = true;
    for (Value leaf : leaves_) decided.kept[leaf.node] = true;
  }

  bool helps() {
    if (source_.leaves(value_) || decided_.kept[value_.node]) return false;
    if (!readers_allow() || !follow(value_.node, true)) return false;
    if (work_ > (read_by_product_ ? kMostOperandWork : kMostWork)) return false;
    if (read_by_product_ && costly_) return false;
    double small = 0;
    size_t large = 0;
    for (Value leaf : leaves_) {
      const double bytes = source_.bytes(leaf);
      if (bytes * 4 > source_.bytes(value_)) {
        ++large;
      } else {
        small += bytes;
      }
    }
    if (large > 1 || small * 4 > source_.bytes(value_)) return false;
    return stays_a_region() && readers_can_hold();
  }

 private:
  const Graph& graph() const { return source_.graph(); }

  bool readers_allow() const {
    return std::ranges::all_of(source_.users(value_), [&](uint32_t user) {
      return clusters_.of(user) != kNoCluster && !is_sink(graph()[user]);
    });
  }

  bool is_small(uint32_t node) const {
    return source_.bytes({node, 0}) * 8 <= source_.bytes(value_);
  }

  bool is_kept(Value value) const {
    const std::vector<Value> results = clusters_.results(clusters_.nodes(home_));
    return decided_.kept[value.node] ||
           (!decided_.recomputed[value.node] && std::ranges::find(results, value) != results.end());
  }

  // Walks from the value to what is in memory.
  bool follow(uint32_t node, bool root) {
    if (!root && !seen_.insert(node).second) return true;
    if (source_.is_light(node)) {
      for (Value operand : graph()[node].operands) {
        if (!reach(operand)) return false;
      }
      return true;
    }
    if (!is_plain(graph()[node])) return false;
    const bool costly = is_costly(graph()[node]);
    costly_ = costly_ || costly;
    work_ += costly ? kCostlyWork : 1;
    if (work_ > kMostWork) return false;
    for (Value operand : graph()[node].operands) {
      if (!reach(operand)) return false;
    }
    return true;
  }

  bool reach(Value value) {
    const ClusterId id = clusters_.of(value.node);
    const bool light = source_.is_light(value.node);
    if (!light && (id == kNoCluster || (id != home_ && !decided_.recomputed[value.node]))) {
      leaves_.insert(value);
      return true;
    }
    if (!light && id == home_ && (is_kept(value) || is_small(value.node))) {
      leaves_.insert(value);
      return true;
    }
    return follow(value.node, false);
  }

  // With the small values that it has to return instead.
  bool stays_a_region() const {
    std::set<Value> results;
    for (Value result : clusters_.results(clusters_.nodes(home_))) {
      if (result != value_ && !decided_.recomputed[result.node]) results.insert(result);
    }
    for (Value leaf : leaves_) {
      if (clusters_.of(leaf.node) == home_ && !source_.is_light(leaf.node)) results.insert(leaf);
    }
    if (results.empty()) return true;  // nothing of it is left
    FormOrRefusal form =
        clusters_.form_of(clusters_.nodes(home_), {results.begin(), results.end()});
    return std::holds_alternative<RegionForm>(form) &&
           std::get<RegionForm>(form).kind == clusters_.form(home_).kind;
  }

  // Computed there, it is neither repeated for every copy nor too much for a product's operand.
  bool readers_can_hold() const {
    std::set<ClusterId> readers;
    for (uint32_t user : source_.users(value_)) readers.insert(clusters_.of(user));
    readers.erase(home_);
    return std::ranges::all_of(readers, [&](ClusterId reader) {
      const std::vector<uint32_t>& theirs = clusters_.nodes(reader);
      std::set<uint32_t> nodes(theirs.begin(), theirs.end());
      nodes.insert(value_.node);
      for (uint32_t node : seen_) {
        if (!source_.is_light(node)) nodes.insert(node);
      }
      FormOrRefusal form =
          clusters_.form_of({nodes.begin(), nodes.end()}, clusters_.results(theirs));
      return std::holds_alternative<RegionForm>(form);
    });
  }

  const Clusters& clusters_;
  const FuseGraph& source_;
  const Decided& decided_;
  const Value value_;
  const ClusterId home_;
  bool read_by_product_ = false;
  bool costly_ = false;
  size_t work_ = 0;
  std::set<uint32_t> seen_;
  std::set<Value> leaves_;
};

}  // namespace

std::vector<bool> find_recomputed(const Clusters& clusters) {
  const Graph& graph = clusters.graph();
  Decided decided{std::vector<bool>(graph.nodes().size(), false),
                  std::vector<bool>(graph.nodes().size(), false)};
  // First what products read, which would have to be stored otherwise: the rest may follow from it.
  for (bool products : {true, false}) {
    for (ClusterId id = 0; id < clusters.size(); ++id) {
      if (!clusters.exists(id)) continue;
      for (Value result : clusters.results(clusters.nodes(id))) {
        if (graph.node(result).types.size() != 1 || !is_plain(graph.node(result))) continue;
        Recompute recompute(clusters, decided, result);
        if (recompute.read_by_product() == products && recompute.helps()) recompute.decide(decided);
      }
    }
  }
  return decided.recomputed;
}

}  // namespace weft
