// The reference cases of tests/ops/cases: inputs and expected outputs of every op, made with NumPy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/oracle/oracle.h"

namespace weft {

// One case: a graph @case in the text form, what goes in and what must come out.
struct OpCase {
  std::string name;
  std::string graph;
  TensorMap inputs;
  TensorMap outputs;
  std::string error;       // not empty: the run must fail with a message that contains this
  bool zero_sign = false;  // signs of zeros are part of the expectation
  // Inputs where the outputs are smooth enough for central differences.
  std::vector<std::string> differentiable;
  // Expected gradients (by input) of the outputs weighted with `weights` (by output), for places
  // where differences cannot tell: kinks, ties, masked rows.
  TensorMap weights;
  TensorMap grads;
};

// The cases of an op; an error if there is no file or it is not well-formed.
Result<std::vector<OpCase>> load_cases(std::string_view op);

}  // namespace weft
