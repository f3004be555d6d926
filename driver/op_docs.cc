// SPDX-License-Identifier: Apache-2.0
#include "driver/op_docs.h"

#include "ir/graph/op.h"

namespace weft {
namespace {

std::string join(const std::vector<std::string>& items, const std::string& prefix,
                 const std::string& separator) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : separator) + prefix + item;
  return out;
}

std::string signature(const OpInfo& op) {
  std::string out = join(op.results, "%", ", ") + " = " + std::string(op.name);
  if (!op.operands.empty() && !op.has(kBody)) out += " " + join(op.operands, "%", ", ");
  std::string attrs;
  for (const AttrSpec& attr : op.attrs) {
    if (!attrs.empty()) attrs += ", ";
    attrs += attr.name + " = ";
    attrs += attr.required ? (attr.kind == AttrKind::choice ? join(attr.choices, "", "|")
                                                            : std::string(name(attr.kind)))
                           : format(attr.fallback);
  }
  if (!attrs.empty()) out += " {" + attrs + "}";
  if (op.has(kBody)) out += " (" + join(op.operands, "%", ", ") + ") { body }";
  return out;
}

std::string facts(const OpInfo& op) {
  std::string out = "Types: " + describe(op.dtypes) + ". ";
  if (op.gradient == "none") {
    out += "No gradient. ";
  } else if (op.gradient == "zero") {
    out += "Gradient: nothing flows through. ";
  } else {
    out += "Differentiable. ";
  }
  out += op.composite() ? "Composite: has a decomposition into primitives." : "Primitive.";
  return out;
}

}  // namespace

std::string ops_markdown() {
  std::string out =
      "# Ops\n\n"
      "Made from `ir/graph/ops.def` by `weft docs ops`; `./dev test` fails if the two differ.\n\n"
      "Broadcasting aligns shapes at the right, and a dim of 1 stretches. Integers wrap around. "
      "NaN\n"
      "goes through arithmetic. Comparisons with NaN are false, except `ne`. An attribute shown "
      "with\n"
      "a value may be left out and then has that value; one shown with a kind must be given.\n"
      "A negative axis counts from the end.\n";
  for (const OpInfo& op : all_ops()) {
    if (op.has(kStructural)) continue;
    out += "\n## " + std::string(op.name) + "\n\n    " + signature(op) + "\n\n" +
           std::string(op.meaning) + "\n\n" + facts(op) + "\n";
  }
  return out;
}

}  // namespace weft
