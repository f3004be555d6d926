// The lowering of one Tile program. Private to lower*.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/simt/analysis.h"
#include "backends/simt/lower.h"

namespace weft::simt {

using tile::AxisId;
using tile::BufferId;
using tile::Index;
using tile::kNone;
using tile::Reduce;
using tile::Ref;
using tile::Stmt;
using tile::Value;
using tile::ValueId;

// Which of the elements that an invocation holds: one number per axis, register * pack + element.
// Axes that a value does not have count as 0.
using Point = std::vector<int64_t>;

// A point with the coordinates of another on some axes.
inline Point merged(Point at, const Point& other, const std::vector<AxisId>& axes) {
  for (AxisId axis : axes) at[axis] = other[axis];
  return at;
}

// Code is written as it is asked for: a value is computed where it is first needed, into a variable
// that serves until the block ends. Values that do not vary inside a loop are asked for before it.
class Lowering {
 public:
  Lowering(const tile::Program& program, const Layout& layout, const Profile& profile,
           const std::vector<bool>& aligned);
  Result<Lowered> run();

 private:
  // ---- text and variables (lower.cc)
  void line(const std::string& text);
  void open(const std::string& head);  // head {
  void close();
  void count_turns(int64_t turns);
  void open_loop(const std::string& head, const Dim& turns);
  void close_loop();
  // A variable for an expression, known by `key` until the block ends.
  std::string declare(const std::string& type, const std::string& hint, const std::string& key,
                      const std::string& expression);
  const std::string* known(const std::string& key) const;
  bool is_hidden(const std::string& key) const;
  void know(const std::string& key, const std::string& text) { memo_.back()[key] = text; }
  std::string fresh(const std::string& hint);
  void fail(const std::string& what);

  // ---- numbers, coordinates and indices (lower_index.cc)
  std::string dim(const Dim& dim);
  std::string integer(const std::string& expression, const std::string& hint = "i");  // a variable
  std::string four_of(BufferId buffer, const std::string& address);  // of the same place, in fours
  std::string coordinate(AxisId axis, const Point& at);
  std::string inside(AxisId axis, const Point& at);  // the same, but one that exists
  std::string exists(AxisId axis, const Point& at);  // a condition; empty: it always does
  bool may_end_within(AxisId axis) const;
  std::string index(const Index& index, const Point& at, bool clamped);
  std::string atom(const Index::Term& term, const Point& at, bool clamped);
  std::string tile_end(AxisId axis);
  // The element of a buffer, in elements; checks numbers that come from data.
  std::string address(const Ref& ref, const Point& at, bool clamped);
  std::string address_of_four(const Ref& ref, const Point& at, bool clamped);
  std::string invariant_address(const Ref& ref, const Point& at, bool clamped);
  bool comes_from_data(const Index& index) const;
  bool is_invariant(const Index& index) const;
  void hoist_addresses(const std::vector<ValueId>& roots, AxisId along);
  std::string checked(const std::string& number, const Dim& limit, const std::string& what,
                      const std::vector<AxisId>& axes, const Point& at);
  void open_program();

  // ---- points
  std::vector<Point> points(const std::vector<AxisId>& axes, AxisId packed = kNone) const;
  int64_t held(AxisId axis) const;  // elements of an axis that an invocation holds
  std::string key_of(ValueId id, const Point& at, AxisId packed) const;

  // ---- values (lower_values.cc)
  std::string scalar(ValueId id, const Point& at);
  std::string vector(ValueId id, const Point& at, AxisId axis);
  std::string element(ValueId id, const Point& at, AxisId axis);  // vector, or scalar with kNone
  std::string compute(ValueId id, const Point& at, AxisId axis);
  std::string compute_map(const Value& value, const Point& at, AxisId axis);
  void wrap(const std::string& variable, DType dtype);  // a sum that is done
  std::string constant(const Value& value, AxisId axis) const;
  bool is_small(ValueId id) const;
  std::string small(ValueId id, const Point& at);
  std::string index_number(ValueId id, const Point& at);
  std::string random(const Value& value, const Point& at);
  AxisId pack_of(ValueId id);
  AxisId find_pack(ValueId id);
  void evaluate(ValueId id);  // all that the invocation holds of it
  // Evaluates what `roots` need and what does not vary along the axes.
  void hoist(const std::vector<ValueId>& roots, const std::set<AxisId>& axes);
  bool varies(ValueId id, const std::set<AxisId>& axes);
  std::string splat(const std::string& number, DType dtype) const;

