// Builder: blocks and the whole program.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/check.h"
#include "ir/tile/build.h"

namespace weft::tile {

std::vector<ValueId> Builder::begin_loop(AxisId axis, std::vector<Carry> carries, LoopRange range) {
  Stmt loop;
  loop.kind = Stmt::loop;
  loop.axis = axis;
  loop.from = std::move(range.from);
  loop.to = std::move(range.to);
  for (Carry& carry : carries) {
    std::ranges::sort(carry.axes);
    WEFT_CHECK(std::ranges::includes(carry.axes, axes(carry.init)),
               "an initial value within the axes of what is carried");
    loop.init.push_back(carry.init);
    loop.carried.push_back(add_bare({.kind = Value::carried,
                                     .dtype = dtype(carry.init),
                                     .axes = carry.axes,
                                     .name = std::move(carry.name)}));
  }
  std::vector<ValueId> carried = loop.carried;
  open_loops_.push_back(std::move(loop));
  blocks_.emplace_back();
  return carried;
}

std::vector<ValueId> Builder::end_loop(std::vector<ValueId> yields) {
  WEFT_CHECK(!open_loops_.empty(), "end_loop() of a loop that was begun");
  Stmt loop = std::move(open_loops_.back());
  open_loops_.pop_back();
  WEFT_CHECK(yields.size() == loop.carried.size(), "a loop yields what it carries");
  for (size_t i = 0; i < yields.size(); ++i) {
    ValueId carried = loop.carried[i];
    WEFT_CHECK(dtype(yields[i]) == dtype(carried), "a loop yields the element type it carries");
    WEFT_CHECK(axes(yields[i]) == axes(carried), "a loop yields the axes it carries");
    loop.results.push_back(
        add_bare({.kind = Value::result, .dtype = dtype(carried), .axes = axes(carried)}));
  }
  loop.yields = std::move(yields);
  loop.body = std::move(blocks_.back());
  blocks_.pop_back();
  std::vector<ValueId> results = loop.results;
  blocks_.back().push_back(std::move(loop));
  return results;
}

std::vector<ValueId> Builder::loop(
    AxisId axis, std::vector<Carry> carries,
    const std::function<std::vector<ValueId>(std::span<const ValueId>)>& body, LoopRange range) {
  std::vector<ValueId> carried = begin_loop(axis, std::move(carries), std::move(range));
  return end_loop(body(carried));
}

void Builder::loop(AxisId axis, const std::function<void()>& body, LoopRange range) {
  begin_loop(axis, {}, std::move(range));
  body();
  end_loop();
}

void Builder::when(ValueId predicate, const std::function<void()>& body) {
  WEFT_CHECK(dtype(predicate) == DType::boolean, "a predicate is bool");
  Stmt stmt;
  stmt.kind = Stmt::when;
  stmt.value = predicate;
  blocks_.emplace_back();
  body();
  stmt.body = std::move(blocks_.back());
  blocks_.pop_back();
  blocks_.back().push_back(std::move(stmt));
}

Program Builder::finish() {
  WEFT_CHECK(open_loops_.empty() && blocks_.size() == 1, "finish() outside of every loop");
  program_.body = std::move(blocks_.back());
  blocks_.assign(1, {});
  tidy(program_);
  return std::exchange(program_, {});
}

}  // namespace weft::tile
