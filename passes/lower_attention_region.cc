// A region of kind `attention`: its op as the programs of lower_attention.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "ir/graph/attention.h"
#include "ir/support/check.h"
#include "passes/fuse_attention.h"
#include "passes/lower_attention.h"
#include "passes/lower_kinds.h"

namespace weft::lowering {
namespace {

using Bound = LoweredRegion::Bound;
using enum AttentionRole;

constexpr int64_t kLongCache = 2048;  // keys, from which on one query is worth several programs
constexpr int64_t kKeysOfPart = 1024;

// What the buffers of the programs stand for, besides workspaces.
using Bounds = std::map<AttentionRole, Bound>;

class AttentionRegion {
 public:
  explicit AttentionRegion(const Region& region)
      : region_(region), node_(*fused_attention(region.node())) {
    const auto index = static_cast<uint32_t>(&node_ - region.body().nodes().data());
    const bool forward = node_.op == Op::attention;
    const Value rows = forward ? Value{index, 1} : node_.operands[3];
    made_.lead = region.shape(rows);
    made_.queries = made_.lead.back();
    made_.lead.pop_back();
    const Shape keys = region.shape(node_.operands[1]);
    made_.keys = keys[keys.size() - 2];
    made_.depth = region.shape(node_.operands[0]).back();
    made_.width = region.shape(node_.operands[2]).back();
    read_attributes();
    made_.q = operand(q, 0, {made_.queries, made_.depth});
    made_.k = operand(k, 1, {made_.keys, made_.depth});
    made_.v = operand(v, 2, {made_.keys, made_.width});
    read_extras();
    if (forward) {
      made_.out = result(out, index, 0, {made_.queries, made_.width});
      made_.lse = result(lse, index, 1, {made_.queries});
      made_.wants_lse = bounds_.contains(lse);
      return;
    }
    made_.lse = operand(lse, 3, {made_.queries});
    made_.delta = operand(delta, 4, {made_.queries});
    made_.d_out = operand(d_out, 5, {made_.queries, made_.width});
    made_.dq = result(dq, index, 0, {made_.queries, made_.depth});
    made_.dk = result(dk, index, 1, {made_.keys, made_.depth});
    made_.dv = result(dv, index, 2, {made_.keys, made_.width});
    made_.wants_dbias = made_.bias && is_returned({index, 3});
    if (made_.wants_dbias) made_.dbias = result(dbias, index, 3, {made_.queries, made_.keys});
  }

  const Attention& attention() const { return made_; }
  const Bounds& bounds() const { return bounds_; }

 private:
  void read_attributes() {
    made_.scale = node_.attrs.real("scale");
    made_.fill = node_.attrs.real("fill");
    if (auto limit = window_limit(node_.attrs, "before")) made_.before = *limit;
    if (auto limit = window_limit(node_.attrs, "after")) made_.after = *limit;
    made_.stream = node_.attrs.integer("stream");
  }

  void read_extras() {
    const AttentionExtras extras = attention_extras(region_.body(), node_.op, node_.operands);
    if (extras.bias) made_.bias = operand(bias, *extras.bias, {made_.queries, made_.keys});
    if (extras.mask) made_.mask = operand(mask, *extras.mask, {made_.queries, made_.keys});
    if (extras.lengths) made_.lengths = operand(lengths, *extras.lengths, {});
    if (!extras.rng) return;
    operand(rng, *extras.rng, {});
    made_.dropout = node_.attrs.real("rate");
  }

  // Sizes are those of the scores, or 1 where the tensor repeats.
  AttentionTensor described(DType dtype, const Shape& shape, const std::vector<Dim>& strides,
                            const std::vector<Dim>& inner) const {
    Shape full = made_.lead;
    full.insert(full.end(), inner.begin(), inner.end());
    WEFT_CHECK(shape.size() <= full.size(), "an operand of attention has no more axes than scores");
    const size_t missing = full.size() - shape.size();
    AttentionTensor tensor{{dtype, full}, std::vector<Dim>(full.size(), 0)};
    for (size_t axis = 0; axis < full.size(); ++axis) {
      const bool repeats = axis < missing || shape[axis - missing].is_constant(1);
      if (repeats) tensor.type.shape[axis] = 1;
      if (axis >= missing) tensor.strides[axis] = strides[axis - missing];
    }
    return tensor;
  }

