// SPDX-License-Identifier: Apache-2.0
#include "passes/train_step.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/graph/rebuild.h"

namespace weft {
namespace {

constexpr const char* kStep = "optimizer.step";

struct Optimizer {
  std::string_view name;
  Op op;
  bool takes_step;
  std::vector<std::string> states;  // one tensor of the parameter's type each
};

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> kOptimizers = {
      {"sgd", Op::sgd, false, {"velocity"}},
      {"adam", Op::adam, true, {"m", "v"}},
      {"adamw", Op::adamw, true, {"m", "v"}},
  };
  return kOptimizers;
}

class TrainStep {
 public:
  TrainStep(const Module& module, Differentiated parts, const Optimizer& optimizer,
            const TrainSettings& settings)
      : module_(module),
        parts_(std::move(parts)),
        optimizer_(optimizer),
        settings_(settings),
        b_(module_, parts_.graph) {
    for (const Storage& item : module.storage) stored_.emplace(item.name, item.loc);
    for (const Update& update : parts_.graph.updates) updated_.insert(update.target);
  }

  Result<Training> build(const std::vector<Wanted>& wanted) {
    Graph& graph = parts_.graph;
    graph.set_name(kTrainStep);
    WEFT_TRY(lr_, add_number_input(graph, "lr"));
    if (settings_.accumulate) {
      WEFT_TRY(weight_, add_number_input(graph, "weight"));
      WEFT_TRY(scale_, add_number_input(graph, "scale"));
    }
    b_.set_origin({"optimizer"}, {});
    WEFT_TRY(Value step, read_state(kStep, {DType::i32, {}}));
    step_ = b_.add({step, b_.scalar(1, DType::i32)});
    if (settings_.accumulate) WEFT_TRY_STATUS(add_accumulated(wanted));
    find_norm(wanted);
    graph.updates.push_back({kStep, guarded(step_, step), {}});
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].param) WEFT_TRY_STATUS(train(wanted[i], parts_.gradients[i]));
    }
    return Training{rebuild(module_, graph), std::move(storage_)};
  }

 private:
  Result<Value> read_state(const std::string& name, const Type& type) {
    if (auto there = stored_.find(name); there != stored_.end()) {
      return error(there->second, "@", name, " already exists, but @train_step needs that name")
          .hint("rename @" + name);
    }
    storage_.push_back({Storage::state, name, type, {}, {}});
    return parts_.graph.read_param(name, type);
  }

  // Each gradient becomes kept + weight * gradient; zeros are kept for the next step.
  Status add_accumulated(const std::vector<Wanted>& wanted) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i].param) continue;
      const std::string name = kAccumulated + wanted[i].name;
      WEFT_TRY(Value kept, read_state(name, wanted[i].type));
      Value& gradient = parts_.gradients[i];
      gradient = b_.add({kept, b_.mul({gradient, b_.cast_to(weight_, wanted[i].type.dtype)})});
      parts_.graph.updates.push_back({name, b_.zeros(wanted[i].type), {}});
    }
    return ok();
  }

  // The norm of what is applied, whether it is finite, and the factor that brings it to the limit.
  void find_norm(const std::vector<Wanted>& wanted) {
    if (!settings_.guard && settings_.clip <= 0) return;
    std::vector<Value> gradients;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].param) gradients.push_back(parts_.gradients[i]);
    }
    Value norm = b_.emit(Op::global_norm, std::move(gradients));
    const DType dtype = b_.type(norm).dtype;
    if (settings_.accumulate) norm = b_.mul({norm, b_.cast_to(scale_, dtype)});
    if (settings_.clip > 0) {
      // As PyTorch's clip_grad_norm_ has it.
      Value limit = b_.div({b_.like(settings_.clip, norm), b_.add({norm, b_.like(1e-6, norm)})});
      factor_ = b_.minimum({limit, b_.like(1, norm)});
    }
    if (!settings_.guard) return;
    parts_.graph.outputs.push_back({"grad_norm", norm, {}});
    const Value loss = parts_.graph.outputs[0].value;
    finite_ = b_.logical_and({b_.is_finite({norm}), b_.is_finite({loss})});
  }

  Value guarded(Value fresh, Value old) {
    return finite_ ? b_.select({*finite_, fresh, old}) : fresh;
  }

  // One factor for all gradients: flatten-optimizer takes it out again.
  Value scaled(Value gradient) {
    const DType dtype = b_.type(gradient).dtype;
    std::optional<Value> factor = factor_;
    if (settings_.accumulate) {
      factor = factor ? b_.mul({*factor, b_.cast_to(scale_, b_.type(*factor).dtype)}) : scale_;
    }
    return factor ? b_.mul({gradient, b_.cast_to(*factor, dtype)}) : gradient;
  }

  Status train(const Wanted& item, Value gradient) {
    Graph& graph = parts_.graph;
    if (updated_.count(item.name) > 0) {
      return error(item.loc, "@", item.name, " is updated by the loss's graph and the optimizer")
          .hint("leave @" + item.name + " out of --wrt");
    }
    std::vector<Value> operands = {graph.read_param(item.name, item.type), scaled(gradient)};
    std::vector<std::string> targets = {item.name};
    std::vector<Value> old = {operands[0]};
    for (const std::string& state : optimizer_.states) {
      targets.push_back("optimizer." + state + "." + item.name);
      WEFT_TRY(Value value, read_state(targets.back(), item.type));
      operands.push_back(value);
      old.push_back(value);
    }
    operands.push_back(b_.cast_to(lr_, item.type.dtype));
    if (optimizer_.takes_step) operands.push_back(step_);
    Attrs attrs = settings_.attrs;
    if (settings_.decay_matrices_only && item.type.rank() < 2) attrs.set("weight_decay", 0.0);
    Value updated = b_.emit(optimizer_.op, std::move(operands), std::move(attrs));
    for (uint32_t r = 0; r < targets.size(); ++r) {
      graph.updates.push_back({targets[r], guarded({updated.node, r}, old[r]), {}});
    }
    return ok();
  }

  const Module& module_;
  std::map<std::string, Loc> stored_;  // what the module has already
  std::set<std::string> updated_;      // by the loss's graph
  Differentiated parts_;
  const Optimizer& optimizer_;
  const TrainSettings& settings_;
  Emitter b_;
  Value lr_;
  Value weight_;  // with `accumulate`
  Value scale_;
  Value step_;
  std::optional<Value> factor_;  // of all gradients
  std::optional<Value> finite_;
  std::vector<Storage> storage_;
};

}  // namespace

