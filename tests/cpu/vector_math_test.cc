// Vector functions against the C library's in double: at most 2 ulp off, and the special values of
// C.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "tests/cpu/flat_function.h"
#include "tests/support/mutate.h"

namespace weft::cpu {
namespace {

constexpr double kMaxUlp = 2;
constexpr uint64_t kSeed = 20;
constexpr size_t kBatch = size_t{1} << 20;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One unit in the last place of f32 at a number.
double ulp_at(double value) {
  const int exponent = value == 0 ? -126 : std::ilogb(value);
  return std::ldexp(1.0, std::clamp(exponent, -126, 127) - 23);
}

// The distance in ulp; infinity where the kinds differ.
double ulp_error(float got, double want) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? 0 : kInfinity;
  }
  // An infinite float stands for the power of two that comes next.
  const double bounded = std::clamp(want, -0x1p128, 0x1p128);
  if (std::isinf(want) && std::isfinite(got)) return kInfinity;
  const double value = std::isinf(got) ? std::copysign(0x1p128, got) : static_cast<double>(got);
  if (value == 0 && bounded == 0) return std::signbit(got) == std::signbit(want) ? 0 : kInfinity;
  return std::abs(value - bounded) / ulp_at(bounded);
}

struct Worst {
  double ulp = -1;
  float x = 0;
  float y = 0;
  float got = 0;
  double want = 0;

  void see(float x_in, float y_in, float result, double expected) {
    const double error = ulp_error(result, expected);
    if (error > ulp) *this = {error, x_in, y_in, result, expected};
  }
};

std::vector<float> special_values() {
  std::vector<float> values;
  auto around = [&](float value) {
    for (float sign : {1.0F, -1.0F}) {
      for (int32_t step = -64; step <= 64; ++step) {
        const auto bits = static_cast<int32_t>(std::bit_cast<uint32_t>(value)) + step;
        if (bits >= 0) values.push_back(sign * std::bit_cast<float>(bits));
      }
    }
  };
  for (float value : {0.0F,        0x1p-126F,   1.0F,        2.0F,
                      0.5F,        2.0F / 3,    4.0F / 3,    0.785398163F,
                      4.0F,        1.57079633F, 3.14159265F, 88.7228394F,
                      87.3365448F, 103.972077F, 103.278929F, 9.0109F,
                      9.1F,        3.8325F,     0x1p20F,     0x1p23F,
                      0x1p24F,     0x1p31F,     0x1p127F,    std::numeric_limits<float>::max(),
                      kInfinity}) {
    around(value);
  }
  for (int k = 1; k < 20000; ++k) {
    values.push_back(
        static_cast<float>(k * 1.5707963267948966));  // close to the zeros of sin and cos
    values.push_back(static_cast<float>(k * 0.34657359027997264));  // the edges of exp's steps
    values.push_back(-values.back());
  }
  for (int e = -149; e <= 127; ++e) around(std::ldexp(1.0F, e));
  // The float that comes closest to a multiple of pi/2.
  values.push_back(0x1.6ac5b4p+101F);
  return values;
}

// One float out of each of `count` equal parts of all bit patterns.
std::vector<float> spread_values(uint64_t first, uint64_t last, uint64_t count,
                                 std::mt19937_64& random) {
  std::vector<float> values;
  const uint64_t stride = (uint64_t{1} << 32) / count;
  for (uint64_t part = first; part < last; ++part) {
    values.push_back(
        std::bit_cast<float>(static_cast<uint32_t>(part * stride + random() % stride)));
  }
  return values;
}

struct Unary {
  const char* name;
  llvm::Value* (*emit)(llvm::IRBuilderBase&, llvm::Value*, const CpuTarget&);
  double (*reference)(double);
};

void PrintTo(const Unary& function, std::ostream* out) { *out << function.name; }

class VectorMath : public testing::TestWithParam<Unary> {};

void compare(const FlatFunction& function, const Unary& unary, const std::vector<float>& values,
             Worst& worst) {
  const std::vector<float> results = function({values});
  for (size_t i = 0; i < values.size(); ++i) {
    worst.see(values[i], 0, results[i], unary.reference(static_cast<double>(values[i])));
  }
}

TEST_P(VectorMath, IsWithinTwoUlpOnEveryTarget) {
  const Unary& unary = GetParam();
  const auto count = static_cast<uint64_t>(suite_count(3'200'000));
  for (const CpuTarget& target : runnable_targets()) {
    const FlatFunction function(
        target, static_cast<unsigned>(target.f32_lanes()), 1,
        [&](llvm::IRBuilderBase& ir, const auto& x) { return unary.emit(ir, x[0], target); });
    std::mt19937_64 random(kSeed);
    Worst worst;
    compare(function, unary, special_values(), worst);
    for (uint64_t part = 0; part < count; part += kBatch) {
      compare(function, unary, spread_values(part, std::min(part + kBatch, count), count, random),
              worst);
    }
    std::printf("%s on %s: %.3f ulp at %a\n", unary.name, target.name.c_str(), worst.ulp,
                static_cast<double>(worst.x));
    EXPECT_LE(worst.ulp, kMaxUlp) << unary.name << "(" << worst.x << ") on " << target.name
                                  << " is " << worst.got << " instead of " << worst.want
                                  << ", seed " << kSeed;
  }
}

