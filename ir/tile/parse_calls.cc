// The parser of Tile programs: what is called by name in an expression.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/text/names.h"
#include "ir/tile/parse_kernel.h"

namespace weft::tile {

std::optional<KernelParser::Expr> KernelParser::load() {
  Place place = in_.peek().place;
  std::optional<Ref> from = ref();
  if (!from) return std::nullopt;
  Value made;
  made.kind = Value::load;
  made.dtype = program_.buffers[from->buffer].dtype;
  made.axes = axes_of(program_, *from);
  made.ref = *std::move(from);
  if (in_.at("{") && in_.look_ahead().next().is("where")) {  // it may also open a block
    if (!where(made.where) || !in_.expect(",") || !in_.expect("fill")) return std::nullopt;
    Place number_place = in_.peek().place;
    if (made.dtype == DType::boolean && (in_.at("true") || in_.at("false"))) {
      made.integer = in_.take().is("true") ? 1 : 0;
    } else {
      std::optional<Number> fill = parse_number(in_);
      if (!fill || !set_number(made, *fill, number_place)) return std::nullopt;
    }
    if (!in_.expect("}")) return std::nullopt;
    made.axes = unite(made.axes, program_.values[made.where].axes);
  }
  return added(std::move(made), place);
}

std::optional<KernelParser::Expr> KernelParser::coord(std::string_view dtype) {
  Place place = in_.peek().place;
  Value made;
  made.kind = Value::coord;
  std::optional<DType> type = weft::parse_dtype(dtype);
  if (!type) {
    in_.fail(error(in_.loc(place), "unknown element type '", shown(dtype), "'")
                 .hint(did_you_mean(dtype, dtype_names())));
    return std::nullopt;
  }
  made.dtype = *type;
  if (!in_.expect("(")) return std::nullopt;
  std::optional<Index> at = index();
  if (!at) return std::nullopt;
  if (in_.take_if("below")) {
    made.limit = parse_dim(in_);
    if (!made.limit) return std::nullopt;
  }
  if (!in_.expect(")")) return std::nullopt;
  made.axes = axes_of(program_, *at);
  made.index = *std::move(at);
  return added(std::move(made), place);
}

std::optional<KernelParser::Expr> KernelParser::cast(std::string_view dtype, const Token& name) {
  std::optional<DType> type = weft::parse_dtype(dtype);
  if (!type) {
    in_.fail(error(in_.loc(name.place), "unknown element type '", shown(dtype), "'")
                 .hint("write cast.f32(x)"));
    return std::nullopt;
  }
  std::optional<std::vector<Expr>> operands = arguments();
  if (!operands) return std::nullopt;
  std::optional<std::vector<ValueId>> ids = values_of(*operands);
  if (!ids) return std::nullopt;
  Value made;
  made.kind = Value::map;
  made.op = Op::cast;
  made.dtype = *type;
  for (ValueId id : *ids) made.axes = unite(made.axes, program_.values[id].axes);
  made.operands = *std::move(ids);
  return added(std::move(made), name.place);
}

std::optional<std::vector<AxisId>> KernelParser::axis_list() {
  if (!in_.expect("[")) return std::nullopt;
  std::vector<AxisId> axes;
  while (!in_.at("]")) {
    if (!axes.empty() && !in_.expect(",")) return std::nullopt;
    std::optional<AxisId> axis = axis_name();
    if (!axis) return std::nullopt;
    axes = unite(axes, {*axis});
  }
  in_.take();
  return axes;
}

std::optional<KernelParser::Expr> KernelParser::reduce(std::string_view kind, const Token& name) {
  std::optional<Reduce> reduction = parse_reduce(kind);
  if (!reduction) {
    in_.fail(error(in_.loc(name.place), "unknown reduction '", shown(kind), "'")
                 .hint("write reduce.add, mul, max, min, and, or or argmax"));
    return std::nullopt;
  }
  std::optional<std::vector<AxisId>> axes = axis_list();
  if (!axes) return std::nullopt;
  std::optional<std::vector<Expr>> operands = arguments();
  if (!operands) return std::nullopt;
  std::optional<std::vector<ValueId>> ids = values_of(*operands);
  if (!ids) return std::nullopt;
  Value made;
  made.kind = Value::reduce;
  made.reduction = *reduction;
  if (!ids->empty()) {
    const Value& operand = program_.values[ids->front()];
    made.dtype = *reduction == Reduce::argmax ? DType::i32 : operand.dtype;
    std::ranges::set_difference(operand.axes, *axes, std::back_inserter(made.axes));
  }
  made.axes_reduced = *std::move(axes);
  made.operands = *std::move(ids);
  return added(std::move(made), name.place);
}

std::optional<KernelParser::Expr> KernelParser::dot() {
  Place place = in_.peek().place;
  std::optional<std::vector<AxisId>> axes = axis_list();
  if (!axes) return std::nullopt;
  std::optional<std::vector<Expr>> operands = arguments();
  if (!operands) return std::nullopt;
  std::optional<std::vector<ValueId>> ids = values_of(*operands);
  if (!ids) return std::nullopt;
  Value made;
  made.kind = Value::dot;
  if (ids->size() >= 2) {
    const Value& a = program_.values[(*ids)[0]];
    made.dtype = a.dtype;
    std::vector<AxisId> both = unite(a.axes, program_.values[(*ids)[1]].axes);
    std::ranges::set_difference(both, *axes, std::back_inserter(made.axes));
  }
  made.axes_reduced = *std::move(axes);
  made.operands = *std::move(ids);
  return added(std::move(made), place);
}

std::optional<KernelParser::Expr> KernelParser::random() {
  Place place = in_.peek().place;
  if (!in_.expect("[")) return std::nullopt;
  std::optional<Dim> stream = parse_dim(in_);
  if (!stream || !in_.expect(",")) return std::nullopt;
  std::optional<Index> element = index();
  if (!element || !in_.expect("]")) return std::nullopt;
  std::optional<std::vector<Expr>> operands = arguments();
  if (!operands) return std::nullopt;
  Value made;
  made.kind = Value::random;
  made.dtype = DType::u32;
  made.stream = *std::move(stream);
  for (const Expr& operand : *operands) {
    std::optional<ValueId> id = value_of(operand, DType::u32);
    if (!id) return std::nullopt;
    made.operands.push_back(*id);
  }
  made.axes = axes_of(program_, *element);
  made.index = *std::move(element);
  return added(std::move(made), place);
}

std::optional<KernelParser::Expr> KernelParser::typed_number(DType dtype) {
  if (!in_.expect("(")) return std::nullopt;
  Place place = in_.peek().place;
  std::optional<Number> number = parse_number(in_);
  Value value;
  value.dtype = dtype;
  if (!number || !set_number(value, *number, place) || !in_.expect(")")) return std::nullopt;
  return added(std::move(value), place);
}

std::optional<std::vector<KernelParser::Expr>> KernelParser::arguments() {
  if (!in_.expect("(")) return std::nullopt;
  std::vector<Expr> list;
  while (!in_.at(")")) {
    if (!list.empty() && !in_.expect(",")) return std::nullopt;
    if (!in_.room_for(kMaxNesting, list.size(), "operands")) return std::nullopt;
    std::optional<Expr> next = expression();
    if (!next) return std::nullopt;
    list.push_back(*next);
  }
  in_.take();
  return list;
}

}  // namespace weft::tile
