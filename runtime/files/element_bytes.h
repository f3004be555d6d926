// Elements of a tensor as the bytes that files hold: little endian, one after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ir/oracle/tensor.h"

namespace weft {

// Needs bytes for exactly the elements of `shape`. A bool is any byte but 0.
Tensor tensor_from_bytes(DType dtype, std::vector<int64_t> shape, std::string_view bytes);

// Appends the tensor's elements, floats rounded to its type, as numbers of type `stored`, which is
// the same or a wider one.
void append_bytes(const Tensor& tensor, DType stored, std::string& out);

}  // namespace weft
