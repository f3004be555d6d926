// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_trace.h"

#include <algorithm>

#include "ir/support/check.h"

namespace weft::lowering {

using tile::kNone;

namespace {

// A space is refined a few times at most; beyond that indices are divided.
constexpr int kMaxRuns = 64;

}  // namespace

Shape Region::canonical(Shape shape) const {
  for (Dim& dim : shape) dim = facts().canonical(dim);
  return shape;
}

Coordinates broadcast_from(const Shape& operand, const Shape& shape, const Coordinates& at) {
  Coordinates result;
  const size_t fresh = shape.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) {
    result.push_back(operand[i].is_constant(1) ? Index() : at[fresh + i]);
  }
  return result;
}

Index element_number(const Shape& shape, const Coordinates& at) {
  Index index;
  for (size_t i = 0; i < shape.size(); ++i) index = index * shape[i] + at[i];
  return index;
}

Tracer::Tracer(const Region& region, Space& space, std::string name)
    : region_(region), space_(space), b_(std::move(name)), known_(1) {
  const std::vector<Value>& inputs = region.body().inputs();
  for (uint32_t i = 0; i < inputs.size(); ++i) operand_of_[inputs[i].node] = i;
  b_.set_origin(region.node().origin);
}

ValueId Tracer::find(const Request& request) const {
  if (auto given = given_.find(request.value); given != given_.end()) return given->second;
  for (size_t i = known_.size(); i-- > 0;) {
    auto found = known_[i].values.find(request);
    if (found != known_[i].values.end()) return found->second;
  }
  return kNone;
}

ValueId Tracer::need(Value value, const Coordinates& at, ValueId where) {
  Request request{value, at, where};
  ValueId found = find(request);
  if (found == kNone) missing_.push_back(std::move(request));
  return found;
}

// Bodies may be long chains: an explicit stack instead of recursion.
ValueId Tracer::at(Value value, const Coordinates& at) {
  const Request wanted{value, at, kNone};
  std::vector<Request> stack = {wanted};
  while (!stack.empty()) {
    const Request request = stack.back();
    if (find(request) != kNone) {
      stack.pop_back();
      continue;
    }
    missing_.clear();
    ValueId made = emit(request);
    if (made == kNone) {
      WEFT_CHECK(!missing_.empty(), "a value that is not made yet needs another one");
      stack.insert(stack.end(), missing_.rbegin(), missing_.rend());
      continue;
    }
    known_.back().values[request] = made;
    stack.pop_back();
  }
  return find(wanted);
}

ValueId Tracer::emit(const Request& request) {
  const Node& node = region_.body().node(request.value);
  if (info(node.op).has(kElementwise)) return emit_elementwise(node, request);
  if (info(node.op).has(kView)) return emit_view(node, request);
  if (info(node.op).has(kReduction)) {
    WEFT_CHECK(reduce != nullptr, "a region without rows has no reductions");
    return reduce(request);
  }
  switch (node.op) {
    case Op::input: return emit_input(operand_of_.at(request.value.node), request);
    case Op::constant: return emit_constant(node, request);
    case Op::iota:
      return coord(request.at[static_cast<size_t>(node.attrs.integer("axis"))],
                   node.types[0].dtype);
    case Op::random_bits: return emit_random(node, request);
    case Op::concat: return emit_concat(node, request);
    case Op::pad: return emit_pad(node, request);
    case Op::gather: return emit_gather(node, request);
    case Op::take_along_axis: return emit_take_along(node, request);
    case Op::dynamic_slice: return emit_dynamic_slice(node, request);
    default: WEFT_CHECK(false, "no pointwise op: " + std::string(name(node.op)));
  }
  return kNone;
}

