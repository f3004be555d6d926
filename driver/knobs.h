// Knobs of a plan's programs that may be chosen after lowering: they change how fast, never what.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/tile/program.h"

namespace weft {

// Indices into `knobs` of a program without `accumulate` statements: the free ones but for those
// that size a part of a sum. The plan has counted such parts, or code for a device adds them up one
// after the other. A program for a SIMT device has knobs of its layout (backends/simt/knobs.h):
// then it is those, and the others follow from them, but for order knobs that have choices: these
// change results by rounding.
std::vector<size_t> choosable_knobs(const tile::Program& program);

// What a tuner may try for a knob: ascending, around the value it has, which is among them.
std::vector<int64_t> knob_choices(const tile::Program& program, size_t knob);

using KnobValues = std::vector<int64_t>;  // one per choosable knob, in order
KnobValues knob_values(const tile::Program& program);
// Whether a program with these values adds in another order.
bool changes_order(const tile::Program& program, const KnobValues& values);

// False, and nothing is changed, unless each value is one that a tuner may try.
bool set_knobs(tile::Program& program, const KnobValues& values);

// Values for a program as it was lowered; nothing to leave it so.
using KnobChooser = std::function<std::optional<KnobValues>(const tile::Program& program)>;
// Gives how many programs are not as they were.
size_t choose_knobs(std::vector<tile::Program>& programs, const KnobChooser& chooser);

}  // namespace weft
