// NumPy's .npy files: one tensor each. Format 1.0 to 3.0, see numpy.lib.format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/oracle/tensor.h"
#include "ir/support/result.h"

namespace weft {

// Reads only the header: the tensor has its type and shape, but no elements.
Result<Tensor> read_npy_header(const std::string& path);

// Little endian, of the element types that Weft has; Fortran order is turned into C order.
Result<Tensor> read_npy(const std::string& path);

// Format 1.0, C order, whole or not at all. Floats are rounded to the tensor's type; NumPy has no
// bf16, so such a tensor is written as f32, which holds the same numbers.
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace weft
