// Choosing a layout: the state, and what every kind of program shares. Private to layout*.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>

#include "backends/simt/analysis.h"
#include "backends/simt/layout.h"

namespace weft::simt {

inline constexpr int64_t kMostRegisters = 64;  // of one axis, in packs

class LayoutChooser {
 public:
  LayoutChooser(tile::Program& program, const Profile& profile, const std::vector<bool>& aligned);
  Result<Layout> run();

 private:
  using AxisId = tile::AxisId;

  void count_unit_axes();
  AxisLayout& of(AxisId axis) { return layout_.axes[axis]; }
  bool is_tile(AxisId axis) const { return !p_.is_scalar(axis); }
  int64_t pack_of(AxisId axis) const;
  bool is_free(AxisId axis) const;                  // the size of its tile may be chosen here
  std::optional<int64_t> given(AxisId axis) const;  // coordinates of a tile, if they are known
  AxisId lane_axis(const std::set<AxisId>& allowed) const;
  void take(AxisId axis, int64_t lanes, int64_t waves, int64_t registers);
  void start_again();
  Status fit_all();
  void hold_all(AxisLayout& axis, int64_t size) const;
  bool reads_written() const;
  int64_t depth_of(AxisId axis);
  void number_digits(Layout& layout) const;

  // ---- products (layout_product.cc)
  bool lay_out_fragments();
  bool take_fragments(int64_t waves, int64_t rows, int64_t columns);
  bool lay_out_staged();
  bool take_staged(int64_t rows);
  bool choose_depth(int64_t most, int64_t least);
  int64_t stage_bytes();
  bool staged() const { return layout_.stage_depth > 1; }
  void lay_out_product();
  void take_rows(AxisId axis, int64_t registers);

  // ---- attention, rows and elementwise work (layout_rows.cc)
  void lay_out_flash();
  void share_loops();
  void lay_out_rows();
  int64_t walk(AxisId axis, int64_t steps);
  int64_t most_packs(AxisId axis) const;
  int64_t waves_of_row(AxisId axis) const;

  tile::Program& p_;
  const Profile& profile_;
  const std::vector<bool>& aligned_;
  const Facts facts_;
  Layout layout_;
  std::vector<int> unit_;    // references whose neighbours along the axis are neighbours in memory
  std::vector<bool> packs_;  // and of those that begin at multiples of four
};

}  // namespace weft::simt
