// SPDX-License-Identifier: Apache-2.0
#include "driver/train/watch.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::train {
namespace {

// "encoder.0.attn.q.weight" -> "encoder.0.attn"; "encoder.norm.gain" -> "encoder.norm".
std::string layer_name(const std::string& parameter) {
  std::vector<size_t> points;
  for (size_t i = 0; i < parameter.size(); ++i) {
    if (parameter[i] == '.') points.push_back(i);
  }
  if (points.empty()) return parameter;
  const bool numbered = points.size() > 2 && points[1] > points[0] + 1 &&
                        std::all_of(parameter.begin() + static_cast<std::ptrdiff_t>(points[0]) + 1,
                                    parameter.begin() + static_cast<std::ptrdiff_t>(points[1]),
                                    [](char c) { return c >= '0' && c <= '9'; });
  return parameter.substr(0, numbered ? points[2] : points.back());
}

// Calls fn(old, now) for each element. Other types than f32 and f64 are not watched.
template <class T, class Fn>
void for_pairs(std::span<const std::byte> old, std::span<const std::byte> now, Fn fn) {
  for (size_t i = 0; i + sizeof(T) <= now.size(); i += sizeof(T)) {
    T a = 0;
    T b = 0;
    std::memcpy(&a, old.data() + i, sizeof(T));
    std::memcpy(&b, now.data() + i, sizeof(T));
    fn(static_cast<double>(a), static_cast<double>(b));
  }
}

}  // namespace

std::vector<Layer> layers_of(const std::vector<Storage>& storage) {
  std::vector<Layer> layers;
  for (const Storage& item : storage) {
    if (item.kind != Storage::param || !is_float(item.type.dtype)) continue;
    const std::string name = layer_name(item.name);
    auto found = std::ranges::find(layers, name, &Layer::name);
    if (found == layers.end()) found = layers.insert(layers.end(), {name, {}});
    found->parameters.push_back(item.name);
  }
  return layers;
}

UpdateRatios::UpdateRatios(std::vector<Layer> layers, const std::vector<Storage>& storage)
    : layers_(std::move(layers)) {
  for (const Storage& item : storage) dtypes_.emplace(item.name, item.type.dtype);
}

Status UpdateRatios::before(TrainDevice& device) {
  for (const Layer& layer : layers_) {
    for (const std::string& name : layer.parameters) {
      WEFT_TRY(std::span<const std::byte> bytes, device.storage(name));
      old_[name].assign(bytes.begin(), bytes.end());
    }
  }
  return ok();
}

Result<std::vector<double>> UpdateRatios::after(TrainDevice& device) {
  std::vector<double> ratios;
  for (const Layer& layer : layers_) {
    double moved = 0;
    double size = 0;
    auto add = [&](double old, double now) {
      moved += (now - old) * (now - old);
      size += old * old;
    };
    for (const std::string& name : layer.parameters) {
      WEFT_TRY(std::span<const std::byte> now, device.storage(name));
      const DType dtype = dtypes_.at(name);
      if (dtype == DType::f32) for_pairs<float>(old_.at(name), now, add);
      if (dtype == DType::f64) for_pairs<double>(old_.at(name), now, add);
    }
    ratios.push_back(size > 0 ? std::sqrt(moved / size) : 0);
  }
  return ratios;
}

bool JumpWatch::is_jump(double norm) {
  if (!std::isfinite(norm)) return false;
  const bool jump = seen_ >= kLearning && norm > 10 * usual_;
  constexpr double kFade = 0.95;
  usual_ = seen_ == 0 ? norm : kFade * usual_ + (1 - kFade) * norm;
  ++seen_;
  return jump;
}

}  // namespace weft::train
