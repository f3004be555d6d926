// Part of `plan`. Weights that no graph changes, laid out once as products read them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "ir/plan/plan.h"
#include "passes/lower.h"

namespace weft {

inline constexpr std::string_view kPackWeights = "pack-weights";  // on the command line

// Needs: the plan of a whole module, all of its graphs. Leaves: each product that reads a parameter
// which no graph updates as its right operand reads a copy of it in panels instead (Plan::packed),
// as wide as `device.panel_bytes`; programs and buffers that nothing uses any more are gone. A
// panel is a few columns, all of their k one after the other, so that the memory is walked as a
// whole: w[k, n] lies at [n / C, k, n % C]. The order of additions stays what it was.
void pack_weights(Plan& plan, const Module& module, const DeviceTraits& device);

// What a program reads of a buffer, if it is the right operand of one product and nothing else:
// element (k, n) lies at offset + k * step_k + n * step_n.
struct PanelSource {
  int64_t depth = 0;  // of k
  int64_t width = 0;  // of n
  int64_t offset = 0;
  int64_t step_k = 0;
  int64_t step_n = 0;
  friend auto operator<=>(const PanelSource&, const PanelSource&) = default;
};
std::optional<PanelSource> panel_source(const tile::Program& program, tile::BufferId buffer);

// The program with that buffer in panels of `columns`; panel_source has to know it.
tile::Program with_panels(tile::Program program, tile::BufferId buffer, int64_t columns);

// The program with two blocks of columns where it has one and the number of rows is known only when
// it runs: few rows would leave all threads but one without work. It reads panels already.
tile::Program with_two_blocks(tile::Program program, tile::BufferId buffer, int64_t columns);

// The program that makes the panels, %w to %panels. What is beyond the last column is zeros.
tile::Program panel_program(const PanelSource& source, DType dtype, int64_t columns);
// The program that makes %w of %panels.
tile::Program unpanel_program(const PanelSource& source, DType dtype, int64_t columns);

}  // namespace weft
