// The numbers of a profile that a tuner may choose for each program by itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/simt/layout.h"

namespace weft::simt {

// Adds them to a program as free knobs that size no axis, with the values of the profile: those
// that its layout would follow from. An order knob of the program that a tuner may choose too gets
// its choices.
void add_knobs(tile::Program& program, const Profile& profile);

// Whether a knob is one of them.
inline bool is_device_knob(const tile::Knob& knob) { return knob.name.starts_with("simt_"); }

// The profile with the values that the program's knobs have.
Profile with_knobs(const tile::Program& program, Profile profile);

}  // namespace weft::simt