Result<Training> make_train_step(const Module& module, Differentiated parts,
                                 const std::vector<Wanted>& wanted, const TrainSettings& settings) {
  const std::string& optimizer = settings.optimizer;
  auto found = std::ranges::find(optimizers(), optimizer, &Optimizer::name);
  if (found == optimizers().end()) {
    std::vector<std::string> names;
    for (const Optimizer& known : optimizers()) names.emplace_back(known.name);
    std::string near = did_you_mean(optimizer, names);
    return error({}, "there is no optimizer '", optimizer, "'")
        .hint(near.empty() ? "try --optimizer adam" : near);
  }
  if (std::ranges::none_of(wanted, &Wanted::param)) {
    return error(parts.graph.loc, "there is no parameter for ", optimizer, " to train")
        .hint("declare one in the module, for instance param @w: f32[4] = ones");
  }
  return TrainStep(module, std::move(parts), *found, settings).build(wanted);
}

Result<Value> add_number_input(Graph& graph, const std::string& name) {
  if (input_type(graph, name) != nullptr) {
    return error(graph.loc, "@train_step takes an input '", name,
                 "', and the graph has one already")
        .hint("rename the input '" + name + "'");
  }
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    for (uint32_t r = 0; r < graph[i].names.size(); ++r) {
      if (graph[i].names[r] == name) graph.set_value_name({i, r}, "");
    }
  }
  return graph.add_input(name, {DType::f32, {}});
}

}  // namespace weft
