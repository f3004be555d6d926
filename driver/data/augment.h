// Images changed a little at random, so that a model learns what does not matter about them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "driver/data/random.h"
#include "ir/support/result.h"

namespace weft::data {

// The most that is done to an image. Every amount up to it, to either side, is as likely.
struct Augment {
  double shift = 0;    // whole pixels, along each axis
  double rotate = 0;   // degrees
  double scale = 0;    // 0.1: a tenth smaller to a tenth larger
  double shear = 0;    // 0.1: rows lean by a tenth of a pixel for each row
  double elastic = 0;  // 0.1: nine points move by a tenth of the size, and all between them

  bool any() const { return shift > 0 || rotate > 0 || scale > 0 || shear > 0 || elastic > 0; }
  bool operator==(const Augment&) const = default;
};

// "shift=1,rotate=10", or "none". Fails on an unknown name, and on an amount out of range.
Result<Augment> parse_augment(std::string_view text);
std::string to_text(const Augment& augment);
Status check(const Augment& augment);

struct ImageShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// A changed image by bilinear interpolation; what comes in from outside is 0. Both spans have the
// shape's elements: row, column, channel.
void augment_image(std::span<const float> image, ImageShape shape, const Augment& augment,
                   Random random, std::span<float> out);

}  // namespace weft::data
