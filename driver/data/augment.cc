// SPDX-License-Identifier: Apache-2.0
#include "driver/data/augment.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

namespace weft::data {
namespace {

struct Amount {
  const char* name;
  double Augment::*value;
  double most;
};

constexpr Amount kAmounts[] = {{"shift", &Augment::shift, 1024},
                               {"rotate", &Augment::rotate, 180},
                               {"scale", &Augment::scale, 0.9},
                               {"shear", &Augment::shear, 1},
                               {"elastic", &Augment::elastic, 1}};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Amount& amount : kAmounts) all.emplace_back(amount.name);
  return all;
}

Status set_amount(std::string_view part, Augment& out) {
  const size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  for (const Amount& amount : kAmounts) {
    if (name != amount.name) continue;
    const std::string_view number =
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    const char* end = number.data() + number.size();
    auto [at, failure] = std::from_chars(number.data(), end, out.*amount.value);
    if (!number.empty() && failure == std::errc() && at == end) return ok();
    return error({}, "--augment: '", part, "' does not say how much")
        .hint(cat("--augment ", name, "=1"));
  }
  return error({}, "--augment: there is no '", name, "'").hint(did_you_mean(name, names()));
}

// In [-most, most].
double within(double most, Random& random) {
  constexpr double kWords = 4294967296.0;
  return most * (2 * (random.word() / kWords) - 1);
}

double whole_within(double most, Random& random) {
  const auto whole = static_cast<int64_t>(most);
  return static_cast<double>(static_cast<int64_t>(random.below(2 * whole + 1)) - whole);
}

// Where in the old image a pixel of the new one comes from: a matrix, about the middle.
struct Map {
  double xx, xy, yx, yy;
  double x0, y0;
};

Map draw(const Augment& a, ImageShape shape, Random& random) {
  const double angle = within(a.rotate, random) * std::numbers::pi / 180;
  const double size = 1 + within(a.scale, random);
  const double lean = within(a.shear, random);
  const double dx = whole_within(a.shift, random);
  const double dy = whole_within(a.shift, random);
  const double c = std::cos(angle) / size;
  const double s = std::sin(angle) / size;
  Map map{c, c * lean - s, s, s * lean + c, 0, 0};
  const double middle_x = static_cast<double>(shape.width - 1) / 2;
  const double middle_y = static_cast<double>(shape.height - 1) / 2;
  map.x0 = middle_x - map.xx * (middle_x + dx) - map.xy * (middle_y + dy);
  map.y0 = middle_y - map.yx * (middle_x + dx) - map.yy * (middle_y + dy);
  return map;
}

double blend(double from, double to, double share) { return (1 - share) * from + share * to; }

// How far points of the old image are from where the map has them, along one axis: at random on a
// grid that spans the image, and in a straight line between its points.
class Bend {
 public:
  Bend(double most, ImageShape shape, Random& random)
      : step_y_(steps(shape.height)), step_x_(steps(shape.width)) {
    for (auto& row : grid_) {
      for (double& point : row) point = within(most, random);
    }
  }

  double at(int64_t y, int64_t x) const {
    const double v = static_cast<double>(y) * step_y_;
    const double u = static_cast<double>(x) * step_x_;
    const auto top = std::min(static_cast<size_t>(v), kPoints - 2);
    const auto left = std::min(static_cast<size_t>(u), kPoints - 2);
    const double across = u - static_cast<double>(left);
    return blend(blend(grid_[top][left], grid_[top][left + 1], across),
                 blend(grid_[top + 1][left], grid_[top + 1][left + 1], across),
                 v - static_cast<double>(top));
  }

 private:
  static constexpr size_t kPoints = 3;

  static double steps(int64_t size) {
    return static_cast<double>(kPoints - 1) / static_cast<double>(std::max<int64_t>(size - 1, 1));
  }

  double step_y_;
  double step_x_;
  double grid_[kPoints][kPoints];
};

}  // namespace

Result<Augment> parse_augment(std::string_view text) {
  Augment out;
  if (text == "none") return out;
  while (true) {
    const size_t comma = text.find(',');
    WEFT_TRY_STATUS(set_amount(text.substr(0, comma), out));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  WEFT_TRY_STATUS(check(out));
  return out;
}

std::string to_text(const Augment& augment) {
  std::string text;
  for (const Amount& amount : kAmounts) {
    const double value = augment.*amount.value;
    if (value > 0) text += cat(text.empty() ? "" : ",", amount.name, "=", value);
  }
  return text.empty() ? "none" : text;
}

Status check(const Augment& augment) {
  for (const Amount& amount : kAmounts) {
    const double value = augment.*amount.value;
    if (value >= 0 && value <= amount.most) continue;
    return error({}, "--augment: ", amount.name, " is ", value, ", expected 0 to ", amount.most);
  }
  if (augment.shift != std::floor(augment.shift)) {
    return error({}, "--augment: shift is ", augment.shift, ", expected whole pixels");
  }
  return ok();
}

void augment_image(std::span<const float> image, ImageShape shape, const Augment& augment,
                   Random random, std::span<float> out) {
  const Map map = draw(augment, shape, random);
  const Bend bend_x(augment.elastic * static_cast<double>(shape.width), shape, random);
  const Bend bend_y(augment.elastic * static_cast<double>(shape.height), shape, random);
  auto pixel = [&](int64_t y, int64_t x, int64_t channel) {
    const bool inside = y >= 0 && y < shape.height && x >= 0 && x < shape.width;
    const int64_t at = (y * shape.width + x) * shape.channels + channel;
    return inside ? static_cast<double>(image[static_cast<size_t>(at)]) : 0;
  };
  size_t at = 0;
  for (int64_t y = 0; y < shape.height; ++y) {
    for (int64_t x = 0; x < shape.width; ++x) {
      const auto fx = static_cast<double>(x);
      const auto fy = static_cast<double>(y);
      const double from_x = map.x0 + map.xx * fx + map.xy * fy + bend_x.at(y, x);
      const double from_y = map.y0 + map.yx * fx + map.yy * fy + bend_y.at(y, x);
      const auto left = static_cast<int64_t>(std::floor(from_x));
      const auto top = static_cast<int64_t>(std::floor(from_y));
      const double u = from_x - static_cast<double>(left);
      const double v = from_y - static_cast<double>(top);
      for (int64_t c = 0; c < shape.channels; ++c) {
        out[at++] = static_cast<float>(
            blend(blend(pixel(top, left, c), pixel(top, left + 1, c), u),
                  blend(pixel(top + 1, left, c), pixel(top + 1, left + 1, c), u), v));
      }
    }
  }
}

}  // namespace weft::data
