// Clusters of nodes on their way to become regions. Part of `fuse`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "passes/regions.h"

namespace weft {

using ClusterId = uint32_t;
inline constexpr ClusterId kNoCluster = UINT32_MAX;

// What fusion knows of a graph before it begins. A node is either *light*, then nobody stores it:
// whoever reads it computes it again (constants, counted numbers, random bits, masks made of these)
// or reads its operand through strides (views); or it belongs to a cluster, or it stays *outside*
// regions (inputs, parameters, nodes with a body, packs, composites).
class FuseGraph {
 public:
  FuseGraph(const Module& module, const Graph& graph);

  const Graph& graph() const { return graph_; }
  const DimFacts& facts() const { return facts_; }
  bool is_light(uint32_t node) const { return light_[node]; }
  bool is_outside(uint32_t node) const { return outside_[node]; }
  bool is_clustered(uint32_t node) const { return !light_[node] && !outside_[node] && live_[node]; }
  bool is_live(uint32_t node) const { return live_[node]; }
  // Nodes that are not light and read the value, perhaps through light ones; ascending.
  const std::vector<uint32_t>& users(Value value) const { return users_[value.node][value.result]; }
  // Returned or stored by the graph, perhaps through views.
  bool leaves(Value value) const { return leaves_[value.node][value.result]; }
  // What a node reads, light nodes passed: values of other nodes, inputs and parameters; sorted.
  const std::vector<Value>& reads(uint32_t node) const { return reads_[node]; }
  // The size of a value when every symbol has a middling size.
  double bytes(Value value) const;

 private:
  void find_live();
  void find_outside();
  void find_light();
  void keep_what_leaves();
  void link();
  bool can_be_light(uint32_t node, size_t work) const;
  void keep(Value value);

  const Graph& graph_;
  const DimFacts& facts_;
  DimBinding middling_;
  std::vector<bool> live_, light_, outside_;
  std::vector<size_t> work_;  // ops that computing a light node takes
  std::vector<std::vector<std::vector<uint32_t>>> users_;
  std::vector<std::vector<bool>> leaves_;
  std::vector<std::vector<Value>> reads_;
};

// A partition of the clustered nodes. At the beginning each node is a cluster.
class Clusters {
 public:
  explicit Clusters(const FuseGraph& source);

  const FuseGraph& source() const { return source_; }
  const Graph& graph() const { return source_.graph(); }
  size_t size() const { return nodes_.size(); }
  bool exists(ClusterId id) const { return !nodes_[id].empty(); }
  const std::vector<uint32_t>& nodes(ClusterId id) const { return nodes_[id]; }  // ascending
  ClusterId of(uint32_t node) const { return of_[node]; }  // kNoCluster for the others
  const RegionForm& form(ClusterId id) const { return forms_[id]; }
  bool has_matmul(ClusterId id) const;

  // Values of the nodes that somebody else reads or that leave the graph.
  std::vector<Value> results(const std::vector<uint32_t>& nodes) const;
  std::vector<ClusterId> producers(ClusterId id) const;
  std::vector<ClusterId> consumers(ClusterId id) const;
  double stored_bytes(const std::vector<uint32_t>& nodes) const;
  // How many bytes less are stored if these become one.
  double gain(const std::vector<ClusterId>& ids) const;

  // Makes them one, or says why they cannot be.
  std::optional<Refusal> join(const std::vector<ClusterId>& ids);
  // The same without doing it.
  std::optional<Refusal> refusal(const std::vector<ClusterId>& ids) const;
  // What the nodes make as a region that returns `results`; their light operands belong to it.
  FormOrRefusal form_of(const std::vector<uint32_t>& nodes,
                        const std::vector<Value>& results) const;

 private:
  FormOrRefusal check(const std::vector<ClusterId>& ids) const;
  std::optional<Refusal> find_cycle(const std::vector<ClusterId>& ids) const;
  std::vector<uint32_t> united(const std::vector<ClusterId>& ids) const;

  const FuseGraph& source_;
  std::vector<std::vector<uint32_t>> nodes_;
  std::vector<RegionForm> forms_;
  std::vector<ClusterId> of_;
};

}  // namespace weft