// A remainder loop computes with one lane what the main loop computes with many, and some loops
// with more lanes than a register has, or with a number that is no power of two.
TEST_P(VectorMath, OneLaneGivesTheBitsOfMany) {
  const Unary& unary = GetParam();
  for (const CpuTarget& target : runnable_targets()) {
    auto body = [&](llvm::IRBuilderBase& ir, const auto& x) {
      return unary.emit(ir, x[0], target);
    };
    const FlatFunction one(target, 1, 1, body);
    const std::vector<float> values = special_values();
    const std::vector<float> narrow = one({values});
    const auto whole = static_cast<unsigned>(target.f32_lanes());
    for (unsigned lanes : {whole, 4U, 12U, 20U, 8 * whole}) {
      const FlatFunction many(target, lanes, 1, body);
      const std::vector<float> wide = many({values});
      for (size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(wide[i]) && std::isnan(narrow[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(narrow[i]))
            << unary.name << "(" << values[i] << ") on " << target.name << ", " << lanes
            << " lanes";
      }
    }
  }
}

// Flags that would let LLVM reorder or drop roundings stay outside.
TEST_P(VectorMath, FastMathFlagsOfTheBuilderDoNotReachIt) {
  const Unary& unary = GetParam();
  const CpuTarget target = resolve_cpu_target("native", TargetUse::kRun).value();
  const FlatFunction function(target, static_cast<unsigned>(target.f32_lanes()), 1,
                              [&](llvm::IRBuilderBase& ir, const auto& x) {
                                llvm::FastMathFlags flags;
                                flags.setFast();
                                ir.setFastMathFlags(flags);
                                llvm::Value* y = unary.emit(ir, x[0], target);
                                EXPECT_TRUE(ir.getFastMathFlags().isFast());
                                return y;
                              });
  Worst worst;
  compare(function, unary, special_values(), worst);
  EXPECT_LE(worst.ulp, kMaxUlp) << unary.name << "(" << worst.x << ")";
}

INSTANTIATE_TEST_SUITE_P(
    Functions, VectorMath,
    testing::Values(Unary{"exp", emit_exp, std::exp}, Unary{"log", emit_log, std::log},
                    Unary{"tanh", emit_tanh, std::tanh}, Unary{"erf", emit_erf, std::erf},
                    Unary{"sin", emit_sin, std::sin}, Unary{"cos", emit_cos, std::cos}),
    [](const auto& test) { return std::string(test.param.name); });

void compare_pow(const FlatFunction& function, const std::vector<float>& x,
                 const std::vector<float>& y, Worst& worst) {
  const std::vector<float> results = function({x, y});
  for (size_t i = 0; i < x.size(); ++i) {
    worst.see(x[i], y[i], results[i],
              std::pow(static_cast<double>(x[i]), static_cast<double>(y[i])));
  }
}

// Bases and exponents that give results in range, which random bits hardly do.
void moderate_pairs(std::vector<float>& x, std::vector<float>& y, size_t count,
                    std::mt19937_64& random) {
  auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (size_t i = 0; i < count; ++i) {
    const double base = std::exp2(i % 2 == 0 ? unit() * 250 - 125 : unit() - 0.5);
    const double log_result = unit() * 282 - 152;
    double exponent = log_result / std::log2(base);
    if (i % 3 == 0) exponent = std::round(exponent);
    x.push_back(static_cast<float>(i % 5 == 0 ? -base : base));
    y.push_back(static_cast<float>(exponent));
  }
}

TEST(VectorPow, IsWithinTwoUlpOnEveryTarget) {
  const std::vector<float> edges = {
      0.0F,       -0.0F,   0x1p-149F,   -0x1p-149F,  0x1p-126F, 0.5F,   -0.5F,
      1.0F,       -1.0F,   1.5F,        2.0F,        -2.0F,     3.0F,   -3.0F,
      0x1p23F,    0x1p24F, -0x1p24F,    16777215.0F, 1e30F,     -1e30F, kInfinity,
      -kInfinity, NAN,     0.99999994F, 1.0000001F,  127.5F,    -149.0F};
  for (const CpuTarget& target : runnable_targets()) {
    const FlatFunction function(
        target, static_cast<unsigned>(target.f32_lanes()), 2,
        [&](llvm::IRBuilderBase& ir, const auto& x) { return emit_pow(ir, x[0], x[1], target); });
    std::mt19937_64 random(kSeed);
    std::vector<float> x, y;
    for (float a : edges) {
      for (float b : edges) {
        x.push_back(a);
        y.push_back(b);
      }
    }
    Worst worst;
    compare_pow(function, x, y, worst);
    for (int batch = 0; batch < suite_count(20); ++batch) {
      x.clear();
      y.clear();
      moderate_pairs(x, y, kBatch / 8, random);
      compare_pow(function, x, y, worst);
      x = spread_values(0, kBatch / 32, kBatch / 32, random);
      y = spread_values(0, kBatch / 32, kBatch / 32, random);
      std::shuffle(y.begin(), y.end(), random);
      compare_pow(function, x, y, worst);
    }
    std::printf("pow on %s: %.3f ulp at %a, %a\n", target.name.c_str(), worst.ulp,
                static_cast<double>(worst.x), static_cast<double>(worst.y));
    EXPECT_LE(worst.ulp, kMaxUlp) << "pow(" << worst.x << ", " << worst.y << ") on " << target.name
                                  << " is " << worst.got << " instead of " << worst.want
                                  << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace weft::cpu
