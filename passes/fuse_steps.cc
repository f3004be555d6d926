// Steps of `fuse` that join neighbours, siblings, and find what is rather computed again.
// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_steps.h"

#include <algorithm>
#include <map>

namespace weft {
namespace {

std::vector<ClusterId> neighbours(const Clusters& clusters, ClusterId id) {
  std::vector<ClusterId> all = clusters.producers(id);
  for (ClusterId consumer : clusters.consumers(id)) all.push_back(consumer);
  return all;
}

// Joins the neighbour that saves most, again and again. True if any was joined.
bool join_best(Clusters& clusters, ClusterId id, bool only_producers) {
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    std::vector<std::pair<double, ClusterId>> found;
    for (ClusterId other : only_producers ? clusters.producers(id) : neighbours(clusters, id)) {
      const double gain = clusters.gain({id, other});
      if (gain > 0) found.emplace_back(-gain, other);
    }
    std::ranges::sort(found);
    for (auto [loss, other] : found) {
      if (clusters.join({id, other})) continue;
      again = any = true;
      break;
    }
  }
  return any;
}

template <class Wanted>
void join_around(Clusters& clusters, bool only_producers, Wanted&& wanted) {
  for (ClusterId id = 0; id < clusters.size(); ++id) {
    if (clusters.exists(id) && wanted(clusters.form(id).kind)) {
      join_best(clusters, id, only_producers);
    }
  }
}

bool is_light_kernel(const std::string& kind) { return kind == "map" || kind == "rows"; }

// Values in memory that a cluster reads.
std::set<Value> reads_of(const Clusters& clusters, ClusterId id) {
  std::set<Value> all;
  for (uint32_t node : clusters.nodes(id)) {
    for (Value read : clusters.source().reads(node)) {
      if (clusters.of(read.node) != id) all.insert(read);
    }
  }
  return all;
}

// Clusters of kind map and rows that read a value.
std::set<ClusterId> readers_of(const Clusters& clusters, Value value) {
  std::set<ClusterId> all;
  for (uint32_t user : clusters.source().users(value)) {
    const ClusterId id = clusters.of(user);
    if (id != kNoCluster && id != clusters.of(value.node) &&
        is_light_kernel(clusters.form(id).kind)) {
      all.insert(id);
    }
  }
  return all;
}

void join_all_pairs(Clusters& clusters, const std::set<ClusterId>& ids) {
  constexpr size_t kMost = 32;  // pairs of more are not worth their time
  if (ids.size() > kMost) return;
  std::vector<ClusterId> left(ids.begin(), ids.end());
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = i + 1; j < left.size();) {
      if (clusters.join({left[i], left[j]})) {
        ++j;
      } else {
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }
}

// Only sums leave it: it may wait or hurry without keeping anything large alive.
bool gives_little(const Clusters& clusters, ClusterId id) {
  double read = 0;
  for (Value value : reads_of(clusters, id)) read += clusters.source().bytes(value);
  return clusters.stored_bytes(clusters.nodes(id)) * 8 <= read;
}

}  // namespace

void join_neighbours(Clusters& clusters) {
  join_around(clusters, false, [](const std::string& kind) { return kind == "rows"; });
  join_around(clusters, true, [](const std::string& kind) { return !is_light_kernel(kind); });
  join_around(clusters, false, [](const std::string& kind) { return kind == "map"; });
  join_around(clusters, false, [](const std::string& kind) { return kind == "rows"; });
}

void join_readers(Clusters& clusters) {
  for (ClusterId id = 0; id < clusters.size(); ++id) {
    if (!clusters.exists(id) || !is_light_kernel(clusters.form(id).kind)) continue;
    for (ClusterId producer : clusters.producers(id)) {
      if (!clusters.exists(producer) || !is_light_kernel(clusters.form(producer).kind)) continue;
      clusters.join({id, producer});
    }
  }
  const Graph& graph = clusters.graph();
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    for (uint32_t r = 0; r < graph[i].types.size(); ++r) {
      join_all_pairs(clusters, readers_of(clusters, {i, r}));
    }
  }
  // Sums of values that one product reads: bias gradients of q, k and v.
  for (ClusterId id = 0; id < clusters.size(); ++id) {
    if (!clusters.exists(id) || !clusters.has_matmul(id)) continue;
    std::set<ClusterId> sums;
    for (Value read : reads_of(clusters, id)) {
      for (ClusterId reader : readers_of(clusters, read)) {
        if (gives_little(clusters, reader)) sums.insert(reader);
      }
    }
    join_all_pairs(clusters, sums);
  }
}

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
