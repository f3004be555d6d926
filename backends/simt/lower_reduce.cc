// Reductions: in registers first, then across steps, lanes and waves.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "backends/simt/lowering.h"
#include "ir/support/check.h"

namespace weft::simt {
namespace {

// A number as words of 32 bits: the variable that has them as parts, and how it is made and read.
struct Words {
  std::string type;
  std::string word;
  std::vector<std::string> parts = {""};
  std::string unpack = {};
  std::string pack = {};
};

Words words_of(const std::string& type) {
  if (type == "vec4") return {type, "float", {".x", ".y", ".z", ".w"}};
  if (type == "int64_t") return {"ivec2", "int", {".x", ".y"}, "unpackInt2x32", "packInt2x32"};
  return {type, type};
}

// `function` of the argument, or the argument itself without one.
std::string call(const std::string& function, const std::string& argument) {
  return function.empty() ? argument : function + "(" + argument + ")";
}

}  // namespace

std::string Lowering::neutral(Reduce reduction, DType dtype) const {
  Value value;
  value.dtype = dtype;
  switch (reduction) {
    case Reduce::add:
    case Reduce::logical_or: break;
    case Reduce::mul:
    case Reduce::logical_and: value.number = 1, value.integer = 1; break;
    case Reduce::argmax:
    case Reduce::max:
      value.number = -std::numeric_limits<double>::infinity();
      if (!is_float(dtype)) value.integer = lowest_integer(dtype);
      break;
    case Reduce::min:
      value.number = std::numeric_limits<double>::infinity();
      if (!is_float(dtype)) value.integer = highest_integer(dtype);
      break;
  }
  return constant(value, kNone);
}

std::string Lowering::combine(Reduce reduction, const std::string& a, const std::string& b,
                              DType dtype) {
  const bool real = is_float(dtype);
  switch (reduction) {
    case Reduce::add: return a + " + " + b;
    case Reduce::mul: return a + " * " + b;
    case Reduce::max: return (real ? "weft_max(" : "max(") + a + ", " + b + ")";
    case Reduce::min: return (real ? "weft_min(" : "min(") + a + ", " + b + ")";
    case Reduce::logical_and: return a + " && " + b;
    case Reduce::logical_or: return a + " || " + b;
    case Reduce::argmax: break;
  }
  WEFT_CHECK(false, "a reduction of single numbers");
}

// Runs the body for each step of the axes that have them, with what does not vary before it.
void Lowering::in_steps(const std::vector<AxisId>& axes, const std::vector<ValueId>& roots,
                        const std::function<void()>& body) {
  std::set<AxisId> stepped;
  for (AxisId axis : axes) {
    if (layout_.axes[axis].stepped && !open_.contains(axis)) stepped.insert(axis);
  }
  const AxisId before = innermost_;
  // Without steps each value is computed where it is needed: registers are few.
  if (!stepped.empty()) {
    hoist(roots, stepped);
    innermost_ = *stepped.rbegin();
    hoist_addresses(roots, innermost_);
  }
  for (AxisId axis : stepped) {
    const int64_t span = layout_.axes[axis].span();
    const std::optional<int64_t> tile = p_.size_of(p_.tile_extent(axis));
    std::string last = tile ? std::to_string(*tile) : dim(p_.axes[axis].dim);
    // What a program has of a tile may be less: the steps beyond are left out.
    const bool shorter = tile && !p_.axes[axis].inner && !divisible(p_.axes[axis].dim, *tile);
    if (shorter) {
      last =
          integer("min(" + last + ", " + dim(p_.axes[axis].dim) + " - " + axes_[axis].base + ")");
      exact_.insert(axis);
    }
    const std::string step = fresh("at_" + p_.axes[axis].name + "_step");
    const Dim length = tile ? Dim::min(Dim(*tile), p_.axes[axis].dim) : p_.axes[axis].dim;
    open_loop("for (int " + step + " = 0; " + step + " < " + last + "; " + step +
                  " += " + std::to_string(span) + ")",
              Dim::floor_div(length + Dim(span - 1), Dim(span)));
    axes_[axis].step = step;
    open_.insert(axis);
  }
  body();
  for (AxisId axis : stepped) {
    open_.erase(axis);
    exact_.erase(axis);
    axes_[axis].step.clear();
    close_loop();
  }
  innermost_ = before;
}

// Every lane that differs only in its digits of `axes` ends with what all of them have together.
void Lowering::across(const std::vector<AxisId>& axes, const std::vector<std::string>& variables,
                      const std::vector<std::string>& types,
                      const std::function<void(const std::vector<std::string>&)>& take) {
  for (AxisId axis : axes) {
    const AxisLayout& layout = layout_.axes[axis];
    std::vector<std::string> others(variables.size());
    for (int64_t distance = layout.lanes / 2; profile_.shuffles && distance >= 1; distance /= 2) {
      out_.uses_shuffle = true;
      const std::string mask = std::to_string(distance * layout.lane_stride) + "u";
      for (size_t i = 0; i < variables.size(); ++i) {
        others[i] = fresh("other");
        // Subgroups exchange words, and no bool.
        const bool flag = types[i] == "bool";
        const Words words = words_of(types[i]);
        const std::string sent = call(flag ? "uint" : words.unpack, variables[i]);
        const std::string received = "subgroupShuffleXor(" + sent + ", " + mask + ")";
        line(types[i] + " " + others[i] + " = " + call(flag ? "bool" : words.pack, received) + ";");
      }
      take(others);
    }
    // Through workgroup memory: all put theirs there, and read the others' in order.
    struct Digit {
      int64_t size, stride;
    };
    std::vector<Digit> digits;
    if (!profile_.shuffles && layout.lanes > 1)
      digits.push_back({layout.lanes, layout.lane_stride});
    if (layout.waves > 1) digits.push_back({layout.waves, layout.wave_stride * layout_.lanes});
    for (const Digit& digit : digits) {
      out_.uses_exchange = true;
      const std::string size = std::to_string(digit.size);
      const std::string stride = std::to_string(digit.stride);
      std::vector<std::vector<std::string>> parts(static_cast<size_t>(digit.size));
      const std::string first =
          integer("place - (place / " + stride + ") % " + size + " * " + stride);
      for (size_t i = 0; i < variables.size(); ++i) {
        const Words words = words_of(types[i]);
        std::string sent = variables[i];
        if (words.type != types[i]) {
          sent = fresh("words");
          line(words.type + " " + sent + " = " + call(words.unpack, variables[i]) + ";");
        }
        std::vector<std::string> names;
        for (int64_t other = 0; other < digit.size; ++other) {
          names.push_back(fresh("other"));
          line(words.type + " " + names.back() + ";");
        }
        for (const std::string& part : words.parts) {
          line("barrier();");
          line("exchange[place] = weft_bits(" + sent + part + ");");
          line("barrier();");
          for (int64_t other = 0; other < digit.size; ++other) {
            line(names[static_cast<size_t>(other)] + part + " = weft_" + words.word + "(exchange[" +
                 first + " + " + std::to_string(other * digit.stride) + "]);");
          }
        }
        for (int64_t other = 0; other < digit.size; ++other) {
          const std::string& name = names[static_cast<size_t>(other)];
          parts[static_cast<size_t>(other)].push_back(call(words.pack, name));
        }
      }
      for (size_t i = 0; i < variables.size(); ++i) line(variables[i] + " = " + parts[0][i] + ";");
      for (int64_t other = 1; other < digit.size; ++other) take(parts[static_cast<size_t>(other)]);
    }
  }
}

// Runs the body as if these axes were not walked yet, where each sum walks all of them again. What
// is known of values that vary along them is of another step.
void Lowering::walking_again(const std::vector<AxisId>& axes, const std::function<void()>& body) {
  const Hidden before = hidden_;
  std::vector<std::pair<AxisId, std::string>> steps;
  for (AxisId axis : axes) {
    if (!layout_.axes[axis].walked_again || !open_.contains(axis)) continue;
    steps.emplace_back(axis, axes_[axis].step);
    open_.erase(axis);
    axes_[axis].step.clear();
    hidden_.axes.insert(axis);
    hidden_.below = memo_.size();
  }
  body();
  for (const auto& [axis, step] : steps) {
    open_.insert(axis);
    axes_[axis].step = step;
  }
  hidden_ = before;
}

void Lowering::reduce(ValueId id) {
  const Value& value = p_.values[id];
  const ValueId operand = value.operands[0];
  const DType dtype = value.dtype;
  const AxisId pack = pack_of(id);
  // Fours of the operand along an axis that goes are added as fours, and together in the end.
  AxisId wide = pack_of(operand);
  const bool sums_fours = wide != kNone && std::ranges::count(value.axes_reduced, wide) > 0;
  const AxisId lanes = sums_fours ? wide : pack;
  const bool four = sums_fours || (pack != kNone);
  const AxisId result_pack = sums_fours ? kNone : pack;
  const std::vector<Point> at = points(value.axes, result_pack);
  const std::string type = type_name(dtype, four);
  std::vector<std::string> sums;
  for (size_t i = 0; i < at.size(); ++i) {
    sums.push_back(fresh("sum"));
    const std::string start = neutral(value.reduction, dtype);
    line(type + " " + sums.back() + " = " + (four ? type + "(" + start + ")" : start) + ";");
  }
  in_steps(value.axes_reduced, {operand}, [&] {
    for (const Point& inner : points(value.axes_reduced, sums_fours ? wide : kNone)) {
      std::string exists_here;
      for (AxisId axis : value.axes_reduced) {
        const std::string one = exists(axis, inner);
        if (!one.empty()) exists_here += (exists_here.empty() ? "" : " && ") + one;
      }
      for (size_t i = 0; i < at.size(); ++i) {
        const Point here = merged(at[i], inner, value.axes_reduced);
        std::string x = four ? vector(operand, here, lanes) : scalar(operand, here);
        const std::string next = combine(value.reduction, sums[i], x, dtype);
        if (exists_here.empty()) {
          line(sums[i] + " = " + next + ";");
        } else {
          // A choice of two variables is no branch.
          const std::string with = fresh("with");
          line(type + " " + with + " = " + next + ";");
          line(sums[i] + " = " + exists_here + " ? " + with + " : " + sums[i] + ";");
        }
      }
    }
  });
  for (size_t i = 0; i < at.size(); ++i) {
    std::string name = sums[i];
    if (sums_fours) {
      name = fresh("sum");
      const std::string low = combine(value.reduction, sums[i] + ".x", sums[i] + ".y", dtype);
      const std::string high = combine(value.reduction, sums[i] + ".z", sums[i] + ".w", dtype);
      line(type_name(dtype, false) + " " + name + " = " +
           combine(value.reduction, "(" + low + ")", "(" + high + ")", dtype) + ";");
    }
    const std::string own_type = type_name(dtype, four && !sums_fours);
    across(value.axes_reduced, {name}, {own_type}, [&](const std::vector<std::string>& other) {
      line(name + " = " + combine(value.reduction, name, other[0], dtype) + ";");
    });
    wrap(name, dtype);
    sums[i] = name;
    if (!sums_fours || pack == kNone) know(key_of(id, at[i], result_pack), name);
  }
  if (!sums_fours || pack == kNone) return;
  // The result is wanted in fours along another axis.
  for (const Point& first : points(value.axes, pack)) {
    std::string parts;
    for (int64_t i = 0; i < 4; ++i) {
      Point part = first;
      part[pack] += i;
      const auto found = std::ranges::find(at, part) - at.begin();
      parts += (i == 0 ? "" : ", ") + sums[static_cast<size_t>(found)];
    }
    const std::string name = fresh("sum");
    line("vec4 " + name + " = vec4(" + parts + ");");
    know(key_of(id, first, pack), name);
  }
}

// A NaN is the largest, of equals the first wins; -1 is nothing found yet.
void Lowering::argmax(ValueId id) {
  const Value& value = p_.values[id];
  const ValueId operand = value.operands[0];
  const DType dtype = p_.values[operand].dtype;
  const AxisId along = value.axes_reduced[0];
  const std::vector<Point> at = points(value.axes);
  std::vector<std::string> best, place;
  for (size_t i = 0; i < at.size(); ++i) {
    best.push_back(fresh("best"));
    place.push_back(fresh("found"));
    line(type_name(dtype, false) + " " + best[i] + " = " + neutral(Reduce::max, dtype) + ";");
    line("int " + place[i] + " = -1;");
  }
  auto offer = [&](size_t i, const std::string& x, const std::string& where) {
    line("if (weft_better(" + x + ", " + where + ", " + best[i] + ", " + place[i] + ")) { " +
         best[i] + " = " + x + "; " + place[i] + " = " + where + "; }");
  };
  in_steps(value.axes_reduced, {operand}, [&] {
    for (const Point& inner : points(value.axes_reduced)) {
      const std::string here_exists = exists(along, inner);
      const std::string where = coordinate(along, inner);
      for (size_t i = 0; i < at.size(); ++i) {
        const std::string x = scalar(operand, merged(at[i], inner, value.axes_reduced));
        const std::string name = integer(where);
        const std::string taken =
            here_exists.empty() ? name : integer("(" + here_exists + ") ? " + name + " : -1");
        offer(i, x, taken);
      }
    }
  });
  for (size_t i = 0; i < at.size(); ++i) {
    across(value.axes_reduced, {best[i], place[i]}, {type_name(dtype, false), "int"},
           [&](const std::vector<std::string>& other) { offer(i, other[0], other[1]); });
    know(key_of(id, at[i], kNone), place[i]);
  }
}

}  // namespace weft::simt
