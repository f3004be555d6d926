// KernelEmitter: one Tile program to one LLVM function. Private to backends/cpu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cpu/compile.h"
#include "backends/cpu/tile_dot.h"
#include "ir/tile/program.h"

namespace weft::cpu {

// Where a tile is kept between loop nests: a register for a single element, else per-thread
// scratch.
struct Slot {
  llvm::Value* address = nullptr;
  std::vector<tile::AxisId> axes;   // with more than one coordinate; the last has stride 1
  std::vector<llvm::Value*> bases;  // first coordinate of the tile on each of `axes`
  std::vector<Dim> strides;         // in elements, one per axis
};

// The tile that is being computed, on one axis.
struct AxisState {
  llvm::Value* base = nullptr;         // first coordinate
  llvm::Value* size = nullptr;         // number of coordinates that exist
  llvm::Value* program = nullptr;      // number of the program, for grid axes
  bool single = false;                 // the tile has one coordinate: `base`
  bool nonempty = false;               // it is opened only where there are coordinates
  std::optional<int64_t> extent = {};  // most coordinates that a tile can have, if it is a number
};

// One loop of a nest, or (the first) what is around the nest.
struct Level {
  tile::AxisId axis = tile::kNone;
  llvm::Value* coordinate = nullptr;    // of lane 0
  llvm::Instruction* before = nullptr;  // code of this level goes here; null: where the builder is
  std::unordered_map<tile::ValueId, llvm::Value*> known = {};
};

// What a loop nest is for.
struct Sink {
  enum class Kind : uint8_t { store, update, reduce, keep };
  using enum Kind;
  Kind kind = store;
  tile::ValueId value = tile::kNone;
  const tile::Stmt* stmt = nullptr;        // store, update
  std::vector<tile::AxisId> axes = {};     // that the nest walks
  std::vector<tile::AxisId> reduced = {};  // reduce: those of `axes` that disappear
  std::optional<Slot> target = {};         // keep: where to, if not to a slot of its own
  tile::AxisId lane = tile::kNone;         // keep: the axis that has the lanes, if it matters
};

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const tile::Program& program, const CpuTarget& target,
                const CompileOptions& options);
  // Emits the function, named after the program with `suffix`, and describes it.
  Kernel emit(const std::string& symbol);

 private:
  using AxisId = tile::AxisId;
  using ValueId = tile::ValueId;
  using IR = llvm::IRBuilder<>;

  // emit_kernel.cc: function, arguments, grid, checks
  void emit_grid();
  llvm::Value* dim(const Dim& value);  // an i64: a number or an argument
  llvm::Value* i64(int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); }
  llvm::AllocaInst* new_register(llvm::Type* type, const std::string& name,
                                 llvm::Value* start = nullptr);
  void open_axis(AxisId axis, llvm::Value* base, const tile::Extent& extent);
  void open_single(AxisId axis, llvm::Value* coordinate);
  void loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const std::string& name,
            const std::function<void(llvm::Value*)>& body);
  void if_then(llvm::Value* condition, const std::function<void()>& then);
  // Leaves the kernel unless `ok`, reporting `value` and `limit`.
  void check(llvm::Value* ok, const std::string& message, llvm::Value* value, llvm::Value* limit);
  llvm::Value* min64(llvm::Value* a, llvm::Value* b);

  // emit_types.cc: element types in memory and in registers
  llvm::Type* register_type(DType dtype);
  llvm::Type* memory_type(DType dtype);
  llvm::Type* with_lanes(llvm::Type* type, int lanes);
  llvm::Value* splat(llvm::Value* value, int lanes);
  llvm::Value* widen(llvm::Value* stored, DType dtype);  // memory to register form
  llvm::Value* narrow(llvm::Value* value, DType dtype);  // register to memory form
  llvm::Value* number(DType dtype, double real, int64_t integer);
  llvm::Value* convert(llvm::Value* value, DType from, DType to);  // `cast`
  llvm::Value* round_to_odd(llvm::Value* value);
  llvm::Value* fit_f64(llvm::Value* value);

  // emit_map.cc: elementwise
  llvm::Value* emit_map(Op op, const std::vector<llvm::Value*>& operands, DType from, DType to);
  llvm::Value* emit_integer_division(Op op, llvm::Value* a, llvm::Value* b, DType dtype);
  llvm::Value* emit_float_mod(llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_rounding(Op op, llvm::Value* x, DType dtype);
  llvm::Value* emit_compare(Op op, llvm::Value* a, llvm::Value* b, DType dtype);
  llvm::Value* emit_extremum(bool largest, llvm::Value* a, llvm::Value* b, DType dtype);
  llvm::Value* emit_function(Op op, const std::vector<llvm::Value*>& operands, DType dtype);
  llvm::Value* call_math(size_t offset, const std::vector<llvm::Value*>& operands);

  // emit_random.cc
  using Words = std::array<llvm::Value*, 4>;
  struct RandomKey {
    llvm::Value* seed;
    llvm::Value* step;
    llvm::Value* stream;
  };
  std::pair<llvm::Value*, llvm::Value*> multiply_words(llvm::Value* x, uint32_t by);
  Words philox(llvm::Value* counter, const RandomKey& key);
  RandomKey random_key(const tile::Value& value);
  llvm::Value* random_word(const tile::Value& value);
  AxisId random_axis(ValueId id) const;
  void fill_random(ValueId id, AxisId along);
  void fill_random_row(const tile::Value& value, const Slot& slot, llvm::Value* size);
  llvm::Value* interleave(const Words& words);

  // emit_access.cc: index maps, loads and stores
  struct Lane {                    // an integer for each lane
    llvm::Value* first = nullptr;  // of lane 0
    Dim step = 0;                  // from lane to lane, if `all` is null
    llvm::Value* all = nullptr;    // a vector of i64, where the lanes are not evenly spaced
    bool uniform() const { return all == nullptr && step.is_constant(0); }
  };
  Lane add(const Lane& a, const Lane& b);
  Lane scale(const Lane& a, const Dim& factor);
  Lane index(const tile::Index& at);
  Lane index_term(const tile::Index::Term& term);
  llvm::Value* spread(const Lane& lane);  // a vector of i64, or a scalar if lanes are equal
  llvm::Value* at_lane(const Lane& lane, int i);
  Lane offset(const tile::Ref& ref, llvm::Value* where);
  void check_index(const Lane& at, const Dim& limit, llvm::Value* where, const std::string& what);
  llvm::Value* coordinate(AxisId axis);
  llvm::Value* load(const tile::Value& value);
  llvm::Value* load_at(DType dtype, llvm::Value* buffer, const Lane& at);
  llvm::Value* load_where(DType dtype, llvm::Value* buffer, const Lane& at, llvm::Value* where,
                          llvm::Value* fill);
  void store_at(DType dtype, llvm::Value* buffer, const Lane& at, llvm::Value* value,
                llvm::Value* where);
  bool may_stream(const tile::Stmt& stmt, int lanes) const;
  void stream_at(const tile::Stmt& stmt, const Lane& at, llvm::Value* value);
  llvm::Value* worth_streaming(tile::BufferId buffer);
  void finish_streams();
  llvm::Value* element_address(llvm::Value* buffer, llvm::Value* offset, DType dtype);
  llvm::Align alignment(DType dtype);

  // emit_value.cc
  llvm::Value* eval(ValueId id);
  llvm::Value* eval_lanes(ValueId id) { return splat(eval(id), lanes_); }
  llvm::Value* compute(const tile::Value& value);
  void find_checked_values();
  bool may_be_empty(AxisId axis) const;
  llvm::Value* load_slot(const Slot& slot, DType dtype);
  void store_slot(const Slot& slot, DType dtype, llvm::Value* value);
  Lane slot_offset(const Slot& slot);
  size_t level_of(const std::vector<AxisId>& axes) const;

  // emit_block.cc, emit_sinks.cc: statements, and which values are kept
  void emit_block(const tile::Block& block, const std::vector<Sink>& last = {});
  void emit_when(const tile::Stmt& stmt);
  void emit_scatter(const tile::Stmt& stmt);
  void prepare(ValueId id);
  void prepare_ref(const tile::Ref& ref);
  void prepare_statement(const tile::Stmt& stmt);
  bool is_reduced(ValueId id) const;  // a reduction or product that needs a nest
  void push(Sink sink);
  void push_together(std::vector<Sink> sinks);
  void flush();
  bool overwrites(const Sink& sink) const;
  bool is_there(const Sink& sink) const;
  Sink statement_sink(const tile::Stmt& stmt) const;
  Sink keep_sink(ValueId id, std::optional<Slot> target) const;
  Slot make_slot(DType dtype, const std::vector<AxisId>& axes, const std::string& name);
  std::vector<AxisId> walked(std::vector<AxisId> axes) const;  // sorted, without single ones
  bool depends_on(ValueId id, const std::set<ValueId>& values) const;

  // emit_loop.cc
  void emit_loop(const tile::Stmt& stmt);
  void emit_iteration(const tile::Stmt& stmt, const std::vector<Slot>& carried);
  std::vector<Sink> yield_sinks(const tile::Stmt& stmt, const std::vector<Slot>& carried,
                                std::vector<std::pair<Slot, ValueId>>& copies);

  // kept_values.cc
  void find_kept_values();
  bool is_overwritten(const tile::Value& load) const;

  // emit_nest.cc
  struct Accumulator {
    std::vector<llvm::AllocaInst*> parts;        // vectors, one per unrolled body
    std::vector<llvm::AllocaInst*> index_parts;  // argmax: where they were found
    llvm::AllocaInst* scalar = nullptr;
    llvm::AllocaInst* scalar_index = nullptr;
  };
  struct Nest {
    const std::vector<Sink>& sinks;
    std::vector<AxisId> order = {};  // of the loops, outermost first; the last has the lanes
    size_t kept_axes = 0;            // how many of `order` a reduction's result has
    int lanes = 1;
    size_t parts = 1;  // bodies in the main loop
    bool reduces = false;
    std::vector<ValueId> ahead = {};  // loads of the next program to ask for
    int fewest_lanes = INT32_MAX;     // of the vectors that what is left is done in
  };
  void emit_nest(const std::vector<Sink>& sinks);
  bool finds_place(const std::vector<Sink>& sinks) const;
  AxisId choose_lane_axis(const std::vector<Sink>& sinks, const std::vector<AxisId>& from) const;
  int nest_score(const std::vector<Sink>& sinks, AxisId axis) const;
  int lane_score(ValueId id, AxisId axis, std::set<ValueId>& seen) const;
  int ref_score(const tile::Ref& ref, AxisId axis) const;
  int lanes_along(AxisId axis, int vectors = 1) const;
  void emit_axes(const Nest& nest, size_t depth);
  void emit_lane_loop(const Nest& nest);
  void emit_body(const Nest& nest, int lanes, size_t part);
  void emit_effect(const Sink& sink, llvm::Value* value);
  void at_level(AxisId axis, llvm::Value* coordinate, int lanes, const std::function<void()>& body);
  bool never_partial(AxisId axis, int64_t step) const;

  // emit_ahead.cc
  void for_each_computed(const std::vector<Sink>& sinks,
                         const std::function<void(ValueId)>& fn) const;
  bool is_costly(const std::vector<Sink>& sinks) const;
  std::vector<ValueId> loads_ahead(const std::vector<Sink>& sinks, AxisId lane) const;
  void ask_ahead(const Nest& nest);

  // emit_reduce.cc
  void start_accumulators(const Nest& nest);
  void accumulate(const Sink& sink, llvm::Value* value, int lanes, size_t part);
  llvm::Value* widened(llvm::Value* value, llvm::Type* type, llvm::Value* rest);
  void fold_vectors(const Nest& nest);
  void finish_accumulators(const Nest& nest);
  llvm::Value* neutral(tile::Reduce reduction, DType dtype);
  llvm::Value* combine(tile::Reduce reduction, llvm::Value* a, llvm::Value* b, DType dtype);
  llvm::Value* across_lanes(tile::Reduce reduction, llvm::Value* vector, DType dtype);
  llvm::Value* is_better(llvm::Value* a, llvm::Value* at_a, llvm::Value* b, llvm::Value* at_b,
                         DType dtype);
  void fold_argmax(Accumulator& into, DType dtype);
  tile::Reduce reduction_of(const tile::Value& value) const;
  DType reduced_dtype(const tile::Value& value) const;  // of what is reduced

  // emit_dot.cc: products, see product.h
  struct Product;
  // Of the micro-tile at (row, column), for k from begin to end.
  using MicroTile = std::function<void(llvm::Value* row, llvm::Value* column, llvm::Value* begin,
                                       llvm::Value* end)>;
  bool is_product_loop(const tile::Stmt& stmt) const;
  // `rest`: what follows it in its block, where that is all there is.
  void emit_product_loop(const tile::Stmt& stmt, std::span<const tile::Stmt> rest);
  bool is_plain_load(ValueId id) const;
  Dim step_along(ValueId id, AxisId axis) const;
  void shape_product(Product& product);
  int64_t panel_columns(const Product& product) const;
  bool can_keep_rows(const Product& product) const;
  int64_t block_of_k(const Product& product) const;
  int64_t even_block(const Product& product, int64_t most) const;
  static int rows_for(int few, int full);
  void make_sums(Product& product, const tile::Stmt& stmt);
  static Dim round_up(const Dim& value, int64_t to);
  Dim most_coordinates(AxisId axis) const;  // that a tile can have
  llvm::Value* new_scratch(const Dim& elements, DType dtype, const std::string& name);
  void apart(const std::function<void()>& body);
  void for_each_micro_tile(const Product& product, const MicroTile& body);

  // emit_one_row.cc
  void unless_one_row(const Product& product, const Dim& depth, const std::function<void()>& body);

  // emit_finish.cc
  bool follows_sum(ValueId id, ValueId sum) const;
  bool find_column_sums(ValueId id, const Product& product, std::set<ValueId>& sums) const;
  bool plan_finish(Product& product, std::span<const tile::Stmt> rest);
  void prepare_besides(ValueId id, ValueId sum);
  void prepare_finish(Product& product);
  void find_far_loads(Product& product);
  void for_each_part(llvm::Value* begin, llvm::Value* end, int lanes,
                     const std::function<void(llvm::Value*, int)>& body);
  void prefetch_far(const Product& product, llvm::Value* row, llvm::Value* column);
  void finish_columns_at(const Product& product, llvm::Value* row, llvm::Value* column, int lanes,
                         const std::vector<llvm::Value*>& sums);
  void finish_micro_tile(const Product& product, llvm::Value* row, llvm::Value* column,
                         const std::vector<llvm::Value*>& sums);
  void finish_in_scratch(const Product& product, llvm::Value* row, llvm::Value* column);

  // tile_dots.cc, emit_tile_dot.cc: products of tiles in scratch, see tile_dot.h
  class TileDotFinder;
  void find_tile_dots();
  bool reads_in_place(ValueId id) const;
  std::vector<AxisId> with_lanes_last(std::vector<AxisId> axes) const;
  Slot padded_slot(DType dtype, const std::vector<AxisId>& axes, const std::string& name);
  std::optional<int64_t> tile_size(AxisId axis) const;
  static Dim slot_step(const Slot& slot, AxisId axis);
  void pack_tile(ValueId id, AxisId k, AxisId n);
  void pack_once(ValueId id);
  TileOperand tile_operand(ValueId id, AxisId along, AxisId k);
  TileOperand vector_operand(const TileDot& dot);
  TileOperand element_operand(const TileDot& dot);
  bool is_last_read(ValueId id, const std::vector<Sink>& nest) const;
  std::optional<Slot> slot_to_reuse(const Sink& keep, const std::vector<Sink>& nest);
  Slot tile_sums(ValueId id, const TileDot& dot);
  void emit_tile_dot(ValueId id);

  // emit_tile_function.cc
  int tile_rows(int vectors) const;
  llvm::Function* tile_function(const TileKind& kind);
  void inside(llvm::Function* function, const std::function<void()>& body);
  void emit_tile_function(const TileFunction& f);
  void emit_tile_columns(const TileFunction& f, llvm::Value* column, int vectors,
                         llvm::Value* mask);
  void emit_tile_block(const TileFunction& f, llvm::Value* row, llvm::Value* column,
                       const TileBlock& block);
  void emit_tile_step(const TileFunction& f, llvm::Value* k, llvm::Value* first,
                      const std::vector<llvm::Value*>& starts,
                      const std::vector<llvm::AllocaInst*>& sums, const TileBlock& block);
  llvm::Value* first_lanes(llvm::Value* count, int lanes);

  // emit_strips.cc
  AxisId lane_that_stays(const std::vector<Sink>& sinks, const std::vector<AxisId>& reduced,
                         AxisId otherwise) const;
  void emit_strips_nest(const Nest& nest, size_t depth);
  void emit_strip(const Nest& strip, llvm::Value* first);
  void emit_strip_rows(const Nest& strip, llvm::Value* first, size_t depth);

  // emit_columns.cc
  AxisId lanes_of_nest(const std::vector<Sink>& sinks) const;
  void emit_lanes_nest(const std::vector<Sink>& sinks, AxisId lane);
  void for_each_vector(AxisId axis, int lanes, const std::function<void()>& body);
  void emit_rows_nest(const Nest& nest, size_t depth);
  void emit_columns_nest(const Nest& nest, size_t depth);
  void emit_columns_body(const Nest& nest);
  void at_lanes(const Nest& nest, size_t part);
  void finish_columns(const Nest& nest);

  // emit_variants.cc
  llvm::Value* extreme(const tile::Index& index, bool largest);
  llvm::Value* extreme(ValueId id, bool largest);
  llvm::Value* holds_everywhere(ValueId id);
  std::set<ValueId> masks_of(const tile::Stmt& loop) const;
  void for_each_variant(const tile::Stmt& loop, const std::function<void()>& body);

  // emit_pack.cc
  std::set<AxisId> coordinates_of(ValueId id) const;
  void unless_packed(const std::set<AxisId>& coordinates, const std::function<void()>& body);
  llvm::Value* env_word(size_t offset);
  llvm::Value* new_kept_word();
  void pack_rhs(Product& product, const Dim& depth);
  void put_in_panel(const Product& product, llvm::Value* value, llvm::Value* first, llvm::Value* k,
                    llvm::Value* column);
  void pack_whole_panels(const Product& product, llvm::Value* end);
  void prefetch_row(const Product& product, llvm::Value* k, llvm::Value* end);
  void pack_panel_row(const Product& product, llvm::Value* first, llvm::Value* k);
  void pack_last_panel(const Product& product, llvm::Value* first, llvm::Value* have);

  // emit_turn.cc
  bool turns_rhs(const Product& product) const;
  void pack_turned(const Product& product, llvm::Value* first, llvm::Value* k);

  // emit_near.cc
  void pack_lhs(Product& product, const Dim& depth);
  bool neighbours_along(ValueId id, AxisId axis, AxisId other) const;
  bool pays_near_copy(const Product& product) const;
  bool stays_near(const Product& product) const;
  void keep_near(Product& product, const Dim& depth);
  llvm::Value* near_place(const Product& product, llvm::Value* number);
  llvm::Value* near_number(const Product& product, llvm::Value* begin);
  llvm::Value* near_block(const Product& product, llvm::Value* begin);
  void make_near(const Product& product, llvm::Value* begin, llvm::Value* end);
  void copy_near(const Product& product, llvm::Value* begin, llvm::Value* end);
  void put_near(const Product& product, llvm::Value* near, llvm::Value* line, llvm::Value* at);
  void prefetch_near(const Product& product, llvm::Value* row, llvm::Value* column,
                     llvm::Value* begin, llvm::Value* end);
  void pack_row(const Product& product, llvm::Value* local);

  // emit_micro.cc
  struct MicroPlace {
    llvm::Value* row;
    llvm::Value* column;
    llvm::Value* end;  // of the block of k
  };
  llvm::Value* next_panel(const Product& product, llvm::Value* share, const MicroPlace& at,
                          llvm::Value* begin);
  std::vector<llvm::AllocaInst*> start_sums(const Product& product,
                                            const std::vector<llvm::Value*>& addresses,
                                            llvm::Value* begin);
  void end_sums(const Product& product, const MicroPlace& at,
                const std::vector<llvm::AllocaInst*>& sums,
                const std::vector<llvm::Value*>& addresses);
  struct Streams {
    std::vector<llvm::Value*> addresses;
    llvm::Value* step = nullptr;
  };
  llvm::Value* plain_address(const Product& product, ValueId id, AxisId axis,
                             llvm::Value* coordinate, llvm::Value* begin);
  llvm::Value* clamped(AxisId axis, llvm::Value* local);
  Streams lhs_streams(const Product& product, llvm::Value* first, llvm::Value* begin);
  Streams rhs_stream(const Product& product, llvm::Value* first, llvm::Value* begin);
  llvm::Value* laid_out_at(const Product& product, llvm::Value* first, llvm::Value* begin);
  llvm::Value* panel_share(const Product& product);
  void prefetch_sums(const Product& product, llvm::Value* row, llvm::Value* column);
  llvm::Value* sum_address(const Product& product, llvm::Value* row, llvm::Value* column);
  llvm::Value* add_product(const Product& product, llvm::Value* sum, llvm::Value* a,
                           llvm::Value* b);
  void prefetch(llvm::Value* address, bool nearest);
  void multiply_step(const Product& product, const Streams& rows, const Streams& columns,
                     llvm::Value* k, const std::vector<llvm::AllocaInst*>& sums);
  void multiply(const Product& product);
  std::vector<llvm::Value*> inner_products(const Product& product,
                                           const std::vector<llvm::Value*>& streams,
                                           llvm::Value* from, llvm::Value* to, int lanes);
  void multiply_inner(const Product& product);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const tile::Program& program_;
  const CpuTarget& target_;
  const CompileOptions& options_;
  IR ir_;
  Kernel kernel_;

  llvm::Function* function_ = nullptr;
  llvm::Instruction* entry_end_ = nullptr;  // arguments and registers go before it
  llvm::Value* buffers_ = nullptr;
  llvm::Value* args_ = nullptr;
  llvm::Value* env_ = nullptr;
  llvm::Value* scratch_ = nullptr;
  std::map<Dim, llvm::Value*> dims_;
  std::vector<llvm::Value*> buffer_addresses_;
  Dim scratch_bytes_;
  int64_t kept_words_ = 0;
  std::map<tile::BufferId, llvm::Value*> streams_;  // whether stores go past the caches
  llvm::Value* nowhere_ = nullptr;  // a place to read from when there is nothing to read

  std::vector<AxisState> axes_;
  std::vector<Level> levels_;
  int lanes_ = 1;  // of the innermost level
  AxisId lane_axis_ = tile::kNone;
  std::map<ValueId, Slot> slots_;
  std::vector<bool> checked_;  // by value: computing it checks an index
  std::set<ValueId> kept_;     // costly maps that several nests read
  std::set<ValueId> prepared_;
  std::set<const tile::Stmt*> done_;  // statements that a product has taken in
  std::map<ValueId, Slot> fresh_;     // being filled by the nest that is emitted
  std::vector<Sink> pending_;         // nest being collected
  // Random numbers that only a copied operand needs are made when it is copied.
  std::vector<ValueId>* late_randoms_ = nullptr;
  std::map<ValueId, Accumulator> accumulators_;

  std::vector<std::vector<ValueId>> users_;  // of each value; kNone: a statement
  std::map<ValueId, TileDot> tile_dots_;
  std::map<std::vector<AxisId>, AxisId> tile_lanes_;          // of tiles over these axes
  std::map<ValueId, std::pair<AxisId, AxisId>> packed_once_;  // operands of tile dots: k and n
  std::map<TileKind, llvm::Function*> tile_functions_;
  llvm::Value* existing_lanes_ = nullptr;  // a mask: others read zeros; null: all
  std::set<ValueId> held_;                 // predicates that hold everywhere in what is emitted
};

}  // namespace weft::cpu
