// Tensors on the command line: from and to .npy files, and in a few words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/oracle/oracle.h"

namespace weft::cli {

// Inputs of a graph, each given as NAME=FILE.npy. Types and shapes are compared, also with the
// sizes `dims`, before anything large is read.
Result<TensorMap> read_inputs(const Module& module, const Graph& graph,
                              const std::vector<std::string>& given, const DimBinding& dims);

// Output names become file names: none may leave the folder.
Status check_output_names(const std::vector<std::string>& names);
// NAME.npy of each; nothing without a folder.
Status save_outputs(const TensorMap& outputs, const std::string& folder);

std::string shape_text(const Tensor& tensor);  // "f32[2, 3]"
// A scalar by its value; anything larger by its mean and range, or the fact that it holds a NaN.
std::string summary(const Tensor& tensor);

}  // namespace weft::cli
