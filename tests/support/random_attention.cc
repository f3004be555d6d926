// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_attention.h"

#include <cmath>
#include <limits>
#include <random>

#include "ir/graph/emit.h"
#include "ir/support/result.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Perm = std::vector<int64_t>;

class Speller {
 public:
  Speller(Module& module, Graph& graph, uint64_t seed, double least_added, DType loss)
      : graph_(graph), b_(module, graph), random_(seed), least_added_(least_added), loss_(loss) {}

  void run() {
    choose_sizes();
    make_factors();
    Value scores = masked(product());
    Value out = weighted(scores);
    graph_.outputs.push_back({"out", out});
    Value wide = b_.cast_to(out, loss_);
    Perm axes;
    for (size_t i = 0; i < b_.shape(wide).size(); ++i) axes.push_back(static_cast<int64_t>(i));
    graph_.outputs.push_back({"loss", b_.sum({b_.mul({wide, wide})}, {{"axes", axes}})});
  }

  std::string spelling;

 private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  bool chance(int percent) { return below(100) < percent; }
  // One of the words, noted down.
  std::string choose(const std::vector<std::string>& words) {
    const std::string& word = words[static_cast<size_t>(below(static_cast<int64_t>(words.size())))];
    spelling += (spelling.empty() ? "" : " ") + word;
    return word;
  }
  Value input(const std::string& name, DType dtype, const Shape& shape) {
    return graph_.add_input(name, Type{dtype, shape});
  }
  Value number(double value, Value like) { return b_.like(value, like); }

  void choose_sizes() {
    layout_ = choose({"plain", "plain", "einsum", "merged", "flipped", "flipped-out", "single"});
    heads_ = layout_ == "plain" ? choose({"full", "multi-query", "repeated"}) : "full";
    dtype_ = choose({"f32", "f32", "f64", "f16"}) == "f16" ? DType::f16 : DType::f32;
    if (spelling.ends_with("f64")) dtype_ = DType::f64;
    const std::vector<Dim> sizes = {1, 2, 3, 5, Dim::symbol("T")};
    t_ = sizes[static_cast<size_t>(below(5))];
    s_ = chance(60) ? t_ : chance(50) ? t_ + 2 : Dim(4);
    // Where queries and keys are one each, nothing tells which axis is which.
    if (layout_.starts_with("flipped") && t_.is_constant(1)) s_ = 4;
    square_ = t_ == s_;
  }

  bool flipped() const { return layout_.starts_with("flipped"); }

  // q [B, H, T, D], k [B, H, S, D], v [B, H, S, E], as far as the layout has these axes.
  void make_factors() {
    Dim h = heads_ == "repeated" ? Dim(4) : Dim(2);
    lead_ = {Dim::symbol("B"), h};
    if (layout_ == "merged") lead_ = {Dim::symbol("B") * h};
    if (layout_ == "single") lead_ = {};
    q_ = factor("q", lead_, t_, 4);
    Shape keys = lead_;
    if (heads_ == "multi-query") keys[1] = 1;
    if (heads_ == "repeated") keys[1] = 2;
    k_ = repeat(factor("k", keys, s_, 4));
    v_ = repeat(factor("v", keys, s_, 3));
    if (layout_ == "merged") split_ = {Dim::symbol("B"), h};
  }

  Value factor(const std::string& name, Shape shape, const Dim& rows, const Dim& cols) {
    if (layout_ == "einsum") {
      Value value = input(name, dtype_, {shape[0], rows, shape[1], cols});
      return b_.transpose({value}, {{"perm", Perm{0, 2, 1, 3}}});
    }
    shape.push_back(rows);
    shape.push_back(cols);
    return input(name, dtype_, shape);
  }

  Value repeat(Value value) {
    Shape shape = b_.shape(value);
    if (heads_ == "multi-query") {
      shape[1] = 2;
      return b_.broadcast_to(value, shape);
    }
    if (heads_ != "repeated") return value;
    Shape grouped = {shape[0], 2, 1, shape[2], shape[3]};
    value = b_.reshape_to(value, grouped);
    grouped[2] = 2;
    shape[1] = 4;
    return b_.reshape_to(b_.broadcast_to(value, grouped), shape);
  }

