// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/facts.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "runtime/cpu/features.h"

namespace weft {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> features;
  for (std::string_view feature : known_cpu_features()) {
    if (host_has_cpu_feature(feature)) features.emplace_back(feature);
  }
#if defined(__aarch64__)
  features.emplace_back("neon");
#endif
  return features;
}

int64_t system_fact(int name) {
  long value = ::sysconf(name);
  return value > 0 ? value : 0;
}

// Of the first processor's cache for data of this level. What glibc reads from the processor is, in
// a virtual machine, sometimes that of the whole host, so the kernel's word goes first.
int64_t cache_bytes(int level, int name) {
  for (int index = 0;; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int found = 0;
    std::string type;
    int64_t kib = 0;
    if (!(std::ifstream(folder + "level") >> found)) break;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "size") >> kib;  // "32768K"
    if (found == level && type != "Instruction" && kib > 0) return kib << 10;
  }
  return system_fact(name);
}

}  // namespace

CpuFacts cpu_facts() {
  CpuFacts facts;
  facts.model = cpu_model();
  facts.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  facts.features = cpu_features();
  for (const std::string& feature : facts.features) {
    if (feature == "avx2") facts.vector_bits = 256;
    if (feature == "avx512f") facts.vector_bits = 512;
  }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  facts.l1_bytes = cache_bytes(1, _SC_LEVEL1_DCACHE_SIZE);
  facts.l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE);
  facts.l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE);
#endif
  facts.memory_bytes = system_fact(_SC_PHYS_PAGES) * system_fact(_SC_PAGESIZE);
  return facts;
}

}  // namespace weft
