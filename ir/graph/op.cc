// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/op.h"

#include <algorithm>
#include <map>

namespace weft {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    size_t end = text.find(' ');
    if (end != 0) result.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

OpInfo make_info(Op op, std::string_view op_name, std::string_view operands, std::string_view attrs,
                 std::string_view results, DTypeSet dtypes, std::string_view rule,
                 std::string_view gradient, std::string_view decomposition, uint32_t traits,
                 std::string_view meaning) {
  OpInfo info;
  info.op = op;
  info.name = op_name;
  info.operands = words(operands);
  info.variadic = !info.operands.empty() && info.operands.back().ends_with("...");
  info.required = static_cast<size_t>(std::ranges::count_if(
      info.operands, [](const std::string& operand) { return !operand.ends_with('?'); }));
  info.attrs = parse_attr_specs(attrs);
  info.results = words(results);
  info.dtypes = dtypes;
  info.type_rule = rule;
  info.gradient = gradient;
  info.decomposition = decomposition;
  info.traits = traits;
  info.meaning = meaning;
  return info;
}

const std::vector<OpInfo>& table() {
  static const std::vector<OpInfo> kTable = {
#define OP(name, operands, attrs, results, dtypes, rule, gradient, decomposition, traits, meaning) \
  make_info(Op::name, #name, operands, attrs, results, dtypes, #rule, #gradient, #decomposition,   \
            traits, meaning),
#include "ir/graph/ops.def"
#undef OP
  };
  return kTable;
}

}  // namespace

const OpInfo& info(Op op) { return table()[static_cast<size_t>(op)]; }

std::span<const OpInfo> all_ops() { return table(); }

std::optional<Op> find_op(std::string_view name) {
  static const std::map<std::string_view, Op> kByName = [] {
    std::map<std::string_view, Op> map;
    for (const OpInfo& info : table()) map.emplace(info.name, info.op);
    return map;
  }();
  auto found = kByName.find(name);
  return found == kByName.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpInfo& info : table()) {
    if (!info.has(kStructural)) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace weft
