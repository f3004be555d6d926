// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/lower.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "backends/simt/lowering.h"
#include "ir/tile/print_names.h"
#include "ir/tile/text.h"

namespace weft::simt {

std::string identifier(const std::string& name) {
  std::string result;
  for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  // Languages keep names with two of them for themselves.
  for (size_t at = result.find("__"); at != std::string::npos; at = result.find("__")) {
    result.erase(at, 1);
  }
  return result;
}

std::string binding_name(const tile::Program& program, const Binding& binding) {
  const char* view = binding.view == Binding::texel   ? "_texel"
                     : binding.view == Binding::image ? "_image"
                                                      : "_data";
  return "b" + std::to_string(binding.buffer) + "_" +
         identifier(program.buffers[binding.buffer].name) + view + (binding.width == 4 ? "4" : "");
}

bool computes_as_float(DType dtype) { return is_float(dtype); }

std::string type_name_of(DType dtype, bool four) {
  if (is_float(dtype)) return four ? "vec4" : "float";
  switch (dtype) {
    case DType::u8:
    case DType::u32: return four ? "uvec4" : "uint";
    case DType::i64: return four ? "i64vec4" : "int64_t";
    case DType::boolean: return four ? "bvec4" : "bool";
    default: return four ? "ivec4" : "int";
  }
}

namespace {

// What the variables of each value are called, as in the program's own text: "add1"; what has no
// line of its own there is called after its buffer or its operation.
std::vector<std::string> hints_of(const tile::Program& program) {
  std::vector<std::string> hints = tile::names_of(program).values;
  for (ValueId id = 0; id < hints.size(); ++id) {
    const tile::Value& value = program.values[id];
    if (hints[id].empty()) {
      hints[id] = value.kind == tile::Value::load ? program.buffers[value.ref.buffer].name
                                                  : tile::mnemonic(value);
    }
    std::erase(hints[id], '%');
    hints[id] = identifier(hints[id]);
  }
  return hints;
}

}  // namespace

Lowering::Lowering(const tile::Program& program, const Layout& layout, const Profile& profile,
                   const std::vector<bool>& aligned)
    : p_(program),
      layout_(layout),
      profile_(profile),
      aligned_(aligned),
      facts_(analyse(program)),
      hints_(hints_of(program)),
      axes_(program.axes.size()) {}

Result<Lowered> Lowering::run() {
  for (const Value& value : p_.values) {
    if (value.dtype == DType::f64) return error({}, "this device does not compute in f64");
    out_.uses_int64 |= value.dtype == DType::i64;
  }
  if (out_.uses_int64 && !profile_.int64) return error({}, "this device has no 64-bit integers");
  memo_.emplace_back();
  open_program();
  serial_axes(0, [&] {
    std::vector<AxisId> all;
    for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
      if (p_.is_scalar(axis) ||
          (!p_.in_grid(axis) && p_.axes[axis].extent.kind != tile::Extent::whole))
        continue;
      if (!p_.axes[axis].inner) all.push_back(axis);
    }
    with_axis_steps(all, [&] { block(with_early_stores()); });
  });
  if (!problem_.empty()) return error({}, "kernel @", p_.name, ": ", problem_);
  out_.layout = layout_;
  return std::move(out_);
}

void Lowering::line(const std::string& text) {
  out_.body.append(static_cast<size_t>(indent_) * 2, ' ');
  out_.body += text + "\n";
}

void Lowering::open(const std::string& head) {
  line(head.empty() ? "{" : head + " {");
  ++indent_;
  memo_.emplace_back();
}

void Lowering::close() {
  memo_.pop_back();
  --indent_;
  line("}");
}

void Lowering::open_loop(const std::string& head, const Dim& turns) {
  open(head);
  turns_.push_back(turns_.back() * turns);
  count_turns(1);
}

// Of a function's own loop, called where the text stands.
void Lowering::count_turns(int64_t turns) {
  out_.iterations = out_.iterations + turns_.back() * Dim(turns);
}

void Lowering::close_loop() {
  turns_.pop_back();
  close();
}

void Lowering::fail(const std::string& what) {
  if (problem_.empty()) problem_ = what;
}

const std::string* Lowering::known(const std::string& key) const {
  const size_t first = is_hidden(key) ? hidden_.below : 0;
  for (size_t scope = memo_.size(); scope-- > first;) {
    auto found = memo_[scope].find(key);
    if (found != memo_[scope].end()) return &found->second;
  }
  return nullptr;
}

// Whether it is a value of another step: see walking_again and key_of.
bool Lowering::is_hidden(const std::string& key) const {
  if (hidden_.axes.empty() || !key.starts_with('v')) return false;
  const auto id = static_cast<ValueId>(std::atoll(key.c_str() + 1));
  return std::ranges::any_of(p_.values[id].axes,
                             [&](AxisId axis) { return hidden_.axes.contains(axis); });
}

std::string Lowering::fresh(const std::string& hint) {
  for (;;) {
    const int number = names_[hint]++;
    std::string name = number == 0 ? hint : hint + "_" + std::to_string(number);
    if (used_.insert(name).second) return name;
  }
}

std::string Lowering::declare(const std::string& type, const std::string& hint,
                              const std::string& key, const std::string& expression) {
  if (const std::string* text = known(key)) return *text;
  const bool simple = std::ranges::all_of(expression, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
  if (simple) {
    know(key, expression);
    return expression;
  }
  const std::string name = fresh(hint);
  line(type + " " + name + " = " + expression + ";");
  know(key, name);
  return name;
}

int64_t Lowering::held(AxisId axis) const {
  const AxisLayout& layout = layout_.axes[axis];
  return layout.registers * layout.pack;
}

// Every element that an invocation holds of these axes; with `packed`, one of each four there.
std::vector<Point> Lowering::points(const std::vector<AxisId>& axes, AxisId packed) const {
  std::vector<Point> result = {Point(p_.axes.size(), 0)};
  for (AxisId axis : axes) {
    const int64_t step = axis == packed ? layout_.axes[axis].pack : 1;
    std::vector<Point> more;
    for (const Point& point : result) {
      for (int64_t i = 0; i < held(axis); i += step) {
        more.push_back(point);
        more.back()[axis] = i;
      }
    }
    result = std::move(more);
  }
  return result;
}

std::string Lowering::key_of(ValueId id, const Point& at, AxisId packed) const {
  std::string key = "v" + std::to_string(id);
  for (AxisId axis : p_.values[id].axes) {
    const int64_t pack = axis == packed ? layout_.axes[axis].pack : 1;
    key += "," + std::to_string(at[axis] / pack);
  }
  return packed == kNone ? key : key + "|" + std::to_string(packed);
}

Result<Lowered> lower(const tile::Program& program, const Layout& layout, const Profile& profile,
                      const std::vector<bool>& aligned) {
  return Lowering(program, layout, profile, aligned).run();
}

}  // namespace weft::simt
