// Steps of `fuse` that join neighbours and siblings.
// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_steps.h"

#include <algorithm>

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

}  // namespace weft
