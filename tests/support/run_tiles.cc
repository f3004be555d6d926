// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_tiles.h"

#include "ir/oracle/elements.h"
#include "ir/oracle/run.h"
#include "ir/oracle/sizes.h"
#include "ir/tile/interpret.h"
#include "ir/tile/text.h"
#include "passes/size_checks.h"
#include "passes/views.h"

namespace weft {
namespace {

class TileRun {
 public:
  TileRun(const Module& module, const Graph& graph, DimBinding dims)
      : module_(module), graph_(graph), dims_(std::move(dims)) {}

  void give(uint32_t node, Tensor tensor) { tensors_[{node, 0}] = std::move(tensor); }

  Status run() {
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_[i];
      if (tensors_.contains({i, 0}) || node.op == Op::input || node.op == Op::param) continue;
      if (is_free_view(graph_, {i, 0}, module_.dims)) continue;
      if (node.op == Op::region) {
        WEFT_TRY_STATUS(run_region(i));
      } else if (node.op == Op::chunked) {
        WEFT_TRY_STATUS(run_chunks(i));
      } else {
        WEFT_TRY_STATUS(run_plain(i));
      }
    }
    return ok();
  }

  // The elements of a value, views resolved.
  Result<Tensor> read(Value value) {
    const View view = view_of(graph_, value, module_.dims);
    WEFT_TRY(Sizes shape, sizes(graph_.type(value)));
    WEFT_TRY(int64_t offset, size(view.offset));
    Sizes strides;
    for (const Dim& stride : view.strides) {
      WEFT_TRY(int64_t own, size(stride));
      strides.push_back(own);
    }
    const Tensor& base = tensors_.at(view.base);
    Tensor result = Tensor::zeros(base.dtype, shape);
    by_storage(base, [&](auto zero) {
      const auto& from = elements<decltype(zero)>(base);
      auto& to = elements<decltype(zero)>(result);
      walk(shape, std::array<Sizes, 1>{strides},
           [&](size_t i, const auto& at) { to[i] = from[static_cast<size_t>(offset + at[0])]; });
    });
    return result;
  }

 private:
  Result<int64_t> size(const Dim& dim) const {
    std::optional<int64_t> value = dim.evaluate(dims_);
    if (!value) return error({}, "no size for ", dim);
    return *value;
  }
  Result<Sizes> sizes(const Type& type) const { return concrete_shape(type, dims_, {}, "a value"); }

  Status run_region(uint32_t index) {
    const Node& node = graph_[index];
    WEFT_TRY(LoweredRegion lowered, lower_region(module_, graph_, index, {}));
    for (uint32_t i = 0; i < node.types.size(); ++i) {
      WEFT_TRY(Sizes shape, sizes(node.types[i]));
      // What nobody writes is noticed.
      Tensor result = Tensor::zeros(node.types[i].dtype, shape);
      for (int64_t j = 0; j < result.size(); ++j) result.set(j, 77);
      tensors_[{index, i}] = std::move(result);
    }
    std::vector<Tensor> workspaces;
    for (const LoweredRegion::Workspace& workspace : lowered.workspaces) {
      WEFT_TRY(int64_t elements, size(workspace.elements));
      workspaces.push_back(Tensor::zeros(workspace.dtype, {elements}));
    }
    for (size_t p = 0; p < lowered.programs.size(); ++p) {
      const tile::Program& program = lowered.programs[p];
      if (Status verified = tile::verify(program); !verified.ok()) {
        return error({}, render(verified.diagnostics()), tile::print(program));
      }
      WEFT_TRY(tile::Program again, tile::parse("tiles", tile::print(program)));
      if (tile::print(again) != tile::print(program)) {
        return error({}, "other text after parsing:\n", tile::print(program), tile::print(again));
      }
      std::vector<tile::BoundBuffer> buffers;
      for (const LoweredRegion::Bound& bound : lowered.buffers[p]) {
        WEFT_TRY(tile::BoundBuffer buffer, find(index, bound, workspaces));
        buffers.push_back(buffer);
      }
      WEFT_TRY_STATUS(tile::interpret(program, dims_, buffers));
    }
    return ok();
  }

  Result<tile::BoundBuffer> find(uint32_t node, const LoweredRegion::Bound& bound,
                                 std::vector<Tensor>& workspaces) {
    switch (bound.kind) {
      case LoweredRegion::Bound::operand: {
        const View view = view_of(graph_, graph_[node].operands[bound.index], module_.dims);
        WEFT_TRY(int64_t offset, size(view.offset));
        return tile::BoundBuffer{&tensors_.at(view.base), offset};
      }
      case LoweredRegion::Bound::result:
        return tile::BoundBuffer{&tensors_.at({node, bound.index}), 0};
      case LoweredRegion::Bound::workspace: return tile::BoundBuffer{&workspaces[bound.index], 0};
    }
    return error({}, "a buffer of no kind");
  }

