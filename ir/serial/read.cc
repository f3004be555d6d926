// Reading of the binary form. The bytes are hostile until proven otherwise.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "ir/graph/region.h"
#include "ir/serial/read_parts.h"
#include "ir/support/file.h"
#include "ir/text/cursor.h"
#include "ir/text/names.h"
#include "ir/text/parse_init.h"

namespace weft {
namespace {

class Reader {
 public:
  Reader(const std::string& file, size_t size) : parts_(file, size) {}

  Result<Module> run(const serial::ModuleData& data) {
    if (data.version() != kBinaryVersion) {
      return error(parts_.loc(), "format version ", data.version(), "; this build reads version ",
                   kBinaryVersion)
          .hint("write the module anew with the matching version of weft");
    }
    WEFT_TRY(module_.name, parts_.optional_text(data.name(), "module name"));
    WEFT_TRY(module_.weights, parts_.optional_text(data.weights(), "weights"));
    WEFT_TRY_STATUS(parts_.read_tables(data));
    WEFT_TRY_STATUS(read_facts(data));
    WEFT_TRY_STATUS(read_storage(data));
    for (const serial::GraphData* graph : list(data.graphs())) WEFT_TRY_STATUS(read_graph(*graph));
    // As in the text form, where it would be an empty file.
    if (module_.name.empty() && module_.storage.empty() && module_.graphs.empty()) {
      return error(parts_.loc(), "the file holds no module");
    }
    Status status = verify(module_);
    if (status.ok()) return std::move(module_);
    Diagnostics errors = std::move(status).take_error().take();
    if (errors.size() > kMaxErrors) errors.resize(kMaxErrors);
    for (Diagnostic& diagnostic : errors) diagnostic.loc = parts_.loc();  // bounds have none
    return Error(std::move(errors));
  }

 private:
  Status read_facts(const serial::ModuleData& data) {
    for (const serial::Bounds* bounds : list(data.bounds())) {
      WEFT_TRY(std::string symbol, parts_.text(bounds->symbol(), "symbol"));
      if (!is_symbol(symbol)) return error(parts_.loc(), quote(symbol), " is not a symbol");
      if (!module_.dims.bounds.try_emplace(symbol, DimFacts::Bounds{bounds->low(), bounds->high()})
               .second) {
        return error(parts_.loc(), "dim ", symbol, " has bounds twice");
      }
    }
    for (const serial::Equality* equality : list(data.equalities())) {
      WEFT_TRY(Dim left, parts_.dim(equality->left(), "assertion"));
      WEFT_TRY(Dim right, parts_.dim(equality->right(), "assertion"));
      module_.dims.assert_equal(left, right);
      if (module_.dims.equalities().size() > kMaxDimEqualities) {
        return error(parts_.loc(), "more than ", kMaxDimEqualities, " assertions");
      }
    }
    return ok();
  }

  Status read_storage(const serial::ModuleData& data) {
    for (const serial::StorageData* item : list(data.storage())) {
      if (module_.storage.size() == kMaxModuleNodes) {
        return error(parts_.loc(), "more than ", kMaxModuleNodes, " parameters");
      }
      Storage storage;
      WEFT_TRY(storage.name, parts_.name(item->name(), "a parameter's name"));
      std::string where = "@" + storage.name;
      WEFT_TRY(std::string kind, parts_.text(item->kind(), where));
      if (kind != "param" && kind != "state") {
        return error(parts_.loc(), where, ": unknown kind ", quote(kind));
      }
      storage.kind = kind == "param" ? Storage::param : Storage::state;
      WEFT_TRY(storage.type, parts_.type(item->type(), where));
      WEFT_TRY(std::string written, parts_.text(item->init(), where));
      Result<Init> init = parse_init(parts_.file(), std::move(written));
      if (!init.ok()) return parts_.relocated(where, init.diagnostics());
      storage.init = *init;
      storage.loc = parts_.loc();
      index_.emplace(storage.name, module_.storage.size());
      module_.storage.push_back(std::move(storage));
    }
    return ok();
  }

