// Building the fused graph from clusters. Part of `fuse`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ir/graph/emit.h"
#include "passes/fuse_clusters.h"

namespace weft {

// The graph with one `region` per cluster; `recomputed` values are computed by each reader. Bodies
// of `chunked` nodes are replaced by what `fuse_body` makes of them.
Graph build_fused(const Module& module, const Clusters& clusters,
                  const std::vector<bool>& recomputed,
                  const std::function<Graph(const Graph&)>& fuse_body);

}  // namespace weft
