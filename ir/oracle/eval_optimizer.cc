// The oracle's optimizer steps.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

// Kingma and Ba: "Adam: a method for stochastic optimization" (2015); the decoupled decay is of
// Loshchilov and Hutter: "Decoupled weight decay regularization" (2019).
EvalResult adam_step(const EvalArgs& args, bool decoupled) {
  const Attrs& attrs = args.node.attrs;
  double beta1 = attrs.real("beta1");
  double beta2 = attrs.real("beta2");
  double eps = attrs.real("eps");
  double decay = attrs.real("weight_decay");
  double lr = args.operand(4).reals[0];
  double step = args.operand(5).at(0);
  double correction1 = 1 - std::pow(beta1, step);
  double correction2 = 1 - std::pow(beta2, step);

  std::vector<Tensor> results;
  for (size_t i = 0; i < 3; ++i) results.push_back(args.make_result(i));
  for (size_t i = 0; i < results[0].reals.size(); ++i) {
    double param = args.operand(0).reals[i];
    double g = args.operand(1).reals[i] + (decoupled ? 0 : decay * param);
    double m = beta1 * args.operand(2).reals[i] + (1 - beta1) * g;
    double v = beta2 * args.operand(3).reals[i] + (1 - beta2) * g * g;
    double move = lr * (m / correction1) / (std::sqrt(v / correction2) + eps);
    results[0].reals[i] = param - move - (decoupled ? lr * decay * param : 0);
    results[1].reals[i] = m;
    results[2].reals[i] = v;
  }
  return results;
}

}  // namespace

EvalResult eval_sgd(const EvalArgs& args) {
  double momentum = args.node.attrs.real("momentum");
  double decay = args.node.attrs.real("weight_decay");
  double lr = args.operand(3).reals[0];
  std::vector<Tensor> results;
  for (size_t i = 0; i < 2; ++i) results.push_back(args.make_result(i));
  for (size_t i = 0; i < results[0].reals.size(); ++i) {
    double param = args.operand(0).reals[i];
    double g = args.operand(1).reals[i] + decay * param;
    double velocity = momentum * args.operand(2).reals[i] + g;
    results[0].reals[i] = param - lr * velocity;
    results[1].reals[i] = velocity;
  }
  return results;
}

EvalResult eval_adam(const EvalArgs& args) { return adam_step(args, false); }
EvalResult eval_adamw(const EvalArgs& args) { return adam_step(args, true); }

}  // namespace weft