  AttentionTensor operand(AttentionRole role, size_t position, const std::vector<Dim>& inner) {
    const Value value = node_.operands[position];
    const std::vector<Value>& inputs = region_.body().inputs();
    const auto at = std::ranges::find(inputs, value) - inputs.begin();
    WEFT_CHECK(at < static_cast<std::ptrdiff_t>(inputs.size()),
               "attention reads operands as given");
    bounds_[role] = {Bound::operand, static_cast<uint32_t>(at)};
    if (role == rng) return {};
    return described(region_.dtype(value), region_.shape(value),
                     region_.operands[static_cast<size_t>(at)].strides, inner);
  }

  bool is_returned(Value value) const {
    return std::ranges::any_of(region_.body().outputs, [&](const Output& output) {
      return without_views(region_, output.value) == value;
    });
  }

  // A result, which may be stored with its axes in another order.
  AttentionTensor result(AttentionRole role, uint32_t node, uint32_t number,
                         const std::vector<Dim>& inner) {
    const std::vector<Output>& outputs = region_.body().outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const Value stored = outputs[i].value;
      if (without_views(region_, stored) != Value{node, number}) continue;
      bounds_[role] = {Bound::result, i};
      std::vector<Dim> strides = row_major_strides(region_.shape(stored));
      const Node& last = region_.body().node(stored);
      if (last.op == Op::transpose) {
        const std::vector<Dim> of_stored = strides;
        const std::vector<int64_t>& perm = last.attrs.ints("perm");
        for (size_t axis = 0; axis < perm.size(); ++axis) {
          strides[static_cast<size_t>(perm[axis])] = of_stored[axis];
        }
      }
      return described(region_.dtype(stored), region_.shape({node, number}), strides, inner);
    }
    return {};
  }

  const Region& region_;
  const Node& node_;
  Attention made_;
  Bounds bounds_;
};

AttentionKnobs choose_knobs(const Attention& attention, const Region& region, bool forward) {
  AttentionKnobs knobs;
  // Whole micro-tiles of six rows by two vectors: 4% against 64 x 64 at 2,048 keys. With vectors of
  // 64 bytes 48 columns are no whole micro-tile.
  if (region.device.vector_bytes <= 32) {
    knobs.block_queries = 48;
    knobs.block_keys = forward ? 96 : 48;
  }
  if (region.device.simt) {
    knobs.block_queries = region.device.attention_queries;
    knobs.block_keys = region.device.attention_keys;
  }
  Dim leads = 1;
  Dim owners = 1;  // of the serial form: leads of k
  for (size_t axis = 0; axis < attention.lead.size(); ++axis) {
    leads = leads * attention.lead[axis];
    owners = owners * attention.k.type.shape[axis];
  }
  // A single owner would leave all other threads without work.
  knobs.serial = !owners.is_constant(1) && !region.device.simt;
  const bool few = leads.is_constant() && leads.constant() < region.device.programs_wanted;
  const bool long_cache = region.facts().bounds_of(attention.keys).high > kLongCache;
  if (attention.queries.is_constant(1) && few && long_cache) knobs.split_keys = kKeysOfPart;
  return knobs;
}

}  // namespace

LoweredRegion lower_attention_region(const Region& region) {
  const AttentionRegion made(region);
  const Attention& attention = made.attention();
  const bool forward = fused_attention(region.node())->op == Op::attention;
  const AttentionKnobs knobs = choose_knobs(attention, region, forward);
  LoweredRegion lowered;
  std::map<AttentionRole, Bound> workspaces;
  auto bound = [&](AttentionRole role) {
    if (!is_workspace(role)) return made.bounds().at(role);
    auto [found, fresh] = workspaces.emplace(role, Bound{Bound::workspace, 0});
    if (!fresh) return found->second;
    found->second.index = static_cast<uint32_t>(lowered.workspaces.size());
    const Type type = attention_type(attention, role, knobs);
    lowered.workspaces.push_back({std::string(name(role)), type.dtype, element_count(type.shape)});
    return found->second;
  };
  for (AttentionProgram& part :
       forward ? lower_attention(attention, knobs) : lower_attention_backward(attention, knobs)) {
    part.program.origin = region.node().origin;
    std::vector<Bound> buffers;
    for (AttentionRole role : part.buffers) buffers.push_back(bound(role));
    lowered.buffers.push_back(std::move(buffers));
    lowered.programs.push_back(std::move(part.program));
  }
  return lowered;
}

}  // namespace weft::lowering
