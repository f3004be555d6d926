// Steps of `fuse` that grow regions around products.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "passes/fuse_steps.h"

namespace weft {
namespace {

constexpr size_t kMaxShared = 16;  // products of one operand in a region
constexpr size_t kMaxCone = 32;    // nodes between a product and what is made of it

// Grows one region of products.
class Epilogue {
 public:
  Epilogue(Clusters& clusters, ClusterId product)
      : clusters_(clusters), source_(clusters.source()), product_(product) {}

  void grow() {
    while (absorb_columns() || absorb_all_users() || absorb_cones()) {
    }
  }

  // The products that this one is only added to become part of it.
  void add_up() {
    for (Value result : clusters_.results(clusters_.nodes(product_))) {
      if (source_.leaves(result)) return;
      std::set<ClusterId> into;
      for (uint32_t user : source_.users(result)) into.insert(clusters_.of(user));
      into.erase(product_);
      if (into.size() != 1 || *into.begin() == kNoCluster) continue;
      if (!clusters_.has_matmul(*into.begin())) continue;
      if (!clusters_.join({*into.begin(), product_})) return;
    }
  }

 private:
  const Graph& graph() const { return source_.graph(); }

  bool is_alone(uint32_t node) const {
    const ClusterId id = clusters_.of(node);
    return id != kNoCluster && clusters_.nodes(id).size() == 1 && graph()[node].op != Op::matmul;
  }

  // Has to be in memory whatever is fused: a product or a scatter reads it, or it leaves.
  bool must_be_stored(uint32_t node) const {
    if (source_.leaves({node, 0})) return true;
    return std::ranges::any_of(source_.users({node, 0}), [&](uint32_t user) {
      return clusters_.of(user) == kNoCluster || graph()[user].op == Op::matmul ||
             is_sink(graph()[user]);
    });
  }

  std::vector<ClusterId> with_product(const std::set<uint32_t>& nodes) const {
    std::vector<ClusterId> ids = {product_};
    for (uint32_t node : nodes) ids.push_back(clusters_.of(node));
    return ids;
  }

  std::set<uint32_t> outside_users(Value value) const {
    std::set<uint32_t> users;
    for (uint32_t user : source_.users(value)) {
      if (clusters_.of(user) != product_) users.insert(user);
    }
    return users;
  }

  bool absorb_columns() {
    for (Value result : clusters_.results(clusters_.nodes(product_))) {
      for (uint32_t user : outside_users(result)) {
        if (!is_reduction(graph()[user]) || !is_alone(user)) continue;
        if (!clusters_.join(with_product({user}))) return true;
      }
    }
    return false;
  }

  // If nobody else needs the result, and no more has to be stored in its place.
  bool absorb_all_users() {
    for (Value result : clusters_.results(clusters_.nodes(product_))) {
      const std::set<uint32_t> users = outside_users(result);
      if (source_.leaves(result) || users.empty()) continue;
      auto fits = [&](uint32_t user) { return is_alone(user) && may_follow(user); };
      if (!std::ranges::all_of(users, fits)) continue;
      double anyway = source_.bytes(result);
      double then = 0;
      for (uint32_t user : users) {
        const double bytes = source_.bytes({user, 0});
        const bool inside = std::ranges::all_of(
            source_.users({user, 0}), [&](uint32_t next) { return users.contains(next); });
        if (!inside || source_.leaves({user, 0})) then += bytes;
        if (must_be_stored(user)) anyway += bytes;
      }
      if (then <= anyway && !clusters_.join(with_product(users))) return true;
    }
    return false;
  }

  bool may_follow(uint32_t node) const {
    const Op op = graph()[node].op;
    return is_plain(graph()[node]) || op == Op::reshape || op == Op::transpose;
  }

  // Everything between the product and an elementwise value that has to be stored anyway.
  bool absorb_cones() {
    std::set<uint32_t> below;  // elementwise nodes that depend on the product alone
    for (Value result : clusters_.results(clusters_.nodes(product_))) {
      for (uint32_t user : outside_users(result)) collect(user, below);
    }
    for (uint32_t end : below) {
      if (!must_be_stored(end)) continue;
      std::set<uint32_t> cone = {end};
      for (auto it = below.rbegin(); it != below.rend(); ++it) {
        const std::vector<uint32_t>& users = source_.users({*it, 0});
        if (std::ranges::any_of(users, [&](uint32_t user) { return cone.contains(user); })) {
          cone.insert(*it);
        }
      }
      if (!clusters_.join(with_product(cone))) return true;
    }
    return false;
  }

  void collect(uint32_t node, std::set<uint32_t>& below) const {
    std::vector<uint32_t> open = {node};
    while (!open.empty() && below.size() < kMaxCone) {
      const uint32_t at = open.back();
      open.pop_back();
      if (!is_alone(at) || !may_follow(at) || !below.insert(at).second) continue;
      for (uint32_t user : source_.users({at, 0})) open.push_back(user);
    }
  }

  Clusters& clusters_;
  const FuseGraph& source_;
  const ClusterId product_;
};

template <class Visit>
void each_product(const Clusters& clusters, Visit&& visit) {
  for (ClusterId id = 0; id < clusters.size(); ++id) {
    if (clusters.exists(id) && clusters.has_matmul(id)) visit(id);
  }
}

}  // namespace

void join_products(Clusters& clusters) {
  std::map<Value, std::vector<ClusterId>> by_left;
  each_product(clusters, [&](ClusterId id) {
    const Value left = clusters.graph()[clusters.nodes(id)[0]].operands[0];
    std::vector<ClusterId>& groups = by_left[left];
    for (ClusterId group : groups) {
      if (clusters.nodes(group).size() < kMaxShared && !clusters.join({group, id})) return;
    }
    groups.push_back(id);
  });
}

void join_epilogues(Clusters& clusters) {
  each_product(clusters, [&](ClusterId id) { Epilogue(clusters, id).grow(); });
  each_product(clusters, [&](ClusterId id) { Epilogue(clusters, id).add_up(); });
  // A sum that was joined may go on where its parts could not.
  each_product(clusters, [&](ClusterId id) { Epilogue(clusters, id).grow(); });
}

}  // namespace weft