  Value product() {
    std::string scale = choose({"unscaled", "q", "k", "both", "scores", "division", "root"});
    Value q = q_;
    Value k = k_;
    if (scale == "q" || scale == "both") q = b_.mul({q, number(0.75, q)});
    if (scale == "k" || scale == "both") k = b_.div({k, number(1.5, k)});
    Value s = flipped() ? b_.matmul({k, b_.transpose_last_two(q)})
                        : b_.matmul({q, b_.transpose_last_two(k)});
    if (dtype_ == DType::f16 && chance(50)) s = b_.cast_to(s, DType::f32);
    if (layout_ == "merged") {
      Shape shape = split_;
      shape.insert(shape.end(), {t_, s_});
      s = b_.reshape_to(s, shape);
    }
    if (scale == "scores") s = b_.mul({s, number(0.6, s)});
    if (scale == "division") s = b_.div({s, number(1.7, s)});
    if (scale == "root") s = b_.div({s, b_.sqrt({number(3, s)})});
    return s;
  }

  // [.., T, S], laid out as the scores are.
  Value laid_out(Value value) {
    if (!flipped() || b_.shape(value).size() < 2) return value;
    return b_.transpose_last_two(value);
  }

  Value masked(Value s) {
    safe_ = chance(50);  // softmax as one op: rows may be masked throughout
    std::string bias = choose({"no-bias", "no-bias", "bias", "alibi"});
    if (bias == "bias") s = b_.add({s, laid_out(input("bias", b_.type(s).dtype, {t_, s_}))});
    if (bias == "alibi") s = b_.add({s, laid_out(distances(b_.type(s).dtype))});
    double low = b_.type(s).dtype == DType::f16 ? -3e4 : -1e9;
    fill_ = safe_ && chance(60) ? -kInfinity : low;
    std::vector<std::string> masks = {"none", "mask", "causal", "iota"};
    if (square_) masks.insert(masks.end(), {"window", "band"});
    if (t_.is_constant() && s_.is_constant()) masks.emplace_back("triangle");
    if (layout_ == "plain" || layout_ == "einsum") masks.emplace_back("lengths");
    std::string first = choose(masks);
    if (first == "none") return s;
    Value seen = laid_out(mask(first));
    if (chance(30)) {
      std::string second = choose(masks);
      if (second != first && second != "none") {
        seen = b_.logical_and({seen, laid_out(mask(second))});
      }
    }
    return put(s, seen);
  }

  Value put(Value s, Value seen) {
    spelling += fill_ == -kInfinity ? " infinite" : " finite";
    std::string how = choose({"select", "hidden", "added", "multiplied"});
    Value fill = number(fill_, s);
    if (how == "select") return b_.select({seen, s, fill});
    if (how == "hidden") return b_.select({b_.logical_not({seen}), fill, s});
    if (how == "added") {
      Value amount = fill_ == -kInfinity ? fill : number(std::max(fill_, least_added_), s);
      return b_.add({s, b_.select({seen, number(0, s), amount})});
    }
    if (fill_ == -kInfinity) return b_.select({seen, s, fill});
    Value bit = b_.cast_to(seen, b_.type(s).dtype);
    Value rest = b_.mul({b_.sub({number(1, s), bit}), number(-fill_, s)});
    return b_.sub({b_.mul({s, bit}), rest});
  }

  Value positions(int64_t axis, DType dtype) {
    return b_.iota({}, {{"shape", Shape{t_, s_}}, {"axis", axis}, {"dtype", dtype}});
  }

  Value distances(DType dtype) {
    Value behind = b_.sub({positions(1, DType::f32), positions(0, DType::f32)});
    return b_.cast_to(b_.mul({behind, number(0.125, behind)}), dtype);
  }

  Value mask(const std::string& kind) {
    if (kind == "mask") return input("mask", DType::boolean, {t_, s_});
    if (kind == "causal") return b_.causal_mask({}, {{"rows", t_}, {"cols", s_}});
    if (kind == "lengths") {
      Value n = input("n", DType::i32, {Dim::symbol("B")});
      Value keep = b_.padding_mask({n}, {{"size", s_}});
      return b_.reshape_to(keep, {Dim::symbol("B"), 1, 1, s_});
    }
    Value row = positions(0, DType::i32);
    Value col = positions(1, DType::i32);
    if (kind == "iota") return b_.le({col, row});
    if (kind == "band") return b_.lt({b_.abs({b_.sub({col, row})}), number(2, row)});
    if (kind == "triangle") return triangle();
    Value reached = b_.ge({col, b_.sub({row, number(1, row)})});
    return b_.logical_and({reached, b_.ge({row, col})});
  }

