// Cooperative matrices as drivers take them: GLSL compilers of Vulkan 1.3.239 and before write
// SPV_NV_cooperative_matrix, drivers of today read SPV_KHR_cooperative_matrix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// The numbers (SpecId) of the specialisation constants that size the types of a module: they tell
// what a type is for, which SPV_NV_cooperative_matrix does not.
enum MatrixConstant : uint32_t { kRowsA, kColumnsA, kRowsB, kColumnsB, kRowsC, kColumnsC };

// Words of a SPIR-V module, valid with SPV_NV_cooperative_matrix, in which every cooperative matrix
// is sized by those constants. Modules without such types come back as they are.
std::vector<uint32_t> khr_matrices(std::span<const uint32_t> words);

// The same module with other sizes.
std::vector<uint32_t> with_matrix_sizes(std::span<const uint32_t> words, uint32_t m, uint32_t n,
                                        uint32_t k);

}  // namespace weft
