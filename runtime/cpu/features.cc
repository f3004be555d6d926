// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/features.h"

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft {
namespace {

struct Feature {
  std::string_view name;
  bool (*present)();
};

#if defined(__x86_64__)

// __builtin_cpu_supports does not know these two in every compiler we build with. It does ask the
// system whether it saves the wide registers, which F16C needs as well.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         (ecx & bit_F16C) != 0;
}

bool has_lzcnt() {
  constexpr unsigned kLzcntBit = 1U << 5;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kLzcntBit) != 0;
}

#define WEFT_FEATURE(name)                                 \
  {                                                        \
    name, [] { return __builtin_cpu_supports(name) != 0; } \
  }
constexpr Feature kFeatures[] = {
    WEFT_FEATURE("sse3"),     WEFT_FEATURE("ssse3"),    WEFT_FEATURE("sse4.1"),
    WEFT_FEATURE("sse4.2"),   WEFT_FEATURE("popcnt"),   {"lzcnt", has_lzcnt},
    WEFT_FEATURE("bmi"),      WEFT_FEATURE("bmi2"),     WEFT_FEATURE("avx"),
    {"f16c", has_f16c},       WEFT_FEATURE("fma"),      WEFT_FEATURE("avx2"),
    WEFT_FEATURE("avx512f"),  WEFT_FEATURE("avx512bw"), WEFT_FEATURE("avx512cd"),
    WEFT_FEATURE("avx512dq"), WEFT_FEATURE("avx512vl"),
};
#undef WEFT_FEATURE

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kFeatures)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kFeatures[i].name;
  return names;
}();

#else

constexpr std::array<Feature, 0> kFeatures;
constexpr std::array<std::string_view, 0> kNames;

#endif

}  // namespace

std::span<const std::string_view> known_cpu_features() { return kNames; }

bool host_has_cpu_feature(std::string_view feature) {
  return std::any_of(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& candidate) {
    return candidate.name == feature && candidate.present();
  });
}

std::vector<std::string> missing_cpu_features(std::span<const std::string> needed) {
  std::vector<std::string> missing;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(missing),
               [](const std::string& feature) { return !host_has_cpu_feature(feature); });
  return missing;
}

}  // namespace weft
