// What attention weights look like, in three numbers for each head.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "driver/train/device.h"

namespace weft::train {

// Means over all rows (a row: one query of one example) that count. p is a row's weights.
struct HeadStatistics {
  double entropy = 0;   // -sum p ln p, in nats: 0 looks at one key, ln n at n keys alike
  double distance = 0;  // sum p |column - row|, in positions
  // To the other heads of the layer: the mean of half the sum of |p - p'|. 0: all look at the same,
  // 1: at nothing in common. -1 if there is no other head.
  double diversity = -1;
};

// `weights` is [B, .., T, S]; the axes between are the heads. Rows for which `counts` [B * T] is
// false, and those that sum up to 0 (nothing was left to look at), are left out; masked keys have
// weight 0 and add nothing. One entry per head; empty if no row counts or a number is not finite.
std::vector<HeadStatistics> attention_statistics(const HostTensor& weights,
                                                 const std::vector<bool>& counts);

}  // namespace weft::train
