// SPDX-License-Identifier: Apache-2.0
#include "driver/view/plan_text.h"

#include "ir/support/diagnostic.h"

namespace weft {
namespace {

class Printer {
 public:
  Printer(const Plan& plan, const GraphPlan& graph) : plan_(plan), graph_(graph) {}

  std::string run() {
    text_ = "plan @" + graph_.graph + " {\n";
    for (PlanBufferId i = 0; i < graph_.buffers.size(); ++i) print_buffer(i);
    for (const SizeCheck& check : graph_.checks) {
      text_ += cat("  check ", check.small, " <= ", check.large, "\n");
    }
    for (size_t i = 0; i < graph_.steps.size(); ++i) {
      print_step(graph_.steps[i], cat("  ", i, ": "), "    ");
    }
    return text_ + "}\n";
  }

 private:
  std::string name_of(PlanBufferId id) const {
    const PlanBuffer& buffer = graph_.buffers[id];
    const bool stored = buffer.kind == PlanBuffer::storage || buffer.kind == PlanBuffer::packed;
    std::string text = buffer.name;
    if (!text.starts_with('%') && !text.starts_with('@')) text.insert(0, stored ? "@" : "%");
    // Values of one name may have several buffers: the number tells them apart.
    const bool unnamed = buffer.kind == PlanBuffer::arena || buffer.kind == PlanBuffer::constant;
    return unnamed ? cat(text, ".", id) : text;
  }

  void print_buffer(PlanBufferId id) {
    constexpr const char* kKinds[] = {"input", "output", "storage", "packed", "constant", "arena"};
    const PlanBuffer& buffer = graph_.buffers[id];
    text_ += cat("  ", kKinds[static_cast<size_t>(buffer.kind)], " ", name_of(id), ": ",
                 name(buffer.dtype), "[", buffer.elements, "]");
    if (buffer.kind == PlanBuffer::arena) {
      text_ += cat(" steps ", buffer.first, "..", buffer.last);
    }
    text_ += "\n";
  }

  std::string place(const Placement& placement) const {
    std::string text = name_of(placement.buffer);
    const bool at_start = placement.offset.is_constant() && placement.offset.constant() == 0;
    return at_start ? text : cat(text, " + ", placement.offset);
  }

  void print_step(const Step& step, const std::string& head, const std::string& inner) {
    text_ += head;
    switch (step.kind) {
      case Step::launch: print_launch(step); break;
      case Step::copy:
        text_ += cat("copy ", step.elements, " from ", place(step.buffers[0]), " to ",
                     place(step.buffers[1]), "\n");
        break;
      case Step::repeat:
        text_ += cat("repeat ", step.symbol, " over ", step.total, " by ", step.chunk, " {\n");
        for (const Step& each : step.body) print_step(each, inner, inner + "  ");
        text_ += inner.substr(2) + "}\n";
    }
  }

  void print_launch(const Step& step) {
    constexpr const char* kModes[] = {"", "out ", "inout "};
    const tile::Program& program = plan_.programs[step.program];
    text_ += "@" + program.name + "(";
    for (size_t i = 0; i < step.buffers.size(); ++i) {
      text_ += cat(i == 0 ? "" : ", ", kModes[static_cast<size_t>(program.buffers[i].mode)],
                   place(step.buffers[i]));
    }
    text_ += ")";
    for (size_t i = 0; i < step.symbols.size(); ++i) {
      text_ += cat(i == 0 ? " where " : ", ", step.symbols[i].first, " = ", step.symbols[i].second);
    }
    text_ += "\n";
  }

  const Plan& plan_;
  const GraphPlan& graph_;
  std::string text_;
};

}  // namespace

std::string plan_text(const Plan& plan, const GraphPlan& graph) {
  return Printer(plan, graph).run();
}

}  // namespace weft