ValueId Tracer::emit_elementwise(const Node& node, const Request& request) {
  const Shape shape = region_.shape(request.value);
  std::vector<ValueId> operands;
  for (Value operand : node.operands) {
    const Coordinates from = broadcast_from(region_.shape(operand), shape, request.at);
    operands.push_back(need(operand, from, request.where));
  }
  if (!missing_.empty()) return kNone;
  if (node.op == Op::cast) {
    const DType to = node.types[0].dtype;
    return b_.dtype(operands[0]) == to ? b_.rounded(operands[0]) : b_.cast(operands[0], to);
  }
  return b_.map(node.op, std::move(operands));
}

tile::BufferId Tracer::buffer(const LoweredRegion::Bound& bound, tile::Buffer::Mode mode,
                              const std::string& name, DType dtype, const Access& access) {
  for (tile::BufferId id = 0; id < buffers_.size(); ++id) {
    const tile::Buffer& known = b_.buffer(id);
    if (buffers_[id].kind == bound.kind && buffers_[id].index == bound.index &&
        known.dims == access.dims && known.strides == access.strides) {
      return id;
    }
  }
  buffers_.push_back(bound);
  const Type type{dtype, access.dims};
  switch (mode) {
    case tile::Buffer::in: return b_.in(name, type, access.strides);
    case tile::Buffer::out: return b_.out(name, type, access.strides);
    case tile::Buffer::inout: return b_.inout(name, type, access.strides);
  }
  return kNone;
}

ValueId Tracer::emit_input(uint32_t operand, const Request& request) {
  Access access{region_.shape(request.value), region_.operands[operand].strides, request.at};
  access = simplified(access);
  space_.saw(access);
  access = space_.real(b_.program(), access);
  // Views of one thing are one buffer, and the same element is loaded once.
  const View& view = region_.operands[operand];
  auto same = [&](const View& v) { return v.base == view.base && v.offset == view.offset; };
  const auto first = std::ranges::find_if(region_.operands, same) - region_.operands.begin();
  const Value input = region_.body().inputs()[static_cast<size_t>(first)];
  const tile::BufferId id =
      buffer({LoweredRegion::Bound::operand, static_cast<uint32_t>(first)}, tile::Buffer::in,
             region_.body().input_name(input), region_.dtype(request.value), access);
  const Load key{id, access.at, request.where};
  for (const Known& known : known_) {
    if (auto found = known.loads.find(key); found != known.loads.end()) return found->second;
  }
  return known_.back().loads[key] = request.where == kNone
                                        ? b_.load(id, std::move(access.at))
                                        : b_.load(id, std::move(access.at), request.where);
}

Tracer::Target Tracer::target(uint32_t result, const Coordinates& at, bool inout) {
  const Value value = region_.body().outputs[result].value;
  const Shape shape = region_.shape(value);
  Access access = simplified({shape, row_major_strides(shape), at});
  space_.saw(access);
  access = space_.real(b_.program(), access);
  const std::vector<std::string>& names = region_.node().names;
  std::string name = result < names.size() ? names[result] : "";
  if (name.empty()) name = region_.body().node(value).names[value.result];
  if (name.empty()) name = "out";
  const tile::BufferId id =
      buffer({LoweredRegion::Bound::result, result},
             inout ? tile::Buffer::inout : tile::Buffer::out, name, region_.dtype(value), access);
  return {id, std::move(access.at)};
}

void Tracer::store(uint32_t result, const Coordinates& at, ValueId value) {
  Target to = target(result, at);
  b_.store(to.buffer, std::move(to.at), value);
}

ValueId Tracer::coord(const Index& index, DType dtype) {
  space_.saw(index);
  const std::pair key(index, dtype);
  for (const Known& known : known_) {
    if (auto found = known.coords.find(key); found != known.coords.end()) return found->second;
  }
  return known_.back().coords[key] = b_.coord(real(index), dtype);
}

ValueId Tracer::number(const Numbers& numbers, size_t i, DType dtype) {
  if (numbers.real()) return b_.constant(std::get<0>(numbers.values)[i], dtype);
  const int64_t value = std::get<1>(numbers.values)[i];
  return is_float(dtype) ? b_.constant(static_cast<double>(value), dtype)
                         : b_.integer(value, dtype);
}

