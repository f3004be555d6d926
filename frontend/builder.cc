// SPDX-License-Identifier: Apache-2.0
#include "frontend/builder.h"

#include "ir/text/names.h"

namespace weft {

Scope::Scope(ModelBuilder* builder, const std::string& name) : builder_(builder) {
  if (builder_ == nullptr) return;
  outer_length_ = builder_->path_.size();
  if (!builder_->path_.empty()) builder_->path_ += '.';
  builder_->path_ += name;
}

Scope::~Scope() {
  if (builder_ != nullptr) builder_->path_.resize(outer_length_);
}

bool Var::valid() const { return has_value_ && graph_ < builder_->module_.graphs.size(); }

const Type& Var::type() const {
  static const Type kNothing;
  return valid() ? builder_->module_.graphs[graph_].type(value_) : kNothing;
}

Dim Var::dim(int64_t axis) const {
  int64_t index = axis < 0 ? axis + rank() : axis;
  if (index >= 0 && index < rank()) return shape()[static_cast<size_t>(index)];
  if (valid()) builder_->fail(error({}, "axis ", axis, " is out of range for ", type()));
  return 1;
}

ModelBuilder::ModelBuilder(std::string name) { module_.name = std::move(name); }

void ModelBuilder::fail(Error&& error) {
  if (failed()) return;
  std::string place;
  if (!module_.graphs.empty()) place = "in graph @" + module_.graphs.back().name();
  if (!path_.empty()) place += (place.empty() ? "in " : ", ") + path_;
  errors_ = std::move(error).take();
  if (!place.empty()) errors_.back().notes.push_back({{}, place});
}

bool ModelBuilder::check_name(std::string_view what, const std::string& name) {
  if (name.empty()) {
    fail(error({}, what, " without a name"));
  } else if (utf8_prefix(name) != name.size()) {
    fail(error({}, what, ": byte ", utf8_prefix(name), " of the name is not UTF-8"));
  }
  return !failed();
}

Dim ModelBuilder::dim(const std::string& name, int64_t low, int64_t high) {
  if (!is_symbol(name)) {
    fail(error({}, "dim '", name, "' is not a name")
             .hint("use letters, digits and '_', and begin with a letter"));
    return 1;
  }
  DimFacts::Bounds bounds{low, high};
  auto [known, fresh] = module_.dims.bounds.emplace(name, bounds);
  if (!fresh && known->second != bounds) {
    fail(error({}, "dim ", name, " has bounds ", known->second.low, "..", known->second.high,
               ", asked for again with ", low, "..", high));
  }
  return Dim::symbol(name);
}

void ModelBuilder::assert_equal(const Dim& a, const Dim& b) { module_.dims.assert_equal(a, b); }

void ModelBuilder::begin_graph(const std::string& name) {
  if (!check_name("graph", name)) return;
  module_.graphs.emplace_back(name);
  value_names_.clear();
  rng_ = Var();
  stream_ = 0;
}

bool ModelBuilder::in_graph(std::string_view what) {
  if (module_.graphs.empty()) {
    fail(error({}, what, " outside of a graph").hint("call begin_graph(\"forward\") first"));
  }
  return !failed();
}

Var ModelBuilder::make_var(Value value) {
  Var var;
  var.builder_ = this;
  var.graph_ = static_cast<uint32_t>(module_.graphs.size() - 1);
  var.value_ = value;
  var.has_value_ = true;
  return var;
}

Var ModelBuilder::input(const std::string& name, const Type& type) {
  Var nothing;
  nothing.builder_ = this;
  if (!in_graph("input " + name) || !check_name("input", name)) return nothing;
  if (!value_names_.insert(name).second) {
    fail(error({}, "input ", name, " is defined twice"));
    return nothing;
  }
  return make_var(module_.graphs.back().add_input(name, type));
}

bool ModelBuilder::owns(std::string_view what, const Var& var) {
  if (failed()) return false;
  if (!var.valid()) {
    fail(error({}, what, " has no value"));
  } else if (var.builder_ != this) {
    fail(error({}, what, " belongs to another model"));
  } else if (var.graph_ + 1 != module_.graphs.size()) {
    fail(error({}, what, " belongs to graph @", module_.graphs[var.graph_].name())
             .hint("compute it again in this graph, or make it an input"));
  }
  return !failed();
}

void ModelBuilder::output(const std::string& name, const Var& value) {
  if (!in_graph("output " + name) || !check_name("output", name)) return;
  if (!owns("output " + name, value)) return;
  Graph& graph = module_.graphs.back();
  const Node& node = graph.node(value.value_);
  bool unnamed = node.op != Op::param && node.names[value.value_.result].empty();
  if (unnamed && value_names_.insert(name).second) graph.set_value_name(value.value_, name);
  graph.outputs.push_back({name, value.value_});
}

void ModelBuilder::update(const std::string& target, const Var& value) {
  if (!in_graph("update of @" + target) || !owns("update of @" + target, value)) return;
  module_.graphs.back().updates.push_back({target, value.value_});
}

Var ModelBuilder::param(const std::string& name, const Type& type, const Init& init) {
  return storage(Storage::param, name, type, init);
}

Var ModelBuilder::state(const std::string& name, const Type& type, const Init& init) {
  return storage(Storage::state, name, type, init);
}

Var ModelBuilder::storage(Storage::Kind kind, const std::string& name, const Type& type,
                          const Init& init) {
  Var nothing;
  nothing.builder_ = this;
  std::string full = path_.empty() ? name : path_ + "." + name;
  if (!in_graph("parameter @" + full) || !check_name("parameter", full)) return nothing;
  auto [known, fresh] = storage_index_.emplace(full, module_.storage.size());
  if (fresh) {
    module_.storage.push_back({kind, full, type, init});
  } else {
    const Storage& old = module_.storage[known->second];
    if (old.kind != kind || old.type != type || old.init != init) {
      auto describe = [](Storage::Kind k, const Type& t, const Init& i) {
        return cat(k == Storage::param ? "param " : "state ", t, " = ", i.str());
      };
      fail(error({}, "@", full, " is ", describe(old.kind, old.type, old.init),
                 ", asked for again as ", describe(kind, type, init))
               .hint("give it another name, or the same type and init"));
      return nothing;
    }
  }
  return make_var(module_.graphs.back().read_param(full, type));
}

void ModelBuilder::enable_dropout() {
  if (!rng_.valid()) rng_ = input("rng", {DType::u32, {2}});
}

bool ModelBuilder::append_number(Op op, double number, const std::vector<Operand>& operands,
                                 Value& value) {
  const Operand* like = nullptr;
  for (const Operand& operand : operands) {
    bool numeric = !operand.is_number && operand.var.dtype() != DType::boolean;
    if (numeric && like == nullptr) like = &operand;
  }
  if (like == nullptr) {
    fail(error({}, name(op), ": the element type of ", format_real(number), " is not known")
             .hint(cat("write scalar(m, ", format_real(number), ", DType::f32)")));
    return false;
  }
  Var made = scalar(*this, number, like->var.dtype());
  value = made.value_;
  return made.valid();
}

bool ModelBuilder::resolve(Op op, const std::vector<Operand>& operands,
                           std::vector<Value>& values) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number) continue;
    if (!owns(cat(name(op), ": operand ", i), operands[i].var)) return false;
  }
  for (const Operand& operand : operands) {
    Value value = operand.var.value_;
    if (operand.is_number && !append_number(op, operand.number, operands, value)) return false;
    values.push_back(value);
  }
  return true;
}

