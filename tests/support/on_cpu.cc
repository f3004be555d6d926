// SPDX-License-Identifier: Apache-2.0
#include "tests/support/on_cpu.h"

#include <algorithm>
#include <cstring>

#include "driver/compile.h"

namespace weft {

const std::vector<std::string>& cpu_targets() {
  static const std::vector<std::string> kTargets = [] {
    std::vector<std::string> found = {"native", "generic"};
    for (const char* name : {"avx2", "avx512"}) {
      CompileRequest request;
      request.target_cpu = name;
      if (has_code_generator() && compile(Module(), request).ok()) found.emplace_back(name);
    }
    return found;
  }();
  return kTargets;
}

bool same_bits(const TensorMap& a, const TensorMap& b) {
  auto same = [](const Tensor& x, const Tensor& y) {
    return x.integers == y.integers && x.reals.size() == y.reals.size() &&
           (x.reals.empty() ||
            std::memcmp(x.reals.data(), y.reals.data(), x.reals.size() * sizeof(double)) == 0);
  };
  return std::ranges::equal(a, b, [&](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

bool same_bits(const OracleResult& a, const OracleResult& b) {
  return same_bits(a.outputs, b.outputs) && same_bits(a.updates, b.updates);
}

}  // namespace weft
