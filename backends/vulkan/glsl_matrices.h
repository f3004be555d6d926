// The words of kernels for fragments of matrix units.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/simt/layout.h"

namespace weft::vulkan {

// Lines before everything else: extensions and the memory model.
std::string matrix_extensions(const simt::Fragments& fragments);
// MATRIX_A(name), MATRIX_B(name), MATRIX_C(name): declare a fragment; C is zero.
// MATRIX_LOAD_A(name, tile, first, stride), likewise B: from an array in workgroup memory, in which
// neighbours of a column (of B: of a row) lie side by side.
// MATRIX_MUL_ADD(c, a, b), MATRIX_STORE_C(name, tile, first, stride), row by row.
// `lanes`: invocations of a subgroup.
std::string matrix_words(const simt::Fragments& fragments, int64_t lanes);

}  // namespace weft::vulkan
