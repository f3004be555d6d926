// @prefill: what @decode reads before its first token.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/rebuild.h"
#include "passes/decode_build.h"
#include "passes/decode_positions.h"

namespace weft::decoding {
namespace {

class PrefillBuilder {
 public:
  PrefillBuilder(Derivation& d, const DecodeRequest& request)
      : d_(d),
        scores_(request.scores),
        from_(d.graph),
        out_(kPrefill),
        b_(d.made.module, out_),
        mapped_(d.graph.nodes().size()) {}

  Status build() {
    if (d_.made.has_source) {
      copy_graph([&](uint32_t node) { return !d_.depends.on_tokens[node]; }, {});
      for (const Kept& kept : d_.memory) {
        out_.updates.push_back({kept.name, mapped(kept.value), {}});
      }
    } else {
      copy_graph([](uint32_t) { return true; }, {{d_.names.sentences, d_.names.rows()}});
      fill_caches();
      put_last_logits();
    }
    d_.made.module.graphs.push_back(rebuild(d_.made.module, out_));
    return ok();
  }

 private:
  Value mapped(Value value) const { return mapped_[value.node][value.result]; }

  template <class Wanted>
  void copy_graph(Wanted wanted, const std::map<std::string, Dim>& dims) {
    for (uint32_t i = 0; i < from_.nodes().size(); ++i) {
      if (wanted(i)) copy_node(i, dims);
    }
  }

  void copy_node(uint32_t index, const std::map<std::string, Dim>& dims) {
    const Node& node = from_[index];
    if (node.op == Op::param) {
      mapped_[index] = {out_.read_param(node.attrs.text("name"), node.types[0], node.loc)};
      return;
    }
    if (node.op == Op::input) {
      Type type = node.types[0];
      for (Dim& dim : type.shape) dim = dim.substitute(dims);
      mapped_[index] = {out_.add_input(node.attrs.text("name"), type, node.loc)};
      return;
    }
    Node copy = node;
    copy.attrs = with_dims(node.attrs, dims);
    for (Value& operand : copy.operands) operand = mapped(operand);
    const uint32_t made = b_.emit_node(std::move(copy));
    for (uint32_t r = 0; r < node.types.size(); ++r) mapped_[index].push_back({made, r});
  }

  // The prompt is the first of what the caches hold.
  void fill_caches() {
    b_.set_origin({"prompt"}, {});
    for (const Kept& kept : d_.caches) {
      const Storage& state = *d_.made.module.find_storage(kept.name);
      const Value old = out_.read_param(kept.name, state.type);
      const Value start = b_.scalar(0, DType::i32);
      const Value all = b_.update_slice({old, mapped(kept.value), start},
                                        {{"axis", static_cast<int64_t>(kept.axis)}});
      out_.updates.push_back({kept.name, all, {}});
    }
  }

  void put_last_logits() {
    const Value logits = last_position(mapped(from_.outputs[0].value));
    b_.set_origin({"lse"}, {});
    out_.outputs.push_back({from_.outputs[0].name, logits, {}});
    if (scores_) out_.outputs.push_back({"lse", b_.logsumexp({logits}), {}});
  }

  // A value at the last position of the prompt. Nobody wants the others: it is computed from its
  // operands at the last position, as far as that goes.
  Value last_position(Value value) {
    const Node node = out_.node(value);
    const std::optional<size_t> axis = axis_of(out_.type(value).shape, d_.names.length);
    if (!axis) return value;
    const bool row = node.op == Op::layer_norm || node.op == Op::rms_norm;
    const bool product = node.op == Op::matmul &&
                         count_axes_with(out_.type(node.operands[1]).shape, d_.names.length) == 0;
    if (!info(node.op).has(kElementwise) && !row && !product) return cut_last(value, *axis);
    b_.set_origin(node.origin, node.loc);
    Node copy = node;
    copy.names.clear();
    for (Value& operand : copy.operands) operand = last_position(operand);
    return {b_.emit_node(std::move(copy)), value.result};
  }

  Value cut_last(Value value, size_t axis) {
    const Shape shape = out_.type(value).shape;
    std::vector<Dim> starts(shape.size(), 0);
    starts[axis] = shape[axis] - Dim(1);
    return b_.slice({value}, {{"starts", starts}, {"limits", shape}});
  }

  Derivation& d_;
  const bool scores_;
  const Graph& from_;
  Graph out_;
  Emitter b_;
  std::vector<std::vector<Value>> mapped_;
};

}  // namespace

Status build_prefill(Derivation& d, const DecodeRequest& request) {
  return PrefillBuilder(d, request).build();
}

}  // namespace weft::decoding
