// The builder: how a model is written in C++. The public door of the front end.
// SPDX-License-Identifier: Apache-2.0
//
//   ModelBuilder m("ffn");
//   Dim batch = m.dim("B", 1, 4096);
//   m.begin_graph("forward");
//   Var x = m.input("x", {DType::f32, {batch, 512}});
//   Var w = m.param("w", {DType::f32, {512, 2048}}, {Init::xavier_uniform});
//   m.output("y", relu(matmul(x, w) * 0.5));
//   Result<Module> module = m.finish();
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ops.h"
#include "frontend/var.h"
#include "ir/graph/module.h"

namespace weft {

class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name);
  ModelBuilder(const ModelBuilder&) = delete;
  ModelBuilder& operator=(const ModelBuilder&) = delete;

  // A symbolic size with its bounds. Asked again, the bounds must be the same.
  Dim dim(const std::string& name, int64_t low = 1, int64_t high = DimFacts::kDefaultHigh);
  void assert_equal(const Dim& a, const Dim& b);

  // Everything from here on goes into this graph. Values of an earlier graph cannot be used in it.
  void begin_graph(const std::string& name);
  Var input(const std::string& name, const Type& type);
  void output(const std::string& name, const Var& value);
  void update(const std::string& target,
              const Var& value);  // the full name of a parameter or state

  // A parameter or state, under the names of the scopes around. Asked again (from another graph, or
  // to tie weights), it is the same one, and must have the same kind, type and init.
  Var param(const std::string& name, const Type& type, const Init& init);
  Var state(const std::string& name, const Type& type, const Init& init);

  Scope scope(const std::string& name) { return Scope(this, name); }

  // Turns dropout on (nn::dropout) for the current graph: adds the input `rng`, u32[2].
  void enable_dropout();
  // The current graph's `rng`; without a value where dropout is off.
  const Var& rng() const { return rng_; }
  // A number that no other random op of the current graph has.
  int64_t next_stream() { return stream_++; }

  // Any op of the table in the current graph. call() and the functions of ops.h are shorter.
  std::vector<Var> emit(Op op, const std::vector<Operand>& operands, Attrs attrs = {});

  // Notes that the model cannot be built. Only the first reason is kept.
  void fail(Error&& error);
  bool failed() const { return !errors_.empty(); }

  // The module, verified, or why there is none. Once: the builder is spent afterwards, and anything
  // asked of it fails.
  Result<Module> finish();

 private:
  friend class Scope;
  friend class Var;

  Var make_var(Value value);
  Var storage(Storage::Kind kind, const std::string& name, const Type& type, const Init& init);
  bool in_graph(std::string_view what);
  bool check_name(std::string_view what, const std::string& name);
  bool resolve(Op op, const std::vector<Operand>& operands, std::vector<Value>& values);
  bool append_number(Op op, double number, const std::vector<Operand>& operands, Value& value);
  bool owns(std::string_view what, const Var& var);

  Module module_;
  std::map<std::string, size_t> storage_index_;
  std::set<std::string> value_names_;  // of the current graph
  std::string path_;                   // scopes, joined with "."
  Var rng_;
  int64_t stream_ = 0;
  Diagnostics errors_;
};

}  // namespace weft