  // Constants, packs, and whatever else fusion leaves outside: as the oracle has it.
  Status run_plain(uint32_t index) {
    const Node& node = graph_[index];
    std::vector<Tensor> read_operands;
    for (Value operand : node.operands) {
      WEFT_TRY(Tensor tensor, read(operand));
      read_operands.push_back(std::move(tensor));
    }
    std::vector<const Tensor*> operands;
    for (const Tensor& tensor : read_operands) operands.push_back(&tensor);
    std::vector<Sizes> shapes;
    for (const Type& type : node.types) {
      WEFT_TRY(Sizes shape, sizes(type));
      shapes.push_back(std::move(shape));
    }
    WEFT_TRY(std::vector<Tensor> results, eval({node, operands, shapes, dims_}));
    for (uint32_t i = 0; i < results.size(); ++i) tensors_[{index, i}] = std::move(results[i]);
    return ok();
  }

  Status run_chunks(uint32_t index) {
    const Node& node = graph_[index];
    WEFT_TRY(int64_t rows, size(node.attrs.dim("rows")));
    for (uint32_t i = 0; i < node.types.size(); ++i) {
      WEFT_TRY(Sizes shape, sizes(node.types[i]));
      tensors_[{index, i}] = Tensor::zeros(node.types[i].dtype, shape);
    }
    const int64_t chunk = node.attrs.integer("chunk");
    for (int64_t base = 0; base < rows; base += chunk) {
      WEFT_TRY_STATUS(run_chunk(index, base, std::min(chunk, rows - base)));
    }
    return ok();
  }

  Status run_chunk(uint32_t index, int64_t base, int64_t count) {
    const Node& node = graph_[index];
    DimBinding dims = dims_;
    dims[node.attrs.text("symbol")] = count;
    TileRun body(module_, *node.body, dims);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      WEFT_TRY(Tensor whole, read(node.operands[i]));
      const bool sliced = node.attrs.ints("sliced_in")[i] == 1;
      body.give(node.body->inputs()[i].node, sliced ? rows_of(whole, base, count) : whole);
    }
    WEFT_TRY_STATUS(body.run());
    for (uint32_t i = 0; i < node.types.size(); ++i) {
      WEFT_TRY(Tensor part, body.read(node.body->outputs[i].value));
      const bool sliced = node.attrs.ints("sliced_out")[i] == 1;
      Tensor& whole = tensors_.at({index, i});
      const int64_t first = sliced ? base * (part.size() / count) : 0;
      for (int64_t j = 0; j < part.size(); ++j) {
        whole.set(first + j, part.at(j) + (sliced ? 0 : whole.at(j)));
      }
    }
    return ok();
  }

  static Tensor rows_of(const Tensor& whole, int64_t base, int64_t count) {
    Sizes shape = whole.shape;
    const int64_t row = whole.size() / std::max<int64_t>(1, shape[0]);
    shape[0] = count;
    Tensor part = Tensor::zeros(whole.dtype, shape);
    for (int64_t i = 0; i < part.size(); ++i) part.set(i, whole.at(base * row + i));
    return part;
  }

  const Module& module_;
  const Graph& graph_;
  DimBinding dims_;
  std::map<Value, Tensor> tensors_;
};

}  // namespace

Result<OracleResult> run_tiles(const Module& module, const Graph& graph, const TensorMap& inputs,
                               const TensorMap& storage, const DimBinding& given) {
  WEFT_TRY(DimBinding dims, bind_dims(module, graph, inputs, storage, given));
  for (const SizeCheck& check : size_checks(graph, module.dims)) {
    const std::optional<int64_t> small = check.small.evaluate(dims);
    const std::optional<int64_t> large = check.large.evaluate(dims);
    if (!small || !large || *small > *large) return error({}, check.message);
  }
  TileRun run(module, graph, dims);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph[i];
    if (node.op == Op::input) run.give(i, inputs.at(node.attrs.text("name")));
    if (node.op == Op::param) run.give(i, storage.at(node.attrs.text("name")));
  }
  WEFT_TRY_STATUS(run.run());
  OracleResult result;
  for (const Output& output : graph.outputs) {
    WEFT_TRY(result.outputs[output.name], run.read(output.value));
  }
  for (const Update& update : graph.updates) {
    WEFT_TRY(result.updates[update.target], run.read(update.value));
  }
  return result;
}

Result<std::string> print_tiles(const Module& module, const Graph& graph) {
  std::string text;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph[i].op == Op::chunked) {
      WEFT_TRY(std::string inner, print_tiles(module, *graph[i].body));
      text += inner;
    }
    if (graph[i].op != Op::region) continue;
    WEFT_TRY(LoweredRegion lowered, lower_region(module, graph, i, {}));
    for (const tile::Program& program : lowered.programs) text += tile::print(program);
  }
  return text;
}

}  // namespace weft
