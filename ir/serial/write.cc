// Writing of the binary form.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_map>

#include "ir/serial/serial.h"
#include "module_generated.h"

namespace weft {
namespace {

using flatbuffers::Offset;
template <class T>
using Offsets = std::vector<Offset<T>>;

class Writer {
 public:
  std::string run(const Module& module) {
    std::vector<Offset<serial::Bounds>> bounds;
    for (const auto& [symbol, limits] : module.dims.bounds) {
      bounds.push_back(
          serial::CreateBounds(out_, out_.CreateSharedString(symbol), limits.low, limits.high));
    }
    std::vector<serial::Equality> equalities;
    for (const auto& [left, right] : module.dims.equalities()) {
      equalities.emplace_back(dim(left), dim(right));
    }
    Offsets<serial::StorageData> storage;
    for (const Storage& item : module.storage) storage.push_back(storage_data(item));
    Offsets<serial::GraphData> graphs;
    for (const Graph& graph : module.graphs) graphs.push_back(graph_data(graph));
    auto name = out_.CreateString(module.name);
    auto weights = out_.CreateString(module.weights);
    auto dims = out_.CreateVector(dims_);
    auto types = out_.CreateVector(types_);
    auto root = serial::CreateModuleData(
        out_, kBinaryVersion, name, weights, dims, types, out_.CreateVector(bounds),
        out_.CreateVectorOfStructs(equalities), out_.CreateVector(storage),
        out_.CreateVector(graphs), out_.CreateVector(texts_));
    serial::FinishModuleDataBuffer(out_, root);
    return std::string(reinterpret_cast<const char*>(out_.GetBufferPointer()), out_.GetSize());
  }

 private:
  // Dims and types are stored once each.
  uint32_t dim(const Dim& dim) {
    auto [known, fresh] = dim_index_.try_emplace(dim, static_cast<uint32_t>(dims_.size()));
    if (fresh) dims_.push_back(out_.CreateString(dim.str()));
    return known->second;
  }

  std::vector<uint32_t> dims(const std::vector<Dim>& list) {
    std::vector<uint32_t> result;
    for (const Dim& d : list) result.push_back(dim(d));
    return result;
  }

  uint32_t type(const Type& type) {
    auto [known, fresh] = type_index_.try_emplace(type.str(), static_cast<uint32_t>(types_.size()));
    if (fresh) {
      auto dtype = out_.CreateSharedString(std::string(name(type.dtype)));
      types_.push_back(serial::CreateType(out_, dtype, out_.CreateVector(dims(type.shape))));
    }
    return known->second;
  }

  Offset<serial::StorageData> storage_data(const Storage& item) {
    auto kind = out_.CreateSharedString(item.kind == Storage::param ? "param" : "state");
    auto init = out_.CreateSharedString(item.init.str());
    auto name = out_.CreateString(item.name);
    return serial::CreateStorageData(out_, kind, name, type(item.type), init);
  }

  Offset<serial::AttrData> attr_data(const Attr& attr) {
    Offset<flatbuffers::String> text;
    Offset<flatbuffers::Vector<int64_t>> ints;
    Offset<flatbuffers::Vector<double>> reals;
    Offset<flatbuffers::Vector<uint32_t>> indices;
    auto put_ints = [&](const std::vector<int64_t>& v) { ints = out_.CreateVector(v); };
    auto put_reals = [&](const std::vector<double>& v) { reals = out_.CreateVector(v); };
    auto put_text = [&](const std::string& v) { text = out_.CreateSharedString(v); };
    auto put_dims = [&](const std::vector<Dim>& v) { indices = out_.CreateVector(dims(v)); };
    struct Visitor {
      decltype(put_ints)& ints;
      decltype(put_reals)& reals;
      decltype(put_text)& text;
      decltype(put_dims)& dims;
      void operator()(int64_t v) const { ints({v}); }
      void operator()(bool v) const { ints({v ? 1 : 0}); }
      void operator()(double v) const { reals({v}); }
      void operator()(const std::string& v) const { text(v); }
      void operator()(DType v) const { text(std::string(name(v))); }
      void operator()(const std::vector<int64_t>& v) const { ints(v); }
      void operator()(const Dim& v) const { dims({v}); }
      void operator()(const std::vector<Dim>& v) const { dims(v); }
      void operator()(const Numbers& v) const {
        v.real() ? reals(std::get<0>(v.values)) : ints(std::get<1>(v.values));
      }
    };
    std::visit(Visitor{put_ints, put_reals, put_text, put_dims}, attr.value);
    auto name = out_.CreateSharedString(attr.name);
    return serial::CreateAttrData(out_, name, ints, reals, text, indices);
  }

  Offset<serial::NodeData> node_data(const Node& node) {
    Offsets<serial::AttrData> attrs;
    for (const Attr& attr : node.attrs) attrs.push_back(attr_data(attr));
    std::vector<serial::ValueRef> operands;
    for (Value operand : node.operands) operands.push_back(ref(operand));
    std::vector<uint32_t> types;
    for (const Type& t : node.types) types.push_back(type(t));
    auto op = out_.CreateSharedString(std::string(name(node.op)));
    Offset<serial::GraphData> body;
    if (node.body != nullptr) body = graph_data(*node.body);
    return serial::CreateNodeData(out_, op, out_.CreateVectorOfStructs(operands),
                                  out_.CreateVector(attrs), out_.CreateVector(types),
                                  texts(node.names), texts(node.origin), node.instance, body);
  }

  Offset<flatbuffers::Vector<uint32_t>> texts(const std::vector<std::string>& list) {
    std::vector<uint32_t> indices;
    for (const std::string& item : list) {
      auto [known, fresh] = text_index_.try_emplace(item, static_cast<uint32_t>(texts_.size()));
      if (fresh) texts_.push_back(out_.CreateString(item));
      indices.push_back(known->second);
    }
    return out_.CreateVector(indices);
  }

  static serial::ValueRef ref(Value value) { return {value.node, value.result}; }

  Offset<serial::GraphData> graph_data(const Graph& graph) {
    Offsets<serial::NodeData> nodes;
    for (const Node& node : graph.nodes()) nodes.push_back(node_data(node));
    Offsets<serial::OutputData> outputs;
    for (const Output& output : graph.outputs) {
      serial::ValueRef value = ref(output.value);
      outputs.push_back(serial::CreateOutputData(out_, out_.CreateString(output.name), &value));
    }
    Offsets<serial::UpdateData> updates;
    for (const Update& update : graph.updates) {
      serial::ValueRef value = ref(update.value);
      updates.push_back(serial::CreateUpdateData(out_, out_.CreateString(update.target), &value));
    }
    auto name = out_.CreateString(graph.name());
    return serial::CreateGraphData(out_, name, out_.CreateVector(nodes), out_.CreateVector(outputs),
                                   out_.CreateVector(updates));
  }

  flatbuffers::FlatBufferBuilder out_;
  Offsets<flatbuffers::String> dims_;
  std::map<Dim, uint32_t> dim_index_;
  Offsets<serial::Type> types_;
  std::unordered_map<std::string, uint32_t> type_index_;
  Offsets<flatbuffers::String> texts_;
  std::unordered_map<std::string, uint32_t> text_index_;
};

}  // namespace

std::string write_binary(const Module& module) { return Writer().run(module); }

}  // namespace weft
