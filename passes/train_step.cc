// SPDX-License-Identifier: Apache-2.0
#include "passes/train_step.h"

#include <algorithm>
#include <map>
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
  TrainStep(const Module& module, Differentiated parts, const Optimizer& optimizer)
      : module_(module),
        parts_(std::move(parts)),
        optimizer_(optimizer),
        b_(module_, parts_.graph) {
    for (const Storage& item : module.storage) stored_.emplace(item.name, item.loc);
    for (const Update& update : parts_.graph.updates) updated_.insert(update.target);
  }

  Result<Training> build(const std::vector<Wanted>& wanted) {
    Graph& graph = parts_.graph;
    graph.set_name(kTrainStep);
    WEFT_TRY(lr_, add_learning_rate());
    b_.set_origin({"optimizer"}, {});
    WEFT_TRY(Value step, read_state(kStep, {DType::i32, {}}));
    step_ = b_.add({step, b_.scalar(1, DType::i32)});
    graph.updates.push_back({kStep, step_, {}});
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].param) WEFT_TRY_STATUS(train(wanted[i], parts_.gradients[i]));
    }
    return Training{rebuild(module_, graph), std::move(storage_)};
  }

 private:
  Result<Value> add_learning_rate() {
    Graph& graph = parts_.graph;
    if (input_type(graph, "lr") != nullptr) {
      return error(graph.loc, "@train_step takes an input 'lr', and the graph has one already")
          .hint("rename the input 'lr'");
    }
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      for (uint32_t r = 0; r < graph[i].names.size(); ++r) {
        if (graph[i].names[r] == "lr") graph.set_value_name({i, r}, "");
      }
    }
    return graph.add_input("lr", {DType::f32, {}});
  }

  Result<Value> read_state(const std::string& name, const Type& type) {
    if (auto there = stored_.find(name); there != stored_.end()) {
      return error(there->second, "@", name, " already exists, but @train_step needs that name")
          .hint("rename @" + name);
    }
    storage_.push_back({Storage::state, name, type, {}, {}});
    return parts_.graph.read_param(name, type);
  }

  Status train(const Wanted& item, Value gradient) {
    Graph& graph = parts_.graph;
    if (updated_.count(item.name) > 0) {
      return error(item.loc, "@", item.name, " is updated by the loss's graph and the optimizer")
          .hint("leave @" + item.name + " out of --wrt");
    }
    std::vector<Value> operands = {graph.read_param(item.name, item.type), gradient};
    std::vector<std::string> targets = {item.name};
    for (const std::string& state : optimizer_.states) {
      targets.push_back("optimizer." + state + "." + item.name);
      WEFT_TRY(Value value, read_state(targets.back(), item.type));
      operands.push_back(value);
    }
    operands.push_back(b_.cast_to(lr_, item.type.dtype));
    if (optimizer_.takes_step) operands.push_back(step_);
    Value updated = b_.emit(optimizer_.op, std::move(operands));
    for (uint32_t r = 0; r < targets.size(); ++r) {
      graph.updates.push_back({targets[r], {updated.node, r}, {}});
    }
    return ok();
  }

  const Module& module_;
  std::map<std::string, Loc> stored_;  // what the module has already
  std::set<std::string> updated_;      // by the loss's graph
  Differentiated parts_;
  const Optimizer& optimizer_;
  Emitter b_;
  Value lr_;
  Value step_;
  std::vector<Storage> storage_;
};

}  // namespace

Result<Training> make_train_step(const Module& module, Differentiated parts,
                                 const std::vector<Wanted>& wanted, const std::string& optimizer) {
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
  return TrainStep(module, std::move(parts), *found).build(wanted);
}

}  // namespace weft