  Value triangle() {
    std::vector<int64_t> bits;
    for (int64_t i = 0; i < t_.constant(); ++i) {
      for (int64_t j = 0; j < s_.constant(); ++j) {
        bits.push_back(j <= i + s_.constant() - t_.constant() ? 1 : 0);
      }
    }
    return b_.constant(
        {}, {{"value", Numbers{bits}}, {"dtype", DType::boolean}, {"shape", Shape{t_, s_}}});
  }

  Value weighted(Value s) {
    auto rank = static_cast<int64_t>(b_.shape(s).size());
    int64_t axis = flipped() ? rank - 2 : rank - 1;
    std::vector<std::string> ways = {"softmax"};
    // A sum of one number is not a sum any more once it is simplified.
    bool whole = fill_ != -kInfinity && !s_.is_constant(1);
    if (whole) ways.insert(ways.end(), {"written", "bare", "log", "inverse", "late"});
    // Around -1e9 a logarithm has not the digits that f64 is held to.
    if (whole && dtype_ != DType::f64) ways.emplace_back("logsumexp");
    std::string way = choose(ways);
    if (way == "late" && (flipped() || layout_ == "merged" || dtype_ == DType::f16))
      way = "written";
    if (way == "late") return late(s, axis);
    return applied(weights(s, axis, way));
  }

  Value weights(Value s, int64_t axis, const std::string& way) {
    if (way == "softmax") return b_.softmax({s}, {{"axis", axis}});
    if (way == "log") return b_.exp({b_.log_softmax({s}, {{"axis", axis}})});
    if (way == "logsumexp") {
      Value sum = b_.logsumexp({s}, {{"axis", axis}, {"keepdims", true}});
      return b_.exp({b_.sub({s, sum})});
    }
    Attrs over{{"axes", Perm{axis}}, {"keepdims", true}};
    // Without the largest element, scores of -1e9 alone would vanish.
    bool bare = way == "bare" && spelling.find("finite") == std::string::npos;
    Value powers = b_.exp({bare ? s : b_.sub({s, b_.max({s}, over)})});
    Value total = b_.sum({powers}, over);
    if (way == "inverse") return b_.mul({b_.div({number(1, total), total}), powers});
    return b_.div({powers, total});
  }

  Value late(Value s, int64_t axis) {
    Attrs over{{"axes", Perm{axis}}, {"keepdims", true}};
    Value powers = b_.exp({b_.sub({s, b_.max({s}, over)})});
    Value total = b_.sum({powers}, over);
    return b_.div({b_.matmul({drop(powers), v_}), total});
  }

  Value drop(Value weights) {
    if (!chance(30)) return weights;
    spelling += " dropout";
    return b_.dropout({weights, input("rng", DType::u32, {Dim(2)})},
                      {{"rate", 0.25}, {"stream", below(4)}});
  }

  Value applied(Value p) {
    if (layout_ == "flipped") p = b_.transpose_last_two(p);
    if (layout_ != "flipped-out") p = drop(p);
    if (layout_ == "merged") {
      Shape shape = lead_;
      shape.insert(shape.end(), {t_, s_});
      p = b_.reshape_to(p, shape);
    }
    p = b_.cast_to(p, dtype_);
    if (layout_ == "flipped-out") return b_.matmul({b_.transpose_last_two(v_), p});
    Value out = b_.matmul({p, v_});
    if (layout_ != "einsum") return out;
    return b_.transpose({out}, {{"perm", Perm{0, 2, 1, 3}}});
  }

  Graph& graph_;
  Emitter b_;
  std::mt19937_64 random_;
  std::string layout_;
  std::string heads_;
  DType dtype_ = DType::f32;
  Dim t_, s_;
  bool square_ = false;
  bool safe_ = false;
  double fill_ = -1e9;
  double least_added_;
  DType loss_;
  Shape lead_, split_;
  Value q_, k_, v_;
};

}  // namespace

RandomAttention random_attention(uint64_t seed, double least_added, DType loss) {
  RandomAttention result;
  result.module.dims.bounds["T"] = {1, 7};
  result.module.dims.bounds["B"] = {1, 3};
  Graph graph("forward");
  Speller speller(result.module, graph, seed * 0x9e3779b97f4a7c15 + 1, least_added, loss);
  speller.run();
  result.module.graphs.push_back(std::move(graph));
  result.spelling = speller.spelling;
  return result;
}

}  // namespace weft