  Status read_graph(const serial::GraphData& data) {
    WEFT_TRY(std::string graph_name, parts_.name(data.name(), "a graph's name"));
    Graph graph(graph_name);
    graph.loc = parts_.loc();
    where_ = cat("graph @", shown(graph_name));
    WEFT_TRY_STATUS(read_nodes(graph, data));
    for (const serial::OutputData* output : list(data.outputs())) {
      WEFT_TRY_STATUS(count_result());
      WEFT_TRY(std::string name, parts_.name(output->name(), "an output's name"));
      WEFT_TRY(Value value, value_of(graph, *output->value(), "output " + name));
      graph.outputs.push_back({std::move(name), value, parts_.loc()});
    }
    for (const serial::UpdateData* update : list(data.updates())) {
      WEFT_TRY_STATUS(count_result());
      WEFT_TRY(std::string target, parts_.name(update->target(), "an update's target"));
      WEFT_TRY(Value value, value_of(graph, *update->value(), "update of @" + target));
      graph.updates.push_back({std::move(target), value, parts_.loc()});
    }
    module_.graphs.push_back(std::move(graph));
    return ok();
  }

  Status read_nodes(Graph& graph, const serial::GraphData& data) {
    for (const serial::NodeData* node : list(data.nodes())) {
      if (node_count_++ == kMaxModuleNodes) {
        return error(parts_.loc(), "the module has more than ", kMaxModuleNodes, " operations");
      }
      WEFT_TRY_STATUS(read_node(graph, *node));
    }
    return ok();
  }

  Result<std::shared_ptr<const Graph>> read_body(const serial::GraphData& data,
                                                 const std::string& where) {
    if (depth_++ == kMaxBodyDepth) {
      return error(parts_.loc(), where, ": more than ", kMaxBodyDepth,
                   " bodies inside one another");
    }
    std::string outside = std::exchange(where_, where + ", body");
    Graph body;
    body.loc = parts_.loc();
    WEFT_TRY_STATUS(read_nodes(body, data));
    for (const serial::OutputData* output : list(data.outputs())) {
      WEFT_TRY_STATUS(count_result());
      WEFT_TRY(Value value, value_of(body, *output->value(), "the body's output"));
      body.outputs.push_back({body_output_name(body.outputs.size()), value, parts_.loc()});
    }
    if (data.updates() != nullptr && data.updates()->size() > 0) {
      return error(parts_.loc(), where, ": the body updates parameters");
    }
    where_ = std::move(outside);
    --depth_;
    return std::make_shared<const Graph>(std::move(body));
  }

  Status count_result() {
    if (result_count_++ < kMaxModuleResults) return ok();
    return error(parts_.loc(), "the module has more than ", kMaxModuleResults,
                 " outputs and updates");
  }

  // A value of a node that is already there: later ones would make a cycle.
  Result<Value> value_of(const Graph& graph, const serial::ValueRef& ref,
                         const std::string& where) {
    if (ref.node() >= graph.nodes().size()) {
      return error(parts_.loc(), where_, ": ", where, ": node ", ref.node(),
                   " is not defined before node ", graph.nodes().size(),
                   ": the graph is cyclic or incomplete");
    }
    if (ref.result() >= graph[ref.node()].types.size()) {
      return error(parts_.loc(), where_, ": ", where, ": node ", ref.node(), " has ",
                   graph[ref.node()].types.size(), " results, not ", ref.result() + uint64_t{1});
    }
    return Value{ref.node(), ref.result()};
  }

  Status read_node(Graph& graph, const serial::NodeData& data) {
    std::string where = cat(where_, ", node ", graph.nodes().size());
    WEFT_TRY(std::string mnemonic, parts_.text(data.op(), where));
    std::optional<Op> op = find_op(mnemonic);
    if (!op) {
      return error(parts_.loc(), where, ": unknown op ", quote(mnemonic))
          .hint(did_you_mean(mnemonic, op_names()));
    }
    where += " (" + mnemonic + ")";
    Node node;
    node.op = *op;
    node.loc = parts_.loc();
    node.instance = data.instance();
    for (const serial::ValueRef* ref : list(data.operands())) {
      WEFT_TRY_STATUS(parts_.spend(sizeof(serial::ValueRef)));
      WEFT_TRY(Value operand, value_of(graph, *ref, mnemonic));
      node.operands.push_back(operand);
    }
    WEFT_TRY(node.attrs, parts_.attrs(*op, data.attrs(), where));
    if (info(*op).has(kBody) != (data.body() != nullptr)) {
      return error(parts_.loc(), where, data.body() != nullptr ? ": has a body" : ": has no body");
    }
    if (data.body() != nullptr) {
      WEFT_TRY(node.body, read_body(*data.body(), where));
    }
    WEFT_TRY_STATUS(check_lengths(node, data, where));
    for (uint32_t index : list(data.names())) {
      WEFT_TRY(std::string name, parts_.text(index, where));
      node.names.push_back(std::move(name));
    }
    for (uint32_t index : list(data.origin())) {
      WEFT_TRY(std::string origin, parts_.text(index, where));
      node.origin.push_back(std::move(origin));
    }
    std::sort(node.origin.begin(), node.origin.end());
    node.origin.erase(std::unique(node.origin.begin(), node.origin.end()), node.origin.end());
    std::vector<Type> types;
    for (uint32_t index : list(data.types())) {
      WEFT_TRY(Type type, parts_.type(index, where));
      types.push_back(std::move(type));
    }
    return add_node(graph, std::move(node), types, where);
  }