// Several numbers become a search for the element's number: there are few of them.
ValueId Tracer::emit_constant(const Node& node, const Request& request) {
  const Numbers& numbers = node.attrs.numbers("value");
  const DType dtype = node.types[0].dtype;
  if (numbers.size() == 1) return number(numbers, 0, dtype);
  const Index element = element_number(region_.shape(request.value), request.at);
  std::function<ValueId(size_t, size_t)> among = [&](size_t first, size_t last) {
    if (last - first == 1) return number(numbers, first, dtype);
    const size_t middle = (first + last) / 2;
    const Dim limit(static_cast<int64_t>(middle));
    const ValueId below = among(first, middle);
    const ValueId above = among(middle, last);
    return b_.map(Op::select, {compare(Op::lt, element, limit), below, above});
  };
  if (numbers.size() == 0) return b_.constant(0, dtype);  // of an empty shape: never asked for
  return among(0, numbers.size());
}

ValueId Tracer::emit_random(const Node& node, const Request& request) {
  const ValueId seed = need(node.operands[0], {Index(0)});
  const ValueId step = need(node.operands[0], {Index(1)});
  if (!missing_.empty()) return kNone;
  const Shape shape = region_.shape(request.value);
  Index element = element_number(shape, request.at);
  const Dim count = element_count(shape);
  // Where the value does not matter, its coordinates may lie outside.
  if (request.where != kNone && !count.is_constant(0)) {
    element = tile::mod(space_.fine_axes(), element, count);
  }
  space_.saw(element);
  return b_.random(seed, step, node.attrs.integer("stream"), real(element));
}

std::vector<ValueId> Tracer::begin_loop(AxisId axis, std::vector<tile::Carry> carries) {
  known_.emplace_back();
  return b_.begin_loop(axis, std::move(carries));
}

std::vector<ValueId> Tracer::end_loop(std::vector<ValueId> yields) {
  known_.pop_back();
  return b_.end_loop(std::move(yields));
}

bool Tracer::depends(ValueId value, AxisId axis) const {
  const tile::Program& program = b_.program();
  std::vector<ValueId> stack = {value};
  std::vector<bool> seen(program.values.size(), false);
  while (!stack.empty()) {
    const tile::Value& next = program.values[stack.back()];
    stack.pop_back();
    if (tile::uses_axis(next.index, axis)) return true;
    for (const Index& index : next.ref.at) {
      if (tile::uses_axis(index, axis)) return true;
    }
    tile::for_each_use(next, [&](ValueId used) {
      if (!seen[used]) stack.push_back(used);
      seen[used] = true;
    });
  }
  return false;
}

ValueId Tracer::with_axes(ValueId value, const std::vector<AxisId>& axes) {
  for (AxisId axis : axes) {
    if (b_.program().is_scalar(axis) || std::ranges::count(b_.axes(value), axis) > 0) continue;
    const ValueId exists =
        b_.map(Op::le, {b_.coord(0, DType::i32), b_.coord(tile::axis_index(axis), DType::i32)});
    value = b_.map(Op::select, {exists, value, value});
  }
  return value;
}

ValueId Tracer::reduce_over(tile::Reduce reduction, ValueId value,
                            const std::vector<AxisId>& axes) {
  std::vector<AxisId> reduced;
  for (AxisId axis : axes) {
    if (!b_.program().is_scalar(axis)) reduced.push_back(axis);
  }
  if (reduced.empty()) return value;
  return b_.reduce(reduction, with_axes(value, reduced), reduced);
}

Traced Tracer::finish() { return {b_.finish(), std::move(buffers_)}; }

Traced trace_program(const Region& region, const std::string& name,
                     const std::function<void(Tracer&)>& trace) {
  Space space(region.facts());
  for (int run = 0;; ++run) {
    space.begin();
    Tracer tracer(region, space, name);
    trace(tracer);
    if (run == kMaxRuns || !space.refine()) return tracer.finish();
  }
}

}  // namespace weft::lowering
