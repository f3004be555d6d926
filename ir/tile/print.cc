// The text of programs.
// SPDX-License-Identifier: Apache-2.0
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/tile/print_names.h"
#include "ir/tile/text.h"

namespace weft::tile {
namespace {

// How tightly an expression holds together: operands of a product that are sums need parentheses.
enum Precedence : int { kSum, kProduct, kPrimary };

struct Infix {
  std::string_view sign;
  Precedence precedence;
};

std::optional<Infix> infix_of(const Value& value) {
  if (value.kind != Value::map) return std::nullopt;
  switch (value.op) {
    case Op::add: return Infix{" + ", kSum};
    case Op::sub: return Infix{" - ", kSum};
    case Op::mul: return Infix{" * ", kProduct};
    case Op::div: return Infix{" / ", kProduct};
    default: return std::nullopt;
  }
}

template <class Items, class Fn>
std::string join(const Items& items, Fn text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string number(const Value& value) {
  if (is_float(value.dtype)) return format_number(value.number, value.dtype);
  if (value.dtype == DType::boolean) return value.integer != 0 ? "true" : "false";
  return std::to_string(value.integer);
}

std::string typed_number(const Value& value) {
  if (value.dtype == DType::boolean) return number(value);
  return std::string(name(value.dtype)) + "(" + number(value) + ")";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), names_(names_of(program)) {}

  std::string run() {
    out_ = "kernel " + spell('@', program_.name) + " {\n";
    header();
    block(program_.body, 1);
    return out_ + "}\n";
  }

  std::string index(const Index& index) const {
    std::string out;
    for (const Index::Term& term : index.terms) {
      bool negative = term.scale.is_constant() && term.scale.constant() < 0;
      Dim scale = negative ? Dim(0) - term.scale : term.scale;
      out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
      if (!scale.is_constant(1)) out += dim_factor(scale) + "*";
      bool quotient = term.kind == Index::Term::floor_div && !scale.is_constant(1);
      out += quotient ? "(" + atom(term) + ")" : atom(term);
    }
    if (out.empty()) return index.offset.str();
    if (index.offset.is_constant(0)) return out;
    std::string offset = index.offset.str();
    return out + (offset[0] == '-' ? " - " + offset.substr(1) : " + " + offset);
  }

 private:
  static std::string dim_factor(const Dim& dim) {
    bool bare = dim.is_constant() ? dim.constant() >= 0 : dim.as_symbol().has_value();
    return bare ? dim.str() : "(" + dim.str() + ")";
  }

  std::string atom(const Index::Term& term) const {
    switch (term.kind) {
      case Index::Term::axis: return axis(term.axis_id);
      case Index::Term::base: return axis(term.axis_id) + ".base";
      case Index::Term::end: return axis(term.axis_id) + ".end";
      case Index::Term::program: return axis(term.axis_id) + ".program";
      case Index::Term::value: return names_.values[term.value_id];
      case Index::Term::mod: return "mod(" + index(term.inner[0]) + ", " + term.divisor.str() + ")";
      case Index::Term::floor_div: {
        const Index& inner = term.inner[0];
        bool bare = inner.terms.size() == 1 && inner.terms[0].inner.empty() &&
                    inner.terms[0].scale.is_constant(1) && inner.offset.is_constant(0);
        std::string text = bare ? index(inner) : "(" + index(inner) + ")";
        return text + "/" + dim_factor(term.divisor);
      }
    }
    return {};
  }

  const std::string& axis(AxisId id) const { return program_.axes[id].name; }

  std::string axes(const std::vector<AxisId>& ids) const {
    return join(ids, [&](AxisId id) { return axis(id); });
  }

  std::string type(const Value& value) const {
    return std::string(name(value.dtype)) + "[" + axes(value.axes) + "]";
  }

  std::string ref(const Ref& ref) const {
    return names_.buffers[ref.buffer] + "[" +
           join(ref.at, [&](const Index& at) { return index(at); }) + "]";
  }

  std::string extent(const Extent& extent) const {
    if (extent.kind == Extent::knob) return program_.knobs[extent.knob_index].name;
    return std::to_string(extent.number_value);
  }

  void line(int depth, const std::string& text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text + "\n";
  }

  void header() {
    constexpr std::string_view kModes[] = {"in", "out", "inout"};
    for (const Buffer& buffer : program_.buffers) {
      std::string text = std::string(kModes[static_cast<size_t>(buffer.mode)]) + " " +
                         spell('%', buffer.name) + ": " + Type{buffer.dtype, buffer.dims}.str();
      if (buffer.strides != row_major_strides(buffer.dims))
        text += " strides " + str(buffer.strides);
      line(1, text);
    }
    for (const Knob& knob : program_.knobs) {
      std::string text = knob.kind == Knob::free ? "free " : "order ";
      text += knob.name + " = " + std::to_string(knob.value);
      if (knob.strict) text += " strict " + std::to_string(*knob.strict);
      if (!knob.choices.empty()) text += " in " + format(AttrValue(knob.choices));
      line(1, text);
    }
    for (const Axis& axis : program_.axes) {
      std::string text = "axis " + axis.name + ": " + axis.dim.str();
      text += axis.extent.kind == Extent::whole ? " full" : " by " + extent(axis.extent);
      if (axis.inner) text += "/" + extent(*axis.inner);
      line(1, text);
    }
    if (!program_.grid.empty()) {
      line(1, "grid " + join(program_.grid, [&](const GridAxis& grid) {
                return (grid.serial ? "serial " : "") + axis(grid.axis);
              }));
    }
    layout();
    if (!program_.origin.empty()) line(1, "loc " + join(program_.origin, quote));
  }

  void layout() {
    constexpr std::string_view kPlaces[] = {"reg", "lane", "wave", "step"};
    for (AxisId id = 0; id < program_.layout.size(); ++id) {
      if (program_.layout[id].empty()) continue;
      line(1, "layout " + axis(id) + " = [" + join(program_.layout[id], [&](const Digit& digit) {
                return std::string(kPlaces[static_cast<size_t>(digit.place)]) + " " +
                       std::to_string(digit.size);
              }) + "]");
    }
  }

  void block(const Block& block, int depth) {
    for (const Stmt& stmt : block) statement(stmt, depth);
  }

  void statement(const Stmt& stmt, int depth) {
    std::string where = stmt.where == kNone ? "" : " {where " + expression(stmt.where) + "}";
    switch (stmt.kind) {
      case Stmt::let:
        return line(depth, names_.values[stmt.value] + " = " + definition(stmt.value, kSum) +
                               " : " + type(program_.values[stmt.value]));
      case Stmt::store:
        return line(depth, "store " + ref(stmt.ref) + where + ", " + bare(stmt.value) +
                               (stmt.stream ? " {stream}" : ""));
      case Stmt::update:
        return line(depth, "update " + ref(stmt.ref) + where + " += " + bare(stmt.value));
      case Stmt::accumulate:
        return line(depth, "accumulate." + std::string(name(stmt.reduction)) + " " + ref(stmt.ref) +
                               ", " + bare(stmt.value) + " over " + axis(stmt.axis));
      case Stmt::scatter:
        return line(depth, "scatter " + ref(stmt.ref) + where + (stmt.adds ? " += " : " = ") +
                               bare(stmt.value) + " order " + axis(stmt.axis));
      case Stmt::when: line(depth, "when " + expression(stmt.value) + " {"); break;
      case Stmt::loop: line(depth, loop_head(stmt)); break;
    }
    block(stmt.body, depth + 1);
    if (!stmt.yields.empty()) {
      line(depth + 1, "yield " + join(stmt.yields, [&](ValueId id) { return bare(id); }));
    }
    line(depth, "}");
  }

  std::string loop_head(const Stmt& loop) const {
    std::string text = join(loop.results, [&](ValueId id) { return names_.values[id]; });
    if (loop.results.size() > 1) text = "(" + text + ")";
    if (!text.empty()) text += " = ";
    text += "loop " + axis(loop.axis);
    if (loop.from) text += " from " + index(*loop.from);
    if (loop.to) text += " to " + index(*loop.to);
    for (size_t i = 0; i < loop.carried.size(); ++i) {
      ValueId carried = loop.carried[i];
      text += (i == 0 ? " carry " : ", ") + names_.values[carried] + " = " + bare(loop.init[i]) +
              " : " + type(program_.values[carried]);
    }
    return text + " {";
  }

  // A value where its element type follows from the place: a number stands there bare.
  std::string bare(ValueId id) const {
    const Value& value = program_.values[id];
    if (names_.values[id].empty() && value.kind == Value::constant) return number(value);
    return expression(id);
  }

  std::string expression(ValueId id, int outer = kSum) const {
    return names_.values[id].empty() ? definition(id, outer) : names_.values[id];
  }

  std::string definition(ValueId id, int outer) const {
    const Value& value = program_.values[id];
    switch (value.kind) {
      case Value::constant: return typed_number(value);
      case Value::coord: {
        std::string suffix = value.dtype == DType::i32 ? "" : "." + std::string(name(value.dtype));
        std::string limit = value.limit ? " below " + value.limit->str() : "";
        return "coord" + suffix + "(" + index(value.index) + limit + ")";
      }
      case Value::load: {
        std::string text = "load " + ref(value.ref);
        if (value.where == kNone) return text;
        return text + " {where " + expression(value.where) + ", fill " + number(value) + "}";
      }
      case Value::map: return map(value, outer);
      case Value::reduce:
        return "reduce." + std::string(name(value.reduction)) + "[" + axes(value.axes_reduced) +
               "](" + expression(value.operands[0]) + ")";
      case Value::dot: return "dot[" + axes(value.axes_reduced) + "](" + operands(value) + ")";
      case Value::random:
        return "random[" + value.stream.str() + ", " + index(value.index) + "](" + operands(value) +
               ")";
      case Value::carried:
      case Value::result: break;
    }
    return names_.values[id];
  }

  std::string map(const Value& value, int outer) const {
    if (value.op == Op::cast) {
      return "cast." + std::string(name(value.dtype)) + "(" + expression(value.operands[0]) + ")";
    }
    std::optional<Infix> infix = infix_of(value);
    if (!infix) return std::string(name(value.op)) + "(" + operands(value) + ")";
    std::string text = operand(value, 0, infix->precedence) + std::string(infix->sign) +
                       operand(value, 1, infix->precedence + 1);
    return infix->precedence < outer ? "(" + text + ")" : text;
  }

  std::string operands(const Value& value) const {
    std::string out;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      out += (i > 0 ? ", " : "") + operand(value, i, kSum);
    }
    return out;
  }

  bool is_literal(ValueId id) const {
    return names_.values[id].empty() && program_.values[id].kind == Value::constant;
  }

  // A number among operands stands bare if its element type follows from the others.
  std::string operand(const Value& value, size_t i, int outer) const {
    ValueId id = value.operands[i];
    if (!is_literal(id)) return expression(id, outer);
    std::vector<std::optional<DType>> dtypes;
    for (ValueId operand : value.operands) {
      dtypes.push_back(is_literal(operand) ? std::nullopt
                                           : std::optional(program_.values[operand].dtype));
    }
    const Value& literal = program_.values[id];
    return bare_literal_dtype(dtypes) == literal.dtype ? number(literal) : typed_number(literal);
  }

  const Program& program_;
  Names names_;
  std::string out_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).run(); }

std::string print(const Program& program, const Index& index) {
  return Printer(program).index(index);
}

}  // namespace weft::tile