  // Before the lists are copied.
  Status check_lengths(const Node& node, const serial::NodeData& data, const std::string& where) {
    auto length = [](const auto* vector) { return vector == nullptr ? size_t{0} : vector->size(); };
    size_t results = node.body ? node.body->outputs.size() : info(node.op).results.size();
    size_t names = length(data.names());
    if (length(data.types()) != results || (names != 0 && names != results)) {
      return error(parts_.loc(), where, ": ", length(data.types()), " types and ", names,
                   " names for ", results, " results");
    }
    if (length(data.origin()) > kMaxOrigins) {
      return error(parts_.loc(), where, ": comes from ", length(data.origin()),
                   " places; the limit is ", kMaxOrigins);
    }
    return ok();
  }

  Status add_node(Graph& graph, Node node, const std::vector<Type>& types,
                  const std::string& where) {
    if (info(node.op).has(kStructural)) return add_read(graph, node, types[0], where);
    Result<Value> value = graph.append(std::move(node), module_.dims);
    if (!value.ok()) return parts_.at(where, std::move(value).take_error());
    for (size_t i = 0; i < types.size(); ++i) {
      const Type& inferred = graph.nodes().back().types[i];
      if (!same_type(types[i], inferred, module_.dims)) {
        return error(parts_.loc(), where, ": the file says ", types[i], ", the op gives ",
                     inferred);
      }
    }
    return ok();
  }

  // An input or the reading of a parameter.
  Status add_read(Graph& graph, const Node& node, const Type& type, const std::string& where) {
    const AttrValue* text = node.attrs.find("name");
    if (!node.operands.empty() || text == nullptr || std::get<std::string>(*text).empty()) {
      return error(parts_.loc(), where, ": has operands or no name");
    }
    const auto& name = std::get<std::string>(*text);
    size_t before = graph.nodes().size();
    if (node.op == Op::input) {
      graph.add_input(name, type, parts_.loc());  // equal names are verify's to find
      return ok();
    }
    auto found = index_.find(name);
    if (found == index_.end()) {
      return error(parts_.loc(), where, ": @", name, " is not declared in the module")
          .hint(did_you_mean(name, module_.storage_names()));
    }
    if (module_.storage[found->second].type != type) {
      return error(parts_.loc(), where, ": @", name, " is ", module_.storage[found->second].type,
                   ", read as ", type);
    }
    graph.read_param(name, type, parts_.loc());
    if (graph.nodes().size() == before) {
      return error(parts_.loc(), where, ": @", name, " is read by two nodes");
    }
    return ok();
  }

  Parts parts_;
  Module module_;
  std::unordered_map<std::string, size_t> index_;  // into storage
  size_t node_count_ = 0;
  size_t result_count_ = 0;
  std::string where_;  // the graph or body at hand
  size_t depth_ = 0;   // of bodies
};

}  // namespace

bool looks_binary(std::string_view bytes) {
  return bytes.size() >= 8 && serial::ModuleDataBufferHasIdentifier(bytes.data());
}

Result<Module> read_binary(const std::string& file, std::string_view bytes) {
  Loc loc{std::make_shared<const SourceText>(SourceText{file, ""}), 0, 0, 0};
  if (!looks_binary(bytes)) return error(loc, "not a binary module: the identifier is missing");
  if (bytes.size() > kMaxModuleBytes) {
    return error(loc, "the file has ", bytes.size(), " bytes, more than the limit of ",
                 kMaxModuleBytes);
  }
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);  // flatbuffers reads 8 bytes at once
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  // A table takes 8 bytes at least, with the offset to it; only shared ones could be more. Each is
  // checked in a fixed time: the only lists of texts are those of the module itself.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8 + 1);
  flatbuffers::Verifier verifier(data, bytes.size(), options.max_depth, options.max_tables);
  if (!serial::VerifyModuleDataBuffer(verifier)) {
    return error(loc, "the file is damaged or cut short (", bytes.size(), " bytes)");
  }
  return Reader(file, bytes.size()).run(*serial::GetModuleData(data));
}

}  // namespace weft
