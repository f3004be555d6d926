// Type rules of ops with a body.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/infer_rules.h"
#include "ir/graph/region.h"
#include "ir/text/names.h"

namespace weft {
namespace {

size_t body_depth(const Graph& body) {
  size_t inner = 0;
  for (const Node& node : body.nodes()) {
    if (node.body != nullptr) inner = std::max(inner, body_depth(*node.body));
  }
  return inner + 1;
}

// What no body may hold.
Status check_body(const InferArgs& args) {
  if (args.body == nullptr) return args.fail("has no body");
  for (const Node& node : args.body->nodes()) {
    if (node.op == Op::param) {
      return args.fail("the body reads @", node.attrs.text("name"))
          .hint(cat("pass it as an operand: (%w = @", node.attrs.text("name"), ")"));
    }
  }
  if (!args.body->updates.empty()) {
    return args.fail("the body updates @", args.body->updates[0].target)
        .hint("return the new value and update outside");
  }
  if (args.body->outputs.empty()) return args.fail("the body returns nothing");
  size_t depth = body_depth(*args.body);
  if (depth <= kMaxBodyDepth) return ok();
  return args.fail("bodies lie ", depth, " deep; the limit is ", kMaxBodyDepth);
}

Status check_inputs(const InferArgs& args) {
  const std::vector<Value>& inputs = args.body->inputs();
  if (inputs.size() != args.operands.size()) {
    return args.fail(args.operands.size(), args.operands.size() == 1 ? " operand" : " operands",
                     " for a body with ", inputs.size(), inputs.size() == 1 ? " input" : " inputs");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& given = args.operands[i];
    const Type& input = args.body->type(inputs[i]);
    if (same_type(input, body_input_type(args.op, args.attrs, i, given), args.facts)) continue;
    return args
        .fail("%", args.body->input_name(inputs[i]), " has type ", input, " in the body; ",
              operand_name(args, i), " is ", given)
        .note(args.operand_loc(i), operand_name(args, i) + " defined here");
  }
  return ok();
}

bool mentions(const Type& type, const std::string& symbol) {
  std::set<std::string> symbols;
  for (const Dim& dim : type.shape) dim.collect_symbols(symbols);
  return symbols.contains(symbol);
}

bool has_chunked_over(const Graph& body, const std::string& symbol) {
  return std::ranges::any_of(body.nodes(), [&](const Node& node) {
    if (node.op == Op::chunked && node.attrs.text("symbol") == symbol) return true;
    return node.body != nullptr && has_chunked_over(*node.body, symbol);
  });
}

// The rules of `chunked`, whose symbol has a size only inside the body.
class Chunks {
 public:
  explicit Chunks(const InferArgs& args)
      : args_(args), symbol_(args.attrs.text("symbol")), rows_(args.attrs.dim("rows")) {}

  InferredTypes results() {
    WEFT_TRY_STATUS(check_symbol());
    WEFT_TRY_STATUS(check_rows());
    WEFT_TRY_STATUS(check_flags("sliced_in", args_.operands.size()));
    WEFT_TRY_STATUS(check_flags("sliced_out", args_.body->outputs.size()));
    for (size_t i = 0; i < args_.operands.size(); ++i) WEFT_TRY_STATUS(check_operand(i));
    WEFT_TRY_STATUS(check_inputs(args_));
    std::vector<Type> types;
    for (size_t i = 0; i < args_.body->outputs.size(); ++i) {
      WEFT_TRY(Type type, result(i));
      types.push_back(std::move(type));
    }
    return types;
  }

 private:
  Status check_symbol() const {
    WEFT_TRY_STATUS(check_attr(args_, "symbol", is_symbol(symbol_), "a name such as \"R\""));
    if (has_chunked_over(*args_.body, symbol_)) {
      return args_.fail("the body has another chunked over ", symbol_)
          .hint("give one of them another symbol");
    }
    std::set<std::string> asserted;
    for (const auto& [left, right] : args_.facts.equalities()) {
      left.collect_symbols(asserted);
      right.collect_symbols(asserted);
    }
    if (!asserted.contains(symbol_)) return ok();
    return args_
        .fail("the module asserts something of ", symbol_,
              ", whose size differs from chunk to chunk")
        .hint("choose a symbol of its own");
  }

