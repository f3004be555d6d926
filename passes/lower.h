// Lowering: a region of the fused graph as Tile programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/tile/program.h"

namespace weft {

// What lowering may know of the device that the programs are for: defaults of knobs follow from it.
struct DeviceTraits {
  int64_t vector_bytes = 32;
  int64_t l1_bytes = 32 << 10;
  int64_t l2_bytes = 512 << 10;
  int64_t programs_wanted = 8;  // of a launch, to keep the device busy
  // How wide weights are laid out that no graph changes; 0: they are not (passes/pack_weights.h).
  int64_t panel_bytes = 64;
  int64_t least_packed_bytes = 16 << 10;  // smaller weights stay as they are
  // Many small processors instead of a few large ones: tiles are what the registers of a group of
  // invocations hold, and no work is left to a single owner.
  bool simt = false;
  int64_t attention_queries = 32;  // of a tile, where simt
  int64_t attention_keys = 2;
  int64_t product_rows = 32;  // of a tile of products whose columns are summed, where simt
};

// A region's programs, to be launched in order, and what each of their buffers stands for.
struct LoweredRegion {
  struct Bound {
    enum class Kind : uint8_t { operand, result, workspace };
    using enum Kind;
    Kind kind = operand;
    uint32_t index = 0;  // into the node's operands or results, or `workspaces`
  };
  struct Workspace {
    std::string name;
    DType dtype = DType::f32;
    Dim elements;
  };
  std::vector<tile::Program> programs;
  std::vector<std::vector<Bound>> buffers;  // [program][buffer of the program]
  std::vector<Workspace> workspaces;
  // The program that copies operand 0 into result 0 and does nothing else: not needed where the
  // result takes the operand's place.
  std::optional<uint32_t> copy_program;
};

// Lowers one `region` node. An operand that is a view (passes/views.h) is read through its strides
// from its base's buffer: the launch adds View::offset. Results are row-major.
Result<LoweredRegion> lower_region(const Module& module, const Graph& graph, uint32_t node,
                                   const DeviceTraits& device);

}  // namespace weft