std::vector<Var> ModelBuilder::emit(Op op, const std::vector<Operand>& operands, Attrs attrs) {
  Var nothing;
  nothing.builder_ = this;
  std::vector<Var> results(info(op).results.size(), nothing);
  if (info(op).has(kStructural)) {
    fail(error({}, name(op), ": not an op of its own").hint("call input() or param()"));
  }
  Node node;
  node.op = op;
  node.attrs = std::move(attrs);
  // Scalars written inline have no provenance of their own.
  if (op != Op::constant && !path_.empty()) node.origin = {path_};
  if (!in_graph(name(op)) || !resolve(op, operands, node.operands)) return results;
  Result<Value> value = module_.graphs.back().append(std::move(node), module_.dims);
  if (!value.ok()) {
    fail(std::move(value).take_error());
    return results;
  }
  for (uint32_t i = 0; i < results.size(); ++i) results[i] = make_var({value->node, i});
  return results;
}

Result<Module> ModelBuilder::finish() {
  for (const Graph& graph : module_.graphs) {
    if (graph.outputs.empty() && graph.updates.empty()) {
      fail(error({}, "graph @", graph.name(), " has no output").hint("call output(\"y\", y)"));
    }
  }
  if (module_.graphs.empty()) fail(error({}, "model ", module_.name, " has no graph"));
  Module module = std::move(module_);
  module_ = Module();
  storage_index_.clear();
  if (failed()) return Error(errors_);
  fail(error({}, "the model is finished already").hint("begin a new ModelBuilder"));
  WEFT_TRY_STATUS(verify(module));
  return module;
}

}  // namespace weft
