// Evaluation of one op on tensors: eval_<op> for each row of the op table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/oracle/oracle.h"

namespace weft {

struct EvalArgs {
  const Node& node;
  std::span<const Tensor* const> operands;
  const std::vector<std::vector<int64_t>>& result_shapes;  // concrete
  const DimBinding& dims;
  int64_t live_bytes = 0;                    // of all tensors but the results; a body's come on top
  const OracleRounding* rounding = nullptr;  // for a body's results

  const Tensor& operand(size_t i) const { return *operands[i]; }
  DType result_dtype(size_t i = 0) const { return node.types[i].dtype; }
  // A zero-filled tensor of the i-th result's type.
  Tensor make_result(size_t i = 0) const {
    return Tensor::zeros(result_dtype(i), result_shapes[i]);
  }
  std::vector<int64_t> concrete(std::string_view dims_attr) const;  // attribute of kind dims
  int64_t concrete_dim(std::string_view dim_attr) const;            // attribute of kind dim

  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(node.loc, name(node.op), ": ", parts...);
  }
};

using EvalResult = Result<std::vector<Tensor>>;

// Dispatches on the op. Structural ops (input, param) are not evaluated here.
EvalResult eval(const EvalArgs& args);

#define OP(name, ...) EvalResult eval_##name(const EvalArgs& args);
#include "ir/graph/ops.def"
#undef OP

}  // namespace weft
