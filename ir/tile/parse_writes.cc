// The parser of Tile programs: statements that write to buffers.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/parse_kernel.h"

namespace weft::tile {

// '{' 'where' predicate, up to what comes behind it.
bool KernelParser::where(ValueId& predicate) {
  if (!in_.expect("{") || !in_.expect("where")) return false;
  std::optional<Expr> expr = expression();
  if (!expr) return false;
  std::optional<ValueId> id = value_of(*expr, std::nullopt);
  if (!id) return false;
  predicate = *id;
  return true;
}

std::optional<ValueId> KernelParser::written_value(const Ref& ref) {
  std::optional<Expr> expr = expression();
  if (!expr) return std::nullopt;
  return value_of(*expr, program_.buffers[ref.buffer].dtype);
}

bool KernelParser::write(Block& into, Stmt::Kind kind) {
  Stmt made;
  made.kind = kind;
  std::optional<Ref> to = ref();
  if (!to) return false;
  made.ref = *std::move(to);
  if (in_.at("{") && (!where(made.where) || !in_.expect("}"))) return false;
  if (kind == Stmt::store) {
    if (!in_.expect(",")) return false;
  } else {
    made.adds = in_.take_if("+") || kind == Stmt::update;
    if (!in_.expect("=")) return false;
  }
  std::optional<ValueId> value = written_value(made.ref);
  if (!value) return false;
  made.value = *value;
  if (kind == Stmt::store && in_.take_if("{")) {
    if (!in_.expect("stream") || !in_.expect("}")) return false;
    made.stream = true;
  }
  if (kind == Stmt::scatter) {
    if (!in_.expect("order")) return false;
    std::optional<AxisId> axis = axis_name();
    if (!axis) return false;
    made.axis = *axis;
  }
  into.push_back(std::move(made));
  return true;
}

bool KernelParser::accumulate(Block& into) {
  Token word = in_.take();
  std::optional<Reduce> reduction = parse_reduce(word.text.substr(word.text.find('.') + 1));
  if (!reduction) {
    in_.fail(error(in_.loc(word.place), "unknown reduction ", shown(word.text))
                 .hint("write accumulate.add, mul, max, min, and or or"));
    return false;
  }
  Stmt made;
  made.kind = Stmt::accumulate;
  made.reduction = *reduction;
  std::optional<Ref> to = ref();
  if (!to || !in_.expect(",")) return false;
  made.ref = *std::move(to);
  std::optional<ValueId> value = written_value(made.ref);
  if (!value || !in_.expect("over")) return false;
  std::optional<AxisId> axis = axis_name();
  if (!axis) return false;
  made.value = *value;
  made.axis = *axis;
  into.push_back(std::move(made));
  return true;
}

}  // namespace weft::tile
