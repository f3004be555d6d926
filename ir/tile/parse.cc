// The parser of Tile programs: a kernel's header.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/text/names.h"
#include "ir/tile/parse_kernel.h"
#include "ir/tile/text.h"

namespace weft::tile {
namespace {

constexpr size_t kMaxAxes = 64;
constexpr size_t kMaxKnobs = 256;
constexpr std::string_view kPlaces[] = {"reg", "lane", "wave", "step"};

std::vector<std::string> keys(const auto& map) {
  std::vector<std::string> out;
  for (const auto& entry : map) out.push_back(entry.first);
  return out;
}

}  // namespace

Program KernelParser::parse() {
  lines_.push_back(in_.here());
  if (!in_.expect("kernel")) return {};
  if (!in_.at(Token::Kind::storage)) {
    in_.unexpected("a kernel's name, such as @softmax");
    return {};
  }
  program_.name = in_.take().name();
  Place opened = in_.peek().place;
  if (!in_.expect("{")) return {};
  while (at_header()) {
    if (header_line()) continue;
    in_.skip_to_line({"in", "out", "inout", "free", "order", "axis", "grid", "layout", "loc",
                      "store", "update", "scatter", "loop", "when", "}"},
                     true);
  }
  block(program_.body, nullptr, opened);
  if (!in_.failed() && !in_.at_end()) in_.unexpected("the end");
  return std::move(program_);
}

bool KernelParser::at_header() const {
  for (std::string_view word :
       {"in", "out", "inout", "free", "order", "axis", "grid", "layout", "loc"}) {
    if (in_.at(word)) return true;
  }
  return false;
}

bool KernelParser::header_line() {
  if (in_.at("in") || in_.at("out") || in_.at("inout")) return buffer();
  if (in_.at("free") || in_.at("order")) return knob();
  if (in_.take_if("axis")) return axis();
  if (in_.take_if("grid")) return grid();
  if (in_.take_if("layout")) return layout();
  in_.take();
  return loc();
}

bool KernelParser::buffer() {
  if (!in_.room_for(kMaxListItems, program_.buffers.size(), "buffers")) return false;
  Token mode = in_.take();
  Buffer made;
  made.mode = mode.is("in") ? Buffer::in : mode.is("out") ? Buffer::out : Buffer::inout;
  if (!in_.at(Token::Kind::value)) {
    in_.unexpected("a buffer's name, such as %x");
    return false;
  }
  Token token = in_.take();
  made.name = token.name();
  if (!in_.expect(":")) return false;
  std::optional<Type> type = parse_type(in_);
  if (!type) return false;
  made.dtype = type->dtype;
  made.dims = type->shape;
  made.strides = row_major_strides(type->shape);
  if (in_.take_if("strides")) {
    std::optional<std::vector<Dim>> strides = dims();
    if (!strides) return false;
    made.strides = *std::move(strides);
  }
  if (!buffers_.emplace(made.name, static_cast<BufferId>(program_.buffers.size())).second) {
    in_.fail(error(in_.loc(token.place), "two buffers are called %", shown(made.name)));
    return false;
  }
  program_.buffers.push_back(std::move(made));
  return true;
}

std::optional<std::vector<Dim>> KernelParser::dims() {
  if (!in_.expect("[")) return std::nullopt;
  std::vector<Dim> list;
  while (!in_.at("]")) {
    if (!list.empty() && !in_.expect(",")) return std::nullopt;
    if (!in_.room_for(kMaxRank, list.size(), "strides")) return std::nullopt;
    std::optional<Dim> dim = parse_dim(in_);
    if (!dim) return std::nullopt;
    list.push_back(*dim);
  }
  in_.take();
  return list;
}

std::optional<int64_t> KernelParser::positive(std::string_view what) {
  Place place = in_.peek().place;
  std::optional<int64_t> number = parse_integer(in_);
  if (!number || (*number > 0 && *number <= DimFacts::kDefaultHigh)) return number;
  in_.fail(error(in_.loc(place), what, " cannot be ", *number).hint("choose 1 or more"));
  return std::nullopt;
}

bool KernelParser::knob() {
  if (!in_.room_for(kMaxKnobs, program_.knobs.size(), "knobs")) return false;
  Knob made;
  made.kind = in_.take().is("free") ? Knob::free : Knob::order;
  Token token = in_.peek();
  if (!in_.at(Token::Kind::word) || !is_symbol(token.text)) {
    in_.unexpected("a knob's name, such as BM");
    return false;
  }
  made.name = in_.take().text;
  if (!in_.expect("=")) return false;
  std::optional<int64_t> value = positive("a knob");
  if (!value) return false;
  made.value = *value;
  if (in_.take_if("strict")) {
    made.strict = positive("a knob");
    if (!made.strict) return false;
  }
  // On its own line `in` begins a buffer.
  if (in_.at("in") && in_.same_line()) {
    in_.take();
    if (!in_.expect("[")) return false;
    while (!in_.at("]")) {
      if (!made.choices.empty() && !in_.expect(",")) return false;
      if (!in_.room_for(kMaxKnobs, made.choices.size(), "choices")) return false;
      std::optional<int64_t> choice = positive("a knob");
      if (!choice) return false;
      made.choices.push_back(*choice);
    }
    in_.take();
  }
  if (!knobs_.emplace(made.name, static_cast<uint32_t>(program_.knobs.size())).second) {
    in_.fail(error(in_.loc(token.place), "two knobs are called ", shown(token.text)));
    return false;
  }
  program_.knobs.push_back(std::move(made));
  return true;
}

std::optional<Extent> KernelParser::extent() {
  if (!in_.at(Token::Kind::word)) {
    std::optional<int64_t> size = positive("an extent");
    return size ? std::optional(Extent::by(*size)) : std::nullopt;
  }
  Token token = in_.take();
  auto found = knobs_.find(token.text);
  if (found != knobs_.end()) return Extent{Extent::knob, 0, found->second};
  in_.fail(error(in_.loc(token.place), "unknown knob ", shown(token.text))
               .hint(did_you_mean(token.text, keys(knobs_))));
  return std::nullopt;
}

bool KernelParser::axis() {
  if (!in_.room_for(kMaxAxes, program_.axes.size(), "axes")) return false;
  Token token = in_.peek();
  if (!in_.at(Token::Kind::word) || !is_symbol(token.text)) {
    in_.unexpected("an axis, such as m");
    return false;
  }
  Axis made;
  made.name = in_.take().text;
  if (!in_.expect(":")) return false;
  std::optional<Dim> dim = parse_dim(in_);
  if (!dim) return false;
  made.dim = *dim;
  if (!in_.take_if("full")) {
    if (!in_.take_if("by")) {
      in_.unexpected("'by' and an extent, or 'full'");
      return false;
    }
    std::optional<Extent> outer = extent();
    if (!outer) return false;
    made.extent = *outer;
    if (in_.take_if("/")) made.inner = extent();
  }
  if (!axes_.emplace(made.name, static_cast<AxisId>(program_.axes.size())).second) {
    in_.fail(error(in_.loc(token.place), "two axes are called ", shown(token.text)));
    return false;
  }
  program_.axes.push_back(std::move(made));
  return true;
}

std::optional<AxisId> KernelParser::find_axis(const Token& token, std::string_view name) {
  auto found = axes_.find(name);
  if (found != axes_.end()) return found->second;
  in_.fail(error(in_.loc(token.place), "unknown axis ", shown(name))
               .hint(did_you_mean(name, keys(axes_))));
  return std::nullopt;
}

std::optional<AxisId> KernelParser::axis_name() {
  if (!in_.at(Token::Kind::word)) {
    in_.unexpected("an axis");
    return std::nullopt;
  }
  Token token = in_.take();
  return find_axis(token, token.text);
}

bool KernelParser::grid() {
  do {
    if (!in_.room_for(kMaxAxes, program_.grid.size(), "axes in the grid")) return false;
    bool serial = in_.take_if("serial");
    std::optional<AxisId> axis = axis_name();
    if (!axis) return false;
    program_.grid.push_back({*axis, serial});
  } while (in_.take_if(","));
  return true;
}

bool KernelParser::layout() {
  std::optional<AxisId> axis = axis_name();
  if (!axis || !in_.expect("=") || !in_.expect("[")) return false;
  std::vector<Digit> digits;
  while (!in_.at("]")) {
    if (!digits.empty() && !in_.expect(",")) return false;
    if (!in_.room_for(kMaxNesting, digits.size(), "digits")) return false;
    auto place = std::ranges::find(kPlaces, in_.peek().text);
    if (!in_.at(Token::Kind::word) || place == std::end(kPlaces)) {
      in_.unexpected("a digit's place: reg, lane, wave or step");
      return false;
    }
    in_.take();
    Digit digit{static_cast<Digit::Place>(place - std::begin(kPlaces)), 1};
    std::optional<int64_t> size = positive("a digit");
    if (!size) return false;
    digit.size = *size;
    digits.push_back(digit);
  }
  in_.take();
  program_.layout.resize(program_.axes.size());
  program_.layout[*axis] = std::move(digits);
  return true;
}

bool KernelParser::loc() {
  do {
    if (!in_.at(Token::Kind::string)) {
      in_.unexpected("a place in the model in quotes");
      return false;
    }
    program_.origin = weft::unite(program_.origin, Provenance{in_.take().name()});
  } while (in_.take_if(","));
  return true;
}

Result<Program> parse(const std::string& file, std::string text) {
  auto source = std::make_shared<const SourceText>(SourceText{file, std::move(text)});
  WEFT_TRY_STATUS(check_text(source));
  Cursor in(source);
  KernelParser parser(in);
  Program program = parser.parse();
  if (!in.failed()) {
    Status status = verify(program, parser.lines());
    if (!status.ok()) in.fail(std::move(status).take_error());
  }
  if (in.failed()) return in.take_errors();
  return program;
}

}  // namespace weft::tile
