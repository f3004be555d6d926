// SPDX-License-Identifier: Apache-2.0
#include "backends/buffer_uses.h"

namespace weft {

std::vector<BufferUse> buffer_uses(const tile::Program& program) {
  std::vector<BufferUse> uses;
  for (const tile::Buffer& buffer : program.buffers) {
    Dim last = 0;
    for (size_t i = 0; i < buffer.dims.size(); ++i) {
      last = last + (buffer.dims[i] - Dim(1)) * buffer.strides[i];
    }
    uses.push_back({buffer.mode != tile::Buffer::in, last + Dim(1)});
  }
  return uses;
}

}  // namespace weft
