// SPDX-License-Identifier: Apache-2.0
#include "passes/chunk_loss.h"

#include <algorithm>

#include "ir/graph/rebuild.h"
#include "ir/graph/region.h"
#include "ir/text/text.h"
#include "passes/chunk_rows.h"
#include "passes/regions.h"

namespace weft {
namespace {

constexpr int64_t kFewestColumns = 2048;  // narrower products are better kept whole
constexpr int64_t kChunkRows = 384;       // whole tiles of a product for any few threads

std::string new_symbol(const Module& module) {
  const std::set<std::string> known = symbols_of(module);
  for (int i = 0;; ++i) {
    if (std::string name = cat("R", i); !known.contains(name)) return name;
  }
}

bool is_large(const Graph& graph, const Node& node, const DimFacts& facts) {
  if (node.op != Op::matmul || !is_float(node.types[0].dtype)) return false;
  if (graph.type(node.operands[1]).rank() != 2 || node.instance != 0) return false;
  Shape rows = node.types[0].shape;
  const Dim columns = rows.back();
  rows.pop_back();
  return facts.bounds_of(columns).low >= kFewestColumns &&
         facts.bounds_of(element_count(rows)).high > kChunkRows;
}

// Replaces one part of a graph by a `chunked` node.
class Chunker {
 public:
  Chunker(const Module& module, const Graph& graph, RowPart part)
      : module_(module),
        graph_(graph),
        part_(std::move(part)),
        names_(value_names(graph)),
        symbol_(new_symbol(module)),
        result_(graph.name()),
        out_(module, result_) {}

  Graph run() {
    result_.loc = graph_.loc;
    find_after();
    copy_nodes(false);
    emit_chunked();
    copy_nodes(true);
    for (const Output& output : graph_.outputs) {
      result_.outputs.push_back({output.name, outer_.at(output.value), output.loc});
    }
    for (const Update& update : graph_.updates) {
      result_.updates.push_back({update.target, outer_.at(update.value), update.loc});
    }
    return rebuild(module_, result_);
  }

 private:
  // Only inside: what is cloned stays outside as well, and is dropped there if nobody reads it.
  bool holds(uint32_t node) const {
    return part_.nodes.contains(node) && !part_.clones.contains(node);
  }

  void find_after() {
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      for (Value operand : graph_[i].operands) {
        if (!holds(i) && (holds(operand.node) || after_.contains(operand.node))) after_.insert(i);
      }
    }
  }

  // Nodes outside of the part, those that wait for it or the others.
  void copy_nodes(bool after) {
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (holds(i) || after_.contains(i) != after) continue;
      const Node& node = graph_[i];
      if (node.op == Op::input) {
        outer_[{i, 0}] = result_.add_input(node.attrs.text("name"), node.types[0], node.loc);
        continue;
      }
      if (node.op == Op::param) {
        outer_[{i, 0}] = result_.read_param(node.attrs.text("name"), node.types[0], node.loc);
        continue;
      }
      Node copy = node;
      for (Value& operand : copy.operands) operand = outer_.at(operand);
      const uint32_t made = out_.emit_node(std::move(copy));
      for (uint32_t r = 0; r < node.types.size(); ++r) outer_[{i, r}] = {made, r};
    }
  }

  size_t row_axes(RowPlace of) const {
    return of == RowPlace::leading ? part_.rows.size() : of == RowPlace::merged ? 1 : 0;
  }

  // `shape` with its row axes as one of size `rows`.
  Shape merged(const Shape& shape, RowPlace of, const Dim& rows) const {
    Shape result(shape.begin() + static_cast<std::ptrdiff_t>(row_axes(of)), shape.end());
    if (row_axes(of) > 0) result.insert(result.begin(), rows);
    return result;
  }

  void emit_chunked() {
    auto body = std::make_shared<Graph>();
    Emitter b(module_, *body);
    Node node;
    node.op = Op::chunked;
    std::vector<int64_t> sliced_in;
    out_.set_origin({}, graph_.node(part_.product).loc);
    for (const auto& [value, of] : part_.inputs) {
      if (of == RowPlace::none && graph_.node(value).operands.empty() &&
          is_pointwise(graph_.node(value))) {
        inside_[value] = {b.emit_node(graph_.node(value)), 0};
        continue;
      }
      const Type& type = graph_.type(value);
      const bool sliced = row_axes(of) > 0;
      node.operands.push_back(
          out_.reshape_to(outer_.at(value), merged(type.shape, of, part_.row_count)));
      sliced_in.push_back(sliced ? 1 : 0);
      const Type inner{type.dtype, merged(type.shape, of, Dim::symbol(symbol_))};
      inside_[value] = body->add_input(input_name(value), inner);
    }
    for (uint32_t i : part_.nodes) {
      inside_[{i, 0}] = emit_inside(b, i);
      node.origin = unite(node.origin, graph_[i].origin);
    }
    finish(std::move(node), std::move(sliced_in), std::move(body));
  }

  std::string input_name(Value value) {
    std::string name = names_[value.node][value.result].substr(1);
    while (!taken_.insert(name).second) name += "_in";
    return name;
  }