  Status check_rows() const {
    int64_t chunk = args_.attrs.integer("chunk");
    WEFT_TRY_STATUS(check_attr(args_, "chunk", chunk >= 1 && chunk <= kLargestStep,
                               cat("1 <= chunk <= ", kLargestStep)));
    if (std::optional<std::string> fault = type_fault({DType::i8, {rows_}})) {
      return args_.fail("rows: ", *fault);
    }
    if (mentions({DType::i8, {rows_}}, symbol_)) {
      return args_.fail("rows is ", rows_, ", but ", symbol_, " has a size only in the body");
    }
    DimFacts::Bounds bounds = args_.facts.bounds_of(Dim::symbol(symbol_));
    if (bounds.low <= 1 && bounds.high >= chunk) return ok();
    return args_.fail("chunks have 1 to ", chunk, " rows, but the bounds of ", symbol_, " are ",
                      bounds.low, " and ", bounds.high);
  }

  Status check_flags(std::string_view attr, size_t count) const {
    const std::vector<int64_t>& flags = args_.attrs.ints(attr);
    bool all = std::ranges::all_of(flags, [](int64_t flag) { return flag == 0 || flag == 1; });
    if (flags.size() == count && all) return ok();
    return args_.fail(attr, " has ", flags.size(), flags.size() == 1 ? " entry" : " entries",
                      all ? "" : ", some neither 0 nor 1", "; expected 0 or 1 for each of ", count);
  }

  Status check_operand(size_t index) const {
    const Type& type = args_.operands[index];
    if (mentions(type, symbol_)) {
      return args_
          .fail(operand_name(args_, index), " has type ", type, ", but ", symbol_,
                " has a size only in the body")
          .note(args_.operand_loc(index), operand_name(args_, index) + " defined here");
    }
    if (args_.attrs.ints("sliced_in")[index] == 0) return ok();
    if (type.rank() > 0 && args_.facts.equal(type.shape[0], rows_)) return ok();
    return args_
        .fail(operand_name(args_, index), " has type ", type, " and is sliced; expected ", rows_,
              " rows on axis 0")
        .note(args_.operand_loc(index), operand_name(args_, index) + " defined here");
  }

  Result<Type> result(size_t index) const {
    Type type = args_.body->type(args_.body->outputs[index].value);
    const Type inner = type;
    if (args_.attrs.ints("sliced_out")[index] == 1) {
      if (type.rank() == 0 || !args_.facts.equal(type.shape[0], Dim::symbol(symbol_))) {
        return args_.fail("result ", index, " is ", inner, " in the body; expected ", symbol_,
                          " rows on axis 0");
      }
      type.shape[0] = rows_;
    } else if (type.dtype == DType::boolean) {
      return args_.fail("result ", index, " is ", inner, " in the body, which has no sum");
    }
    if (!mentions(type, symbol_)) return type;
    return args_.fail("result ", index, " is ", inner, " in the body; its size depends on ",
                      symbol_, args_.attrs.ints("sliced_out")[index] == 1 ? " beyond axis 0" : "");
  }

  const InferArgs& args_;
  const std::string& symbol_;
  const Dim& rows_;
};

}  // namespace

InferredTypes infer_region(const InferArgs& args) {
  WEFT_TRY_STATUS(check_body(args));
  for (const Node& node : args.body->nodes()) {
    if (node.body == nullptr) continue;
    return args.fail("the body holds another body, of ", name(node.op))
        .hint("use chunked, whose body may hold regions");
  }
  WEFT_TRY_STATUS(check_inputs(args));
  std::vector<Type> types;
  for (const Output& output : args.body->outputs) types.push_back(args.body->type(output.value));
  return types;
}

InferredTypes infer_chunked(const InferArgs& args) {
  WEFT_TRY_STATUS(check_body(args));
  return Chunks(args).results();
}

}  // namespace weft
