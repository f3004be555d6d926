// Products from tiles in workgroup memory: while one step is multiplied the next one is fetched.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"

namespace weft::simt {
namespace {

std::string plus(const std::string& text, int64_t number) {
  return number == 0 ? text : text + " + " + std::to_string(number);
}

// Where an element of a tile lies in its row, by its coordinate there. What an invocation reads of
// an axis that is not packed lies together.
std::string placed(const AxisLayout& read, const std::string& coordinate) {
  const int64_t others = read.lanes * read.waves;
  if (read.pack > 1 || read.registers == 1 || others == 1) return coordinate;
  const std::string other = std::to_string(others);
  return "(" + coordinate + ") % " + other + " * " + std::to_string(read.registers) + " + (" +
         coordinate + ") / " + other;
}

}  // namespace

const Stage* Lowering::stage_of(ValueId id) const {
  auto found = std::ranges::find(layout_.stages, id, &Stage::operand);
  return found == layout_.stages.end() ? nullptr : &*found;
}

// Runs the body in the layout in which a tile is filled, at a step of the sum.
void Lowering::in_filling(Filling& filling, const std::string& step,
                          const std::function<void()>& body) {
  const Stage& stage = *filling.stage;
  const std::vector<AxisState> states = axes_;
  const std::set<AxisId> open_before = open_;
  const AxisId innermost = innermost_;
  std::vector<AxisLayout> layouts = stage.filling;
  std::vector<std::map<std::string, std::string>> memo = {filling.known, {}};
  for (const auto& [axis, own] : filling.own) axes_[axis].own = own;
  if (stage.filling[stage.along].stepped) {
    axes_[stage.along].step = step;
    open_.insert(stage.along);
  } else {
    axes_[stage.along].base = step;  // a tile of a loop
  }
  innermost_ = stage.along;
  layout_.axes.swap(layouts);
  memo_.swap(memo);
  packs_.swap(filling.packs);
  body();
  packs_.swap(filling.packs);
  memo_.swap(memo);
  filling.known = std::move(memo[0]);
  layout_.axes.swap(layouts);
  innermost_ = innermost;
  open_ = open_before;
  axes_ = states;
}

// Places of the invocation in a tile, and all of the addresses that steps do not change.
Lowering::Filling Lowering::begin_filling(const Stage& stage, const std::string& array) {
  Filling filling;
  filling.stage = &stage;
  filling.name = array;
  const std::string held = type_name(p_.values[stage.operand].dtype, stage.fours);
  const int64_t size = stage.elements * 2 / (stage.fours ? 4 : 1);
  Lowered::Shared& shared = out_.shared[array];
  shared = {stage.half ? "float16_t" : held, std::max(shared.size, size)};
  for (AxisId axis : p_.values[stage.operand].axes) {
    const AxisLayout& layout = stage.filling[axis];
    if (layout.lanes == 1) {
      filling.own[axis] = "0";
      continue;
    }
    const std::string name = fresh("fill_" + p_.axes[axis].name + "_own");
    std::string place = "place / " + std::to_string(layout.lane_stride) + " % " +
                        std::to_string(layout.lanes) + " * " + std::to_string(layout.pack);
    line("int " + name + " = " + place + ";");
    filling.own[axis] = name;
  }
  in_filling(filling, "0", [&] {
    memo_.pop_back();  // what is known from here on serves every step
    hoist_addresses({stage.operand}, stage.along);
    filling.pack = pack_of(stage.operand);
    filling.at = points(p_.values[stage.operand].axes, filling.pack);
    for (const Point& at : filling.at) filling.places.push_back(places_in(filling, at));
  });
  return filling;
}

// The places of an element, or of four of them, in a tile.
std::vector<std::string> Lowering::places_in(const Filling& filling, const Point& at) {
  const Stage& stage = *filling.stage;
  std::vector<std::string> places;
  for (int64_t i = 0; i < (filling.pack == kNone ? 1 : 4); ++i) {
    Point point = at;
    if (filling.pack != kNone) point[filling.pack] += i;
    auto local = [&](AxisId axis) {
      const AxisLayout& layout = stage.filling[axis];
      const int64_t number = point[axis] / layout.pack * layout.pack * layout.lanes;
      return plus(filling.own.at(axis), number + point[axis] % layout.pack);
    };
    std::string text = "(" + local(stage.along) + ") * " + std::to_string(stage.stride);
    int64_t scale = 1;
    for (AxisId axis : stage.rows) {
      const AxisLayout& read = compute_axes_[axis];
      const std::string place = stage.half ? local(axis) : placed(read, local(axis));
      text += " + (" + place + ") * " + std::to_string(scale);
      scale *= read.span();
    }
    places.push_back(integer(text));
  }
  return places;
}

// What the invocation puts into a tile at a step: nothing where the sum has ended.
std::vector<std::string> Lowering::fetch_tile(Filling& filling, const std::string& step) {
  std::vector<std::string> fetched;
  const ValueId operand = filling.stage->operand;
  in_filling(filling, step, [&] {
    for (const Point& at : filling.at) {
      const bool four = filling.pack != kNone;
      std::string text = four ? vector(operand, at, filling.pack) : scalar(operand, at);
      const std::string here = exists(filling.stage->along, at);
      const std::string type = type_name(p_.values[operand].dtype, four);
      if (!here.empty()) text = here + " ? " + text + " : " + type + "(0)";
      fetched.push_back(text);
    }
  });
  return fetched;
}

void Lowering::put_tile(const Filling& filling, const std::string& half,
                        const std::vector<std::string>& fetched) {
  constexpr const char* kParts[] = {".x", ".y", ".z", ".w"};
  const Stage& stage = *filling.stage;
  const bool some = stage.fillers < layout_.invocations();
  if (some) open("if (place < " + std::to_string(stage.fillers) + ")");
  const bool whole =
      stage.fours && filling.pack == stage.rows[0] && layout_.axes[stage.rows[0]].pack == 4;
  const std::string begin = half + " * " + std::to_string(stage.elements) + " + ";
  for (size_t i = 0; i < fetched.size(); ++i) {
    const std::vector<std::string>& places = filling.places[i];
    if (whole) {
      line(filling.name + "[(" + begin + places[0] + ") >> 2] = " + fetched[i] + ";");
      continue;
    }
    for (size_t part = 0; part < places.size(); ++part) {
      std::string number = fetched[i] + (places.size() > 1 ? kParts[part] : "");
      if (stage.half) number = "float16_t(" + number + ")";
      const std::string at = begin + places[part];
      line(filling.name +
           (stage.fours ? "[(" + at + ") >> 2][(" + at + ") & 3] = " : "[" + at + "] = ") + number +
           ";");
    }
  }
  if (some) close();
}

// Which half of the tiles holds this step; the other one is for the next.
void Lowering::staged_steps(const Value& dot, const Multiply& multiply) {
  const AxisId along = dot.axes_reduced[0];
  const int64_t depth = layout_.stage_depth;
  compute_axes_ = layout_.axes;
  std::vector<Filling> fillings;
  for (size_t side : {0, 1}) {
    const Stage& stage = *stage_of(dot.operands[side]);
    fillings.push_back(begin_filling(stage, tile_array(stage, side)));
  }
  const std::string last = integer(tile_end(along) + " - " + axes_[along].base);
  const std::string half = fill_first(fillings, "0", last);
  const std::string step = fresh("at_" + p_.axes[along].name + "_step");
  const std::optional<int64_t> tile = p_.size_of(p_.tile_extent(along));
  const Dim length = tile ? Dim::min(Dim(*tile), p_.axes[along].dim) : p_.axes[along].dim;
  open_loop("for (int " + step + " = 0; " + step + " < " + last + "; " + step +
                " += " + std::to_string(depth) + ")",
            Dim::floor_div(length + Dim(depth - 1), Dim(depth)));
  const std::string next = integer(step + " + " + std::to_string(depth));
  while_fetching(fillings, half, next, last, [&] { multiply(fillings, half); });
  close_loop();
}

// The first step's half of all tiles, once nobody reads what was there before: another product's
// tiles, or what the loop had when it was walked before. Returns the variable that says which half
// it is.
std::string Lowering::fill_first(std::vector<Filling>& fillings, const std::string& step,
                                 const std::string& last) {
  const std::string half = fresh("now");
  line("int " + half + " = 0;");
  line("barrier();");
  for (Filling& filling : fillings) {
    open("if (" + step + " < " + last + ")");
    put_tile(filling, half, named(filling, fetch_tile(filling, step), true));
    close();
  }
  line("barrier();");
  return half;
}

// The body works on one half while the next step's tiles are fetched, and then put into the other.
void Lowering::while_fetching(std::vector<Filling>& fillings, const std::string& half,
                              const std::string& next, const std::string& last,
                              const std::function<void()>& body) {
  std::vector<std::vector<std::string>> fetched;
  for (Filling& filling : fillings) {
    fetched.push_back(named(filling, std::vector<std::string>(filling.at.size()), false));
    open("if (" + next + " < " + last + ")");
    const std::vector<std::string> texts = fetch_tile(filling, next);
    for (size_t i = 0; i < texts.size(); ++i) line(fetched.back()[i] + " = " + texts[i] + ";");
    close();
  }
  body();
  open("if (" + next + " < " + last + ")");
  for (size_t i = 0; i < fillings.size(); ++i)
    put_tile(fillings[i], "(1 - " + half + ")", fetched[i]);
  close();
  line("barrier();");
  line(half + " = 1 - " + half + ";");
}

// Variables for what is fetched, with these values.
std::vector<std::string> Lowering::named(const Filling& filling,
                                         const std::vector<std::string>& texts, bool given) {
  std::vector<std::string> names;
  const std::string type =
      type_name(p_.values[filling.stage->operand].dtype, filling.pack != kNone);
  for (const std::string& text : texts) {
    names.push_back(fresh("fetched"));
    line(type + " " + names.back() + (given ? " = " + text : "") + ";");
  }
  return names;
}

// A few coordinates of the sum at a time, read from this step's half.
void Lowering::multiply_tiles(const std::vector<Filling>& fillings, const std::string& half,
                              const std::function<void()>& body) {
  const AxisId along = fillings[0].stage->along;
  const int64_t depth = layout_.stage_depth;
  const int64_t some = held(along);
  const std::string at = fresh("at_" + p_.axes[along].name + "_part");
  open_loop("for (int " + at + " = 0; " + at + " < " + std::to_string(depth) + "; " + at +
                " += " + std::to_string(some) + ")",
            Dim(depth / some));
  std::map<ValueId, AxisId> packs_before = packs_;
  for (const Filling& filling : fillings) {
    const Stage& stage = *filling.stage;
    std::string text = half + " * " + std::to_string(stage.elements) + " + " + at + " * " +
                       std::to_string(stage.stride);
    int64_t scale = 1;
    AxisId pack = kNone;
    for (AxisId axis : stage.rows) {
      const AxisLayout& layout = layout_.axes[axis];
      const std::string& own = axes_[axis].own;
      const int64_t times = scale * (layout.pack > 1 ? 1 : layout.registers);
      if (!own.empty()) text += " + " + own + " * " + std::to_string(times);
      if (layout.pack == 4 && pack == kNone) pack = axis;
      scale *= layout.span();
    }
    reading_[stage.operand] = {&stage, filling.name, integer(text)};
    packs_[stage.operand] = pack == stage.rows[0] ? pack : kNone;
  }
  body();
  packs_ = packs_before;
  for (const Filling& filling : fillings) reading_.erase(filling.stage->operand);
  close_loop();
}

// An element, or four of them, of a tile that is being multiplied.
std::string Lowering::read_tile(const Reading& reading, ValueId id, const Point& at, AxisId axis) {
  const Stage& stage = *reading.stage;
  int64_t place = at[stage.along] * stage.stride;
  int64_t scale = 1;
  for (AxisId row : stage.rows) {
    const AxisLayout& layout = layout_.axes[row];
    const int64_t number = layout.pack > 1
                               ? at[row] / layout.pack * layout.pack * layout.lanes * layout.waves +
                                     (row == axis ? 0 : at[row] % layout.pack)
                               : at[row];
    place += number * scale;
    scale *= layout.span();
  }
  if (!stage.fours) {
    return declare(type_name(p_.values[id].dtype, false), "v_tile", key_of(id, at, axis),
                   reading.name + "[" + plus(reading.first, place) + "]");
  }
  const std::string four =
      declare(type_name(p_.values[id].dtype, true), "v_tile",
              reading.name + ":" + std::to_string(place / 4),
              reading.name + "[(" + reading.first + ") / 4 + " + std::to_string(place / 4) + "]");
  constexpr const char* kParts[] = {".x", ".y", ".z", ".w"};
  return axis != kNone ? four : four + kParts[place % 4];
}

}  // namespace weft::simt
