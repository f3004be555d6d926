// What the verifier knows at a place of a program, and where it collects errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/tile/program.h"

namespace weft::tile {

class Verifier {
 public:
  Verifier(const Program& program, std::span<const Loc> lines);
  Status run();

 private:
  template <class... Parts>
  void fail(std::string hint, const Parts&... parts) {
    if (errors_.size() >= kMaxFaults) return;
    errors_.push_back({line_, cat("kernel @", program_.name, ": ", parts...), {}, std::move(hint)});
  }

  // verify.cc: the header
  void check_knobs();
  void check_axes();
  void check_axis(const Axis& axis, bool in_grid);
  void check_extent(const Axis& axis, const Extent& extent);
  void check_buffers();
  void check_grid();
  void check_layout();
  void check_digits(AxisId axis);
  void check_shared_buffers();

  // verify_statements.cc
  void check_block(const Block& block, bool outermost);
  void check_statement(const Stmt& stmt, bool outermost);
  void check_loop(const Stmt& loop);
  bool check_loop_axis(AxisId axis);
  void check_bound(const std::optional<Index>& bound, AxisId axis);
  bool check_carried(const Stmt& loop);
  void check_yields(const Stmt& loop);
  void check_when(const Stmt& stmt);
  void define(ValueId id, Value::Kind kind);

  // verify_writes.cc
  void check_write(const Stmt& stmt, bool outermost);
  void check_written_type(const Stmt& stmt);
  void check_owner(const Stmt& stmt);
  void check_distinct(const Stmt& stmt);
  void check_sum(const Ref& ref, const Index& index);
  void check_accumulate(const Stmt& stmt, bool outermost);
  void check_scatter(const Stmt& stmt);
  bool reaches(const Ref& ref, AxisId axis) const;

  // verify_values.cc. False if the value cannot be looked at further.
  bool check_use(ValueId id);
  bool check_value(ValueId id);
  bool check_axis_use(AxisId axis, Index::Term::Kind kind);
  bool check_index(const Index& index);
  bool check_ref(const Ref& ref);
  bool check_where(ValueId where);
  void check_type(const Value& value, DType dtype, const std::vector<AxisId>& axes);
  void check_load(const Value& value);
  void check_map(const Value& value);
  void check_reduce(const Value& value);
  void check_dot(const Value& value);
  void check_random(const Value& value);

  const std::string& axis_name(AxisId axis) const { return program_.axes[axis].name; }
  std::string names(const std::vector<AxisId>& axes) const;  // "[m, n]"
  const Value& value(ValueId id) const { return program_.values[id]; }

  static constexpr size_t kMaxFaults = 20;

  enum class Seen : uint8_t { no, defined, gone, nested };

  const Program& program_;
  std::span<const Loc> lines_;
  size_t statement_ = 0;  // number in the order of the text, from 1
  Loc line_;
  Diagnostics errors_;
  std::vector<Seen> seen_;                        // per value
  std::vector<ValueId> scope_;                    // values defined in the blocks around this place
  std::set<AxisId> loops_;                        // around this place
  std::vector<std::vector<Ref>> loads_, stores_;  // per buffer
  std::vector<bool> scattered_;                   // per buffer
};

}  // namespace weft::tile