  // ---- reductions (lower_reduce.cc) and products (lower_product.cc)
  void reduce(ValueId id);
  void argmax(ValueId id);
  void dot(ValueId id);
  void dot_step(const Value& value, const std::vector<std::string>& sums, AxisId packed,
                const std::vector<Point>& at);
  bool reads_tiles(const Value& dot) const;  // both of its sides
  bool sums_one_by_one(const Value& value, const std::vector<Point>& at, AxisId packed);
  std::vector<size_t> one_side_after_the_other(const Value& value, const std::vector<Point>& at);
  void in_whole_steps(const Value& dot, const std::function<void()>& body);
  std::string combine(Reduce reduction, const std::string& a, const std::string& b, DType dtype);
  std::string neutral(Reduce reduction, DType dtype) const;
  // The same in all invocations that share the other coordinates.
  void across(const std::vector<AxisId>& axes, const std::vector<std::string>& variables,
              const std::vector<std::string>& types,
              const std::function<void(const std::vector<std::string>&)>& take);
  void walking_again(const std::vector<AxisId>& axes, const std::function<void()>& body);
  void in_steps(const std::vector<AxisId>& axes, const std::vector<ValueId>& roots,
                const std::function<void()>& body);

  // ---- tiles in workgroup memory (lower_stage.cc)
  struct Filling {
    const Stage* stage = nullptr;
    std::string name;                   // of the tile
    std::map<AxisId, std::string> own;  // the invocation's part of places
    std::map<ValueId, AxisId> packs;    // as packs_, in its layout
    std::map<std::string, std::string> known;
    AxisId pack = kNone;                           // of what is fetched
    std::vector<Point> at;                         // all that the invocation fetches
    std::vector<std::vector<std::string>> places;  // of each, in the tile
  };
  struct Reading {
    const Stage* stage = nullptr;
    std::string name;
    std::string first;  // the first element that the invocation reads
  };
  const Stage* stage_of(ValueId id) const;
  void in_filling(Filling& filling, const std::string& step, const std::function<void()>& body);
  Filling begin_filling(const Stage& stage, const std::string& array);
  std::vector<std::string> places_in(const Filling& filling, const Point& at);
  std::vector<std::string> fetch_tile(Filling& filling, const std::string& step);
  void put_tile(const Filling& filling, const std::string& half,
                const std::vector<std::string>& fetched);
  // What is done with both tiles at a step; `half`: which of their halves it is in.
  using Multiply =
      std::function<void(const std::vector<Filling>& fillings, const std::string& half)>;
  void staged_steps(const Value& dot, const Multiply& multiply);
  std::string fill_first(std::vector<Filling>& fillings, const std::string& step,
                         const std::string& last);
  void while_fetching(std::vector<Filling>& fillings, const std::string& half,
                      const std::string& next, const std::string& last,
                      const std::function<void()>& body);
  std::vector<std::string> named(const Filling& filling, const std::vector<std::string>& texts,
                                 bool given);
  void multiply_tiles(const std::vector<Filling>& fillings, const std::string& half,
                      const std::function<void()>& body);
  std::string read_tile(const Reading& reading, ValueId id, const Point& at, AxisId axis);

  // ---- products in fragments of matrix units (lower_fragments.cc)
  void dot_in_fragments(ValueId id);
  void multiply_fragments(const std::vector<Filling>& fillings, const std::string& half,
                          const std::vector<std::string>& sums);
  void take_apart(ValueId id, const std::vector<std::string>& sums);

  // ---- loads and stores (lower_access.cc)
  std::string load(const Value& value, const Point& at, AxisId axis);
  // `place`: the element, or the four elements counted in fours.
  std::string fetch(BufferId buffer, const std::string& place, bool four);
  void put(BufferId buffer, const std::string& place, const std::string& value, bool four);
  bool has_view(BufferId buffer, bool usual) const;
  const Binding& binding(BufferId buffer, bool four, bool writes);
  bool written(BufferId buffer) const { return facts_.written.contains(buffer); }
  bool reads(BufferId buffer) const;
  bool packs_whole(BufferId buffer);  // every access of a buffer is in fours

