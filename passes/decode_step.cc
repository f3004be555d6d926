// SPDX-License-Identifier: Apache-2.0
#include "passes/decode_step.h"

#include <algorithm>

#include "ir/graph/live.h"
#include "ir/graph/rebuild.h"
#include "passes/decode_positions.h"

namespace weft::decoding {

Status StepBuilder::build() {
  const Type& tokens = from_.type(d_.names.tokens);
  mapped_[d_.names.tokens.node] = {
      out_.add_input(d_.made.tokens, {tokens.dtype, {d_.names.rows(), 1}})};
  position_ = out_.add_input("position", {DType::i32, {}});
  const std::vector<bool> live = live_nodes(from_);
  for (uint32_t i = 0; i < from_.nodes().size(); ++i) {
    const Node& node = from_[i];
    if (!live[i] || node.op == Op::input || d_.depends.source_only({i, 0})) continue;
    if (is_of_pairs(i)) continue;
    if (node.op == Op::param) {
      mapped_[i] = {out_.read_param(node.attrs.text("name"), node.types[0], node.loc)};
      continue;
    }
    b_.set_origin(node.origin, node.loc);
    WEFT_TRY(mapped_[i], node.op == Op::attention ? attend(node) : step(node));
  }
  put_outputs();
  d_.made.module.graphs.push_back(rebuild(d_.made.module, out_));
  return ok();
}

Error StepBuilder::refuse(const Node& node, const std::string& why) {
  return error(node.loc, "cannot decode a token at a time: ", call(node), " ", why)
      .hint("a position may depend on earlier ones by causal attention only");
}

void StepBuilder::put_outputs() {
  const Output& logits = from_.outputs[0];
  const Value value = mapped_[logits.value.node][logits.value.result];
  b_.set_origin({"lse"}, {});
  out_.outputs.push_back({logits.name, value, {}});
  if (request_.scores) out_.outputs.push_back({"lse", b_.logsumexp({value}), {}});
  if (attended_.empty()) return;
  Value sum = attended_[0];
  for (size_t i = 1; i < attended_.size(); ++i) sum = b_.add({sum, attended_[i]});
  const Value mean = b_.mul({sum, b_.like(1.0 / static_cast<double>(attended_.size()), sum)});
  const Shape shape = b_.shape(mean);  // [B, W, S]
  out_.outputs.push_back({"weights", b_.reshape_to(mean, {d_.names.rows(), shape[2]}), {}});
}

std::string StepBuilder::unused_name(const std::string& wanted) const {
  std::string name = wanted;
  for (int n = 1; d_.made.module.find_storage(name) != nullptr; ++n) name = cat(wanted, ".", n);
  return name;
}

std::string StepBuilder::name_for(const std::string& prefix, const Node& user,
                                  const std::string& part) {
  const std::string origin = user.origin.empty() ? "" : user.origin[0] + ".";
  return unused_name(prefix + origin + part);
}

// What @prefill leaves of a value that depends on the source only: [B, ..].
Result<Value> StepBuilder::remembered(Value value, const Node& user, const std::string& part) {
  auto known = std::ranges::find(d_.memory, value, &Kept::value);
  const Type& type = from_.type(value);
  if (known != d_.memory.end()) return out_.read_param(known->name, type);
  if (type.rank() == 0 || type.shape[0] != Dim::symbol(d_.names.sentences) ||
      count_axes_with(type.shape, d_.names.sentences) != 1) {
    return refuse(user, cat("reads ", type, ", whose first axis is not that of sentences"));
  }
  const std::string name = name_for("memory.", user, part);
  d_.made.module.storage.push_back({Storage::state, name, type, {Init::zeros}, {}});
  d_.memory.push_back({name, value, 0});
  d_.made.memory.push_back({name, 0});
  return out_.read_param(name, type);
}

// The same for each row.
Result<Value> StepBuilder::for_rows(Value value, const Node& user) {
  WEFT_TRY(Value kept, remembered(value, user, "memory"));
  Shape shape = b_.shape(kept);
  shape.insert(shape.begin() + 1, 1);
  const Value apart = b_.reshape_to(kept, shape);
  shape[1] = d_.names.beams;
  const Value repeated = b_.broadcast_to(apart, shape);
  shape.erase(shape.begin());
  shape[0] = d_.names.rows();
  return b_.reshape_to(repeated, shape);
}

Result<Value> StepBuilder::operand(Value value, const Node& user) {
  if (d_.depends.source_only(value)) return for_rows(value, user);
  if (mapped_[value.node].empty()) {
    return refuse(user, cat("reads ", call(from_.node(value)), ", of each pair of positions"));
  }
  return mapped_[value.node][value.result];
}

// All positions so far of a value of which this step has one: written to its state, and read
// from there.
Value StepBuilder::cached(Value value, size_t axis, const Node& user, const std::string& part) {
  const Value fresh = mapped_[value.node][value.result];
  auto known = std::ranges::find(d_.caches, value, &Kept::value);
  if (known != d_.caches.end()) return cache_values_.at(known->name);
  Type type = b_.type(fresh);
  type.shape[axis] = Dim::symbol(d_.names.capacity);
  const std::string name = name_for("cache.", user, part);
  d_.made.module.storage.push_back({Storage::state, name, type, {Init::zeros}, {}});
  d_.caches.push_back({name, value, axis});
  d_.made.caches.push_back({name, axis});
  const Value old = out_.read_param(name, type);
  const Value all =
      b_.update_slice({old, fresh, position_}, {{"axis", static_cast<int64_t>(axis)}});
  out_.updates.push_back({name, all, {}});
  cache_values_[name] = all;
  return all;
}

Result<Values> StepBuilder::step(const Node& node) {
  if (auto why = mixes_positions(from_, node, d_.names.length)) return refuse(node, *why);
  if (node.op == Op::iota) return counted(node);
  if (node.op == Op::slice) return sliced(node);
  Values operands;
  for (Value value : node.operands) {
    WEFT_TRY(Value mapped, operand(value, node));
    operands.push_back(mapped);
  }
  return copied(node, std::move(operands));
}

Values StepBuilder::copied(const Node& node, Values operands) {
  Node copy = node;
  copy.operands = std::move(operands);
  copy.attrs = with_dims(node.attrs, one_position_);
  const uint32_t made = b_.emit_node(std::move(copy));
  Values results;
  for (uint32_t r = 0; r < node.types.size(); ++r) results.push_back({made, r});
  return results;
}

// Positions count from 0; here there is one, at `position`.
Result<Values> StepBuilder::counted(const Node& node) {
  const Dim& along = node.types[0].shape[static_cast<size_t>(node.attrs.integer("axis"))];
  Values zero = copied(node, {});
  if (!mentions(along, d_.names.length)) return zero;
  if (along != Dim::symbol(d_.names.length)) return refuse(node, cat("counts along ", along));
  return Values{b_.add({zero[0], b_.cast_to(position_, node.types[0].dtype)})};
}

// The first T rows of a table: here the one at `position`.
Result<Values> StepBuilder::sliced(const Node& node) {
  Attrs attrs = node.attrs;
  std::vector<Dim> starts = attrs.dims("starts");
  std::vector<Dim> limits = attrs.dims("limits");
  const std::vector<int64_t>& strides = attrs.ints("strides");
  const Shape& shape = from_.type(node.operands[0]).shape;
  WEFT_TRY(Value value, operand(node.operands[0], node));
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool moves = mentions(starts[i], d_.names.length) || mentions(limits[i], d_.names.length);
    if (mentions(shape[i], d_.names.length) || !moves) continue;
    const bool plain = starts[i].is_constant() && (strides.empty() || strides[i] == 1) &&
                       limits[i] - starts[i] == Dim::symbol(d_.names.length);
    if (!plain) return refuse(node, cat("takes elements ", starts[i], " to ", limits[i]));
    const Value at =
        b_.add({position_, b_.like(static_cast<double>(starts[i].constant()), position_)});
    value = b_.dynamic_slice({value, at}, {{"axis", static_cast<int64_t>(i)}, {"size", Dim(1)}});
    starts[i] = 0;
    limits[i] = 1;
  }
  attrs.set("starts", std::move(starts));
  attrs.set("limits", std::move(limits));
  return Values{b_.slice({value}, with_dims(attrs, one_position_))};
}

Status build_decode(Derivation& d, const DecodeRequest& request) {
  return StepBuilder(d, request).build();
}

}  // namespace weft::decoding
