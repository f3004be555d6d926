// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices.h"

#include <unistd.h>

#include <fstream>
#include <thread>

#include "ir/oracle/oracle.h"
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

// [[1, 2], [3, 4]] x [[5, 6], [7, 8]], by hand: [[19, 22], [43, 50]].
bool oracle_self_test() {
  Module module;
  Graph graph("self_test");
  Type square{DType::f32, {2, 2}};
  Node product;
  product.op = Op::matmul;
  product.operands = {graph.add_input("a", square), graph.add_input("b", square)};
  Result<Value> value = graph.append(std::move(product), module.dims);
  if (!value.ok()) return false;
  graph.outputs = {{"c", *value}};
  Tensor a = Tensor::zeros(DType::f32, {2, 2});
  Tensor b = a;
  a.reals = {1, 2, 3, 4};
  b.reals = {5, 6, 7, 8};
  Result<OracleResult> result = run_oracle(module, graph, {{"a", a}, {"b", b}}, {});
  return result.ok() && result->outputs.at("c").reals == std::vector<double>{19, 22, 43, 50};
}

Device oracle_device() {
  Device device;
  device.name = "oracle";
  device.description = "interpreter in double precision: slow, exact, the reference for all others";
  device.usable = oracle_self_test();
  device.verdict = device.usable ? "ok" : "self-test failed: a 2x2 product is wrong";
  return device;
}

Device cpu_device() {
  CpuFacts facts = cpu_facts();
  Device device;
  device.name = "cpu";
  device.description = facts.model;
  std::string features;
  for (const std::string& feature : facts.features)
    features += (features.empty() ? "" : " ") + feature;
  device.facts = {{"threads", std::to_string(facts.threads)},
                  {"vector bits", std::to_string(facts.vector_bits)},
                  {"features", features},
                  {"L1", std::to_string(facts.l1_bytes)},
                  {"L2", std::to_string(facts.l2_bytes)},
                  {"L3", std::to_string(facts.l3_bytes)},
                  {"memory", std::to_string(facts.memory_bytes)}};
  device.verdict = "no code generator in this build; graphs run on the oracle";
  return device;
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
  facts.l1_bytes = system_fact(_SC_LEVEL1_DCACHE_SIZE);
  facts.l2_bytes = system_fact(_SC_LEVEL2_CACHE_SIZE);
  facts.l3_bytes = system_fact(_SC_LEVEL3_CACHE_SIZE);
#endif
  facts.memory_bytes = system_fact(_SC_PHYS_PAGES) * system_fact(_SC_PAGESIZE);
  return facts;
}

std::vector<Device> list_devices() { return {cpu_device(), oracle_device()}; }

Result<Device> choose_device(const std::string& name) {
  if (name == "oracle" || name == "cpu") {
    Device device = oracle_device();
    if (!device.usable) return error({}, "device oracle: ", device.verdict);
    if (name == "cpu") {
      device.notice =
          "this build has no code generator for the CPU: running on the oracle, slow and exact";
    }
    return device;
  }
  return error({}, "this build has no device '", name, "'").hint("`weft devices` lists them");
}

}  // namespace weft
