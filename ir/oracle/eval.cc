// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/eval.h"

#include <array>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

using EvalFn = EvalResult (*)(const EvalArgs& args);

constexpr std::array<EvalFn, kOpCount> kEvaluators = {
#define OP(name, ...) eval_##name,
#include "ir/graph/ops.def"
#undef OP
};

}  // namespace

int64_t EvalArgs::concrete_dim(std::string_view dim_attr) const {
  std::optional<int64_t> size = node.attrs.dim(dim_attr).evaluate(dims);
  WEFT_CHECK(size.has_value(), "every dim of a node that runs has a size");
  return *size;
}

std::vector<int64_t> EvalArgs::concrete(std::string_view dims_attr) const {
  std::vector<int64_t> sizes;
  for (const Dim& dim : node.attrs.dims(dims_attr)) {
    std::optional<int64_t> size = dim.evaluate(dims);
    WEFT_CHECK(size.has_value(), "every dim of a node that runs has a size");
    sizes.push_back(*size);
  }
  return sizes;
}

EvalResult eval(const EvalArgs& args) {
  return kEvaluators[static_cast<size_t>(args.node.op)](args);
}

EvalResult eval_input(const EvalArgs& args) {
  WEFT_CHECK(false, "an input is given, not evaluated");
  return args.fail("not evaluated");
}

EvalResult eval_param(const EvalArgs& args) {
  WEFT_CHECK(false, "a parameter is given, not evaluated");
  return args.fail("not evaluated");
}

}  // namespace weft