  void finish(Node node, std::vector<int64_t> sliced_in, std::shared_ptr<Graph> body) {
    std::vector<int64_t> sliced_out;
    for (const auto& [value, of] : part_.results) {
      body->outputs.push_back({body_output_name(sliced_out.size()), inside_.at(value), {}});
      sliced_out.push_back(row_axes(of) > 0 ? 1 : 0);
    }
    node.attrs = {{"symbol", symbol_},
                  {"rows", part_.row_count},
                  {"chunk", kChunkRows},
                  {"sliced_in", std::move(sliced_in)},
                  {"sliced_out", std::move(sliced_out)}};
    node.body = std::move(body);
    node.loc = graph_.node(part_.product).loc;
    const uint32_t made = out_.emit_node(std::move(node));
    uint32_t r = 0;
    for (const auto& [value, of] : part_.results) {
      const Node& old = graph_.node(value);
      out_.set_origin(old.origin, old.loc);
      const Value now = out_.reshape_to({made, r++}, graph_.type(value).shape);
      if (!old.names[value.result].empty()) result_.set_value_name(now, old.names[value.result]);
      outer_[value] = now;
    }
  }

  // A node of the part on the rows at hand.
  Value emit_inside(Emitter& b, uint32_t index) {
    const Node& node = graph_[index];
    const RowPlace of = part_.places.at(index);
    std::vector<Value> operands;
    for (Value operand : node.operands) operands.push_back(inside_.at(operand));
    if (is_plain(node) && of != RowPlace::none) strip_ones(b, node, of, operands);
    b.set_origin(node.origin, node.loc);
    const Value made = b.emit(node.op, std::move(operands), inner_attrs(node, of));
    const std::string& name = names_[index][0];
    if (b.graph().node(made).names[0].empty() && taken_.insert(name.substr(1)).second) {
      b.graph().set_value_name(made, name.substr(1));
    }
    return made;
  }

  // The same for all rows, but written with axes of size 1 in their place.
  void strip_ones(Emitter& b, const Node& node, RowPlace of, std::vector<Value>& operands) const {
    const size_t rest = node.types[0].rank() - row_axes(of);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (place_of(node.operands[i]) != RowPlace::none) continue;
      const Shape shape = b.shape(operands[i]);
      if (shape.size() <= rest) continue;
      operands[i] = b.reshape_to(
          operands[i], Shape(shape.end() - static_cast<std::ptrdiff_t>(rest), shape.end()));
    }
  }

  RowPlace place_of(Value value) const {
    auto input = part_.inputs.find(value);
    return input == part_.inputs.end() ? part_.places.at(value.node) : input->second;
  }

  Attrs inner_attrs(const Node& node, RowPlace of) const {
    Attrs attrs = node.attrs;
    if (of == RowPlace::none) return attrs;
    if (is_reduction(node)) return reduction_attrs(node);
    if (node.op == Op::reshape || node.op == Op::broadcast) {
      attrs.set("shape", merged(node.types[0].shape, of, Dim::symbol(symbol_)));
    }
    if (node.op == Op::take_along_axis) {
      attrs.set("axis", node.attrs.integer("axis") - int64_t(row_axes(of)) + 1);
    }
    return attrs;
  }

  Attrs reduction_attrs(const Node& node) const {
    const auto rows = static_cast<int64_t>(row_axes(place_of(node.operands[0])));
    if (node.op == Op::argmax) {
      Attrs attrs = node.attrs;
      attrs.set("axis", node.attrs.integer("axis") - rows + 1);
      return attrs;
    }
    std::set<int64_t> axes;
    for (int64_t axis : node.attrs.ints("axes")) axes.insert(std::max<int64_t>(axis - rows + 1, 0));
    // A sum over the rows has no row axis to keep; its shape is restored outside.
    const bool summed = axes.contains(0);
    return {{"axes", std::vector<int64_t>(axes.begin(), axes.end())},
            {"keepdims", !summed && node.attrs.boolean("keepdims")}};
  }

  const Module& module_;
  const Graph& graph_;
  const RowPart part_;
  const std::vector<std::vector<std::string>> names_;
  const std::string symbol_;
  Graph result_;
  Emitter out_;
  std::set<uint32_t> after_;  // outside, and waiting for the part
  std::set<std::string> taken_;
  std::map<Value, Value> outer_;
  std::map<Value, Value> inside_;
};

// The first large product that can be computed by rows.
std::optional<RowPart> find_part(const Graph& graph, const DimFacts& facts,
                                 std::vector<NotChunked>* refused) {
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (!is_large(graph, graph[i], facts)) continue;
    auto found = find_row_part(graph, {i, 0}, facts);
    if (auto* part = std::get_if<RowPart>(&found)) return std::move(*part);
    if (refused != nullptr) refused->push_back({{i, 0}, std::get<std::string>(found)});
  }
  return std::nullopt;
}

}  // namespace

Result<bool> chunk_loss(Module& module, const PassOptions&) {
  bool changed = false;
  for (Graph& graph : module.graphs) {
    // Each round takes a product away.
    while (std::optional<RowPart> part = find_part(graph, module.dims, nullptr)) {
      graph = Chunker(module, graph, std::move(*part)).run();
      changed = true;
    }
  }
  return changed;
}

std::vector<NotChunked> explain_chunks(const Module& module, const Graph& graph) {
  std::vector<NotChunked> refused;
  find_part(graph, module.dims, &refused);
  return refused;
}

}  // namespace weft
