// Gradients of a case: the graph that computes them, and central differences to hold them against.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "tests/support/case_file.h"

namespace weft {

// A scalar function of a case's inputs: each output times fixed weights, all added up.
struct WeightedLoss {
  Module module;     // graph @case returns `loss`
  TensorMap inputs;  // those of the case and the weights

  Result<double> value() const;  // at `inputs`
  // The module with the graph @backward, which returns d loss / d input for each of `wrt`.
  Result<Module> with_backward(const std::vector<std::string>& wrt) const;
  // What that graph computes, by input.
  Result<TensorMap> gradients(const std::vector<std::string>& wrt) const;
  // The same for one input, by central differences of fourth order.
  Result<Tensor> differences(const std::string& input) const;
};

// `weights` by output; an output without any gets pseudo-random ones.
Result<WeightedLoss> weighted_loss(const Module& module, const OpCase& c, const TensorMap& weights);

// The case with every input that is not a float turned into an f64 input and a cast, so that the
// gradient with respect to it can be asked for.
struct FloatCase {
  Module module;
  OpCase c;
};
FloatCase with_float_inputs(const Module& module, const OpCase& c);

}  // namespace weft
