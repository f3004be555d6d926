// SPDX-License-Identifier: Apache-2.0
#include "driver/devices.h"

#include "driver/compile.h"
#include "driver/execute.h"
#include "driver/vulkan_devices.h"
#include "runtime/cpu/facts.h"
#ifdef WEFT_HAS_VULKAN
#include "runtime/vulkan/open.h"
#endif

namespace weft {
namespace {

// [[1, 2], [3, 4]] x [[5, 6], [7, 8]], by hand: [[19, 22], [43, 50]].
struct SelfTest {
  Module module;
  TensorMap inputs;

  SelfTest() {
    Graph graph("self_test");
    Type square{DType::f32, {2, 2}};
    Node product;
    product.op = Op::matmul;
    product.operands = {graph.add_input("a", square), graph.add_input("b", square)};
    graph.outputs = {{"c", graph.append(std::move(product), module.dims).value()}};
    module.graphs.push_back(std::move(graph));
    for (const char* name : {"a", "b"}) inputs[name] = Tensor::zeros(DType::f32, {2, 2});
    inputs["a"].reals = {1, 2, 3, 4};
    inputs["b"].reals = {5, 6, 7, 8};
  }

  static std::string verdict(const Result<OracleResult>& result) {
    if (!result.ok()) return "self-test failed: " + result.diagnostics()[0].message;
    bool right = result->outputs.at("c").reals == std::vector<double>{19, 22, 43, 50};
    return right ? "ok" : "self-test failed: a 2x2 product is wrong";
  }
};

Result<OracleResult> run_compiled(const SelfTest& test) {
  WEFT_TRY(Compiled compiled, compile(test.module, {}));
  WEFT_TRY(Executor executor, Executor::create(std::move(compiled.executable), {}));
  return run_once(executor, test.module.graphs[0], test.inputs, {}, {});
}

Device oracle_device() {
  Device device;
  device.name = "oracle";
  device.description = "interpreter in double precision: slow, exact, the reference for all others";
  SelfTest test;
  device.verdict =
      SelfTest::verdict(run_oracle(test.module, test.module.graphs[0], test.inputs, {}));
  device.usable = device.verdict == "ok";
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
  device.verdict = has_code_generator()
                       ? SelfTest::verdict(run_compiled(SelfTest()))
                       : "no code generator in this build; graphs run on the oracle";
  device.usable = device.verdict == "ok";
  return device;
}

}  // namespace

std::vector<Device> list_devices() {
  std::vector<Device> devices = list_vulkan_devices();
  devices.insert(devices.begin(), {cpu_device(), oracle_device()});
  return devices;
}

Result<std::string> choose_device(const std::string& name) {
  if (name == "oracle" || (name == "cpu" && has_code_generator())) return std::string();
#ifdef WEFT_HAS_VULKAN
  if (is_vulkan(name)) {
    WEFT_TRY(std::vector<VulkanFacts> devices, vulkan_devices());
    WEFT_TRY(uint32_t number, choose_vulkan(name, devices));
    if (!devices[number].unusable.empty()) {
      return error({}, "device '", name, "' cannot be used: ", devices[number].unusable);
    }
    return std::string();
  }
#endif
  if (name == "cpu") {
    return std::string(
        "this build has no code generator for the CPU: running on the oracle, slow and exact");
  }
  return error({}, "this build has no device '", name, "'").hint("`weft devices` lists them");
}

}  // namespace weft
