// Running graphs on Tensors: convenient, with copies on the way in and out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ir/oracle/oracle.h"
#include "runtime/context.h"

namespace weft {

// The sizes that the inputs' shapes give to the symbols of a graph, beside those `given`; checked
// as the oracle does.
Result<DimBinding> dims_of_inputs(const LoadedExecutable& loaded, std::string_view graph,
                                  const TensorMap& inputs, const DimBinding& given = {});

// Binds to the inputs' sizes, and runs. Floats are rounded to their types on the way in.
Result<TensorMap> run_on_tensors(Context& context, std::string_view graph, const TensorMap& inputs,
                                 const DimBinding& given = {});

Status set_storage_tensor(Context& context, const std::string& name, const Tensor& value);
Result<Tensor> storage_tensor(Context& context, const std::string& name);

}  // namespace weft
