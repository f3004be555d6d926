// Products in fragments of matrix units. A fragment is known to the language that kernels are
// printed in: MATRIX_A, MATRIX_LOAD_A and so on are its words for it.
// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/lowering.h"

namespace weft::simt {
namespace {

std::string times(const std::string& text, int64_t number) {
  return text + " * " + std::to_string(number);
}

}  // namespace

// Sums begin at zero, and what they are added to is added when they are taken apart.
void Lowering::dot_in_fragments(ValueId id) {
  const Fragments& fragments = layout_.fragments;
  const int64_t rows = layout_.axes[fragments.rows].registers;
  const int64_t columns = layout_.axes[fragments.columns].span() / fragments.shape.n;
  std::vector<std::string> sums;
  for (int64_t i = 0; i < rows * columns; ++i) {
    sums.push_back(fresh("fragment"));
    line("MATRIX_C(" + sums.back() + ");");
  }
  staged_steps(p_.values[id], [&](const std::vector<Filling>& fillings, const std::string& half) {
    multiply_fragments(fillings, half, sums);
  });
  take_apart(id, sums);
}

// Each fragment of a side is read once, and multiplied with all of the other side.
void Lowering::multiply_fragments(const std::vector<Filling>& fillings, const std::string& half,
                                  const std::vector<std::string>& sums) {
  const Fragments& fragments = layout_.fragments;
  const MatrixShape& shape = fragments.shape;
  const AxisLayout& rows = layout_.axes[fragments.rows];
  const AxisId along = fillings[0].stage->along;
  const std::string at = fresh("at_" + p_.axes[along].name + "_part");
  open_loop("for (int " + at + " = 0; " + at + " < " + std::to_string(layout_.stage_depth) + "; " +
                at + " += " + std::to_string(shape.k) + ")",
            Dim(layout_.stage_depth / shape.k));
  std::vector<std::string> left, right;
  for (const Filling& filling : fillings) {
    const Stage& stage = *filling.stage;
    const bool is_left = stage.rows[0] == fragments.rows;
    const std::string word = is_left ? "A" : "B";
    const int64_t count =
        is_left ? rows.registers : layout_.axes[fragments.columns].span() / shape.n;
    const std::string first =
        integer(times(half, stage.elements) + " + " + times(at, stage.stride) +
                (is_left ? " + " + times("wave", shape.m) : ""));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = i * (is_left ? shape.m * rows.waves : shape.n);
      std::vector<std::string>& names = is_left ? left : right;
      names.push_back(fresh(is_left ? "left" : "right"));
      line("MATRIX_" + word + "(" + names.back() + ");");
      line("MATRIX_LOAD_" + word + "(" + names.back() + ", " + filling.name + ", " + first + " + " +
           std::to_string(place) + ", " + std::to_string(stage.stride) + ");");
    }
  }
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = 0; j < right.size(); ++j) {
      line("MATRIX_MUL_ADD(" + sums[i * right.size() + j] + ", " + left[i] + ", " + right[j] +
           ");");
    }
  }
  close_loop();
}

// From fragments to the elements that an invocation holds: through workgroup memory, one fragment
// of each wave at a time.
void Lowering::take_apart(ValueId id, const std::vector<std::string>& sums) {
  const Fragments& fragments = layout_.fragments;
  const MatrixShape& shape = fragments.shape;
  const Value& value = p_.values[id];
  const AxisLayout& columns = layout_.axes[fragments.columns];
  const int64_t across = columns.pack * columns.lanes;
  const int64_t each = shape.n / across;  // registers of a fragment
  const AxisId pack = pack_of(id);
  const std::vector<Point> all = points(value.axes, pack);
  const std::string type = type_name(value.dtype, pack != kNone);
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i) {
    names.push_back(fresh("product"));
    line(type + " " + names.back() + ";");
  }
  out_.shared["fragments"] = {"float", layout_.waves * shape.m * shape.n};
  std::string own = times(axes_[fragments.rows].own, shape.n);
  if (!axes_[fragments.columns].own.empty()) own += " + " + axes_[fragments.columns].own;
  own = integer(own);
  const std::string begin = integer(times("wave", shape.m * shape.n));
  const int64_t wide = columns.registers / each;
  for (size_t number = 0; number < sums.size(); ++number) {
    line("MATRIX_STORE_C(" + sums[number] + ", fragments, " + begin + ", " +
         std::to_string(shape.n) + ");");
    line("barrier();");
    for (size_t i = 0; i < all.size(); ++i) {
      const int64_t row = all[i][fragments.rows];
      const int64_t column = all[i][fragments.columns] / columns.pack;  // register
      if (row * wide + column / each != static_cast<int64_t>(number)) continue;
      const int64_t first = column % each * across + all[i][fragments.columns] % columns.pack;
      std::string text;
      for (int64_t part = 0; part < (pack != kNone ? 4 : 1); ++part) {
        text += (part > 0 ? ", " : "") + std::string("fragments[") + own + " + " +
                std::to_string(first + part) + "]";
      }
      line(names[i] + " = " + (pack != kNone ? type + "(" + text + ")" : text) + ";");
    }
    line("barrier();");
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (value.operands.size() > 2) {
      const ValueId start = value.operands[2];
      const std::string before =
          pack != kNone ? vector(start, all[i], pack) : scalar(start, all[i]);
      line(names[i] + " = " + before + " + " + names[i] + ";");
    }
    know(key_of(id, all[i], pack), names[i]);
  }
}

}  // namespace weft::simt
