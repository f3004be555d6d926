// The steps of `fuse`, in the order in which they are taken. Each joins clusters while that helps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/fuse_clusters.h"

namespace weft {

// Products of one left operand that do not depend on one another: q, k and v.
void join_products(Clusters& clusters);
// What follows a product elementwise, sums of its columns, and products that are added to it.
void join_epilogues(Clusters& clusters);
// Neighbours whose joining leaves less to store: first around reductions, then around scatters and
// products, then among the rest.
void join_neighbours(Clusters& clusters);
// Neighbours that only save reading a value again, and siblings that read the same.
void join_readers(Clusters& clusters);

// Values that are rather computed again by each reader than stored: [node], of nodes with one
// result.
std::vector<bool> find_recomputed(const Clusters& clusters);

}  // namespace weft