  // ---- statements (lower_statements.cc)
  tile::Block with_early_stores() const;  // lower_order.cc
  void block(const tile::Block& block, size_t first = 0);
  void statement(const Stmt& stmt);
  void sum_before(BufferId buffer, const tile::Block& block, size_t next);
  size_t last_together(const tile::Block& block, size_t first);
  void store(const std::vector<const Stmt*>& stmts);
  AxisId stored_pack(const Stmt& stmt);
  void write_element(const Stmt& stmt, const Point& at, const std::string& value, bool four);
  void scatter(const Stmt& stmt);
  void when(const Stmt& stmt);
  // Loops (lower_loop.cc).
  void loop(const Stmt& stmt);
  void hoist_out_of(const Stmt& stmt);
  struct Carried {
    std::vector<Point> at;
    std::vector<std::string> names;  // one per point
  };
  std::vector<Carried> begin_carried(const Stmt& stmt);
  // Where the tiles of a loop begin, from what on there are none, and their size.
  struct LoopTiles {
    std::string from, last;
    int64_t size = 1;
  };
  LoopTiles loop_tiles(const Stmt& stmt);
  void open_tiles(const Stmt& stmt, const LoopTiles& tiles);
  void sharing_tiles(std::vector<Filling>& fillings, const std::string& half, const Stmt& stmt,
                     const LoopTiles& tiles, const std::function<void()>& body);
  void pass_on(const Stmt& stmt, const std::vector<Carried>& carried);
  void know_carried(const std::vector<ValueId>& ids, const std::vector<Carried>& carried);
  void with_axis_steps(const std::vector<AxisId>& axes, const std::function<void()>& body);
  std::vector<ValueId> known_before_steps() const;
  std::string owner_condition(const std::vector<AxisId>& axes);
  std::string write_condition(const Stmt& stmt, const std::vector<AxisId>& axes, const Point& at);
  bool others_read(const Stmt& stmt, const std::vector<AxisId>& axes) const;
  std::vector<AxisId> walked_axes(const Stmt& stmt) const;
  void serial_axes(size_t next, const std::function<void()>& body);

  struct AxisState {
    std::string own;            // its part of the invocation's place; empty: none
    std::string base = "0";     // of the tile
    std::string part = "0";     // of what the program takes, where a loop walks inside it
    std::string step;           // of the tile: empty if it is not open
    std::string program = "0";  // number
  };

  const tile::Program& p_;
  Layout layout_;                         // another one while a tile in workgroup memory is filled
  std::vector<AxisLayout> compute_axes_;  // as they are otherwise
  const Profile& profile_;
  const std::vector<bool>& aligned_;
  Facts facts_;
  std::vector<std::string> hints_;  // for names of variables, per value
  Lowered out_;
  int indent_ = 1;
  std::vector<Dim> turns_ = {1};  // of the loops around, multiplied
  std::vector<std::map<std::string, std::string>> memo_;
  std::map<std::string, int> names_;  // so many of each kind
  std::set<std::string> used_;
  std::vector<AxisState> axes_;
  std::map<ValueId, AxisId> packs_;
  std::map<BufferId, bool> whole_;
  std::map<ValueId, Reading> reading_;  // sides of the product at work that lie in tiles
  struct Hidden {
    std::set<AxisId> axes;
    size_t below = 0;  // scopes that were there before
  };
  Hidden hidden_;               // what walking_again does not want to know
  AxisId innermost_ = kNone;    // the axis of the loop around
  AxisId whole_axis_ = kNone;   // one of which all coordinates exist here
  std::vector<ValueId> later_;  // what the loops around yield
  std::set<ValueId> defined_;   // have had lines of their own
  std::set<AxisId> open_;       // stepped axes that a loop walks here
  std::set<AxisId> exact_;      // of those, the ones whose loop ends with the axis
  std::string problem_;
};

inline std::string type_name(DType dtype, bool four) { return type_name_of(dtype, four); }
bool computes_as_float(DType dtype);
std::string wrapped(const std::string& text, DType dtype);

}  // namespace weft::simt
