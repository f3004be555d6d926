// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/self_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>

#include "ir/support/hash.h"
#include "ir/support/private_folder.h"
#include "runtime/context.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/khr_matrices.h"
#include "runtime/vulkan/probes.h"

namespace weft {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;
constexpr std::string_view kMatrices = "cooperative_matrix";
constexpr int64_t kMostMatrixElements = 1024;  // of one matrix, in the probe

Executable executable_of(const Probe& probe, uint32_t subgroup) {
  const Dim count(kProbeElements);
  Executable made;
  made.device = "vulkan";
  made.module_name = "self_test";
  made.interfaces = {{"probe",
                      {{"x", {probe.dtype, {count}}}},
                      {{"y", {DType::f32, {count}}}, {"who", {DType::f32, {count}}}}}};
  made.code.resize(probe.words.size_bytes());
  std::memcpy(made.code.data(), probe.words.data(), made.code.size());
  Kernel kernel;
  kernel.name = std::string(probe.feature);
  kernel.bytes = made.code.size();
  kernel.programs = 1;
  kernel.buffers = 3;
  kernel.workgroup = kProbeElements;
  if (probe.feature == kMatrices) {
    kernel.subgroup = subgroup;
    kernel.needs = {probe.feature.data()};
  }
  kernel.bindings = {{probe.view, 0, probe.dtype, probe.width, true, false},
                     {Binding::storage, 1, DType::f32, 1, false, true},
                     {Binding::storage, 2, DType::f32, 1, false, true}};
  made.kernels = {std::move(kernel)};
  GraphPlan plan{"probe", {}, {}, {}};
  plan.buffers = {{PlanBuffer::input, "x", probe.dtype, count, 0, 0, {}},
                  {PlanBuffer::output, "y", DType::f32, count, 0, 0, {}},
                  {PlanBuffer::output, "who", DType::f32, count, 0, 0, {}}};
  Step step;
  step.buffers = {{0, 0}, {1, 0}, {2, 0}};
  plan.steps = {std::move(step)};
  made.graphs = {std::move(plan)};
  return made;
}

// The numbers 1, 2, .. as elements of a type.
std::vector<std::byte> counted(DType dtype) {
  std::vector<std::byte> bytes;
  for (int i = 1; i <= kProbeElements; ++i) {
    const auto real = static_cast<float>(i);
    uint32_t bits = static_cast<uint32_t>(i);
    if (dtype == DType::f32) std::memcpy(&bits, &real, sizeof bits);
    if (dtype == DType::f16) {
      const int power = static_cast<int>(std::floor(std::log2(real)));
      bits = static_cast<uint32_t>((power + 15) << 10 | ((i << (10 - power)) & 0x3ff));
    }
    const auto* from = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), from, from + byte_size(dtype));
  }
  return bytes;
}

bool lies_about(std::string_view feature) {
  const char* lie = std::getenv("WEFT_VULKAN_LIE");
  return lie != nullptr && feature == lie;
}

std::string key_of(const VulkanFacts& facts) {
  std::string key = cat("weft self-test 1 ", facts.vendor, " ", facts.device, " ",
                        facts.driver_version, " ", facts.name, " ", facts.driver_info);
  for (const Probe& probe : vulkan_probes()) {
    const auto* words = reinterpret_cast<const char*>(probe.words.data());
    key += cat(" ", probe.feature, " ", digest(std::string_view(words, probe.words.size_bytes())));
  }
  return key;
}

// A line per refused feature: its name and the reason, after a line with the key.
std::string verdict_text(const std::string& key, const VulkanFacts& facts) {
  std::string text = key + "\n";
  for (const VulkanFeature& feature : facts.features) {
    if (!feature.refused.empty()) text += feature.name + " " + feature.refused + "\n";
  }
  return text;
}

// False for a text of another device or driver, or a damaged one.
bool apply_verdict(const std::string& text, const std::string& key, VulkanDevice& device) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != key) return false;
  while (std::getline(lines, line)) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) return false;
    device.refuse(line.substr(0, space), line.substr(space + 1));
  }
  return true;
}

// Verdicts that this process has come to, by key: contexts that open devices of their own without a
// folder would take a tenth of a second each.
class KnownVerdicts {
 public:
  static KnownVerdicts& get() {
    static KnownVerdicts known;
    return known;
  }
  std::optional<std::string> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found = texts_.find(key);
    return found == texts_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& key, const std::string& text) {
    std::lock_guard lock(mutex_);
    texts_[key] = text;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
};

// In one line; empty if the feature works.
std::string reason_of(const Probe& probe, const std::shared_ptr<VulkanDevice>& device) {
  const Result<std::string> verdict = verdict_of(probe, device);
  std::string reason = verdict.ok() ? *verdict : verdict.diagnostics()[0].message;
  for (char& c : reason) c = c == '\n' ? ' ' : c;
  return reason;
}

// Each size by itself; the feature goes with the last of them.
void test_matrices(Probe probe, const std::shared_ptr<VulkanDevice>& device) {
  std::string last;
  bool works = false;
  for (const VulkanMatrix& matrix : device->facts().matrices) {
    const auto size = [](int64_t n) { return static_cast<uint32_t>(n); };
    const std::vector<uint32_t> words = khr_matrices(
        with_matrix_sizes(probe.words, size(matrix.m), size(matrix.n), size(matrix.k)));
    Probe sized = probe;
    sized.words = words;
    const int64_t most = std::max({matrix.m * matrix.n, matrix.m * matrix.k, matrix.k * matrix.n});
    last =
        most > kMostMatrixElements ? "it is too large for its self-test" : reason_of(sized, device);
    if (last.empty()) works = true;
    if (!last.empty()) device->refuse(matrix_feature(matrix), last);
  }
  if (!works) device->refuse(probe.feature, last);
}

void run_probes(const std::shared_ptr<VulkanDevice>& device) {
  for (const Probe& probe : vulkan_probes()) {
    if (!device->facts().has(probe.feature)) continue;
    if (probe.feature == kMatrices) {
      test_matrices(probe, device);
      continue;
    }
    std::string reason = reason_of(probe, device);
    if (!reason.empty()) device->refuse(probe.feature, std::move(reason));
  }
}

}  // namespace

Result<std::string> verdict_of(const Probe& probe, const std::shared_ptr<VulkanDevice>& device) {
  WEFT_TRY(LoadedPtr loaded,
           LoadedExecutable::load(executable_of(probe, device->facts().subgroup)));
  ContextOptions options;
  options.threads = 1;
  options.vulkan = device;
  WEFT_TRY(Context context, Context::create(std::move(loaded), options));
  WEFT_TRY(BoundPtr bound, context.bind("probe", {}));
  const std::vector<std::byte> x = counted(probe.dtype);
  std::vector<float> y(kProbeElements);
  std::vector<float> who(kProbeElements);
  const size_t bytes = y.size() * sizeof(float);
  WEFT_TRY_STATUS(context.run(bound, std::vector<ConstBytes>{{x.data(), x.size()}},
                              std::vector<MutableBytes>{{y.data(), bytes}, {who.data(), bytes}}));
  if (lies_about(probe.feature)) y[0] += 1;
  for (int i = 0; i < kProbeElements; ++i) {
    const float expected = probe.expected(i, who);
    const float got = y[static_cast<size_t>(i)];
    if (got == expected) continue;
    return cat("its self-test gave ", got, " instead of ", expected);
  }
  return std::string();
}

void self_test(const std::shared_ptr<VulkanDevice>& device, const std::string& cache_folder) {
  if (std::getenv("WEFT_VULKAN_LIE") != nullptr) return run_probes(device);
  const std::string key = key_of(device->facts());
  const std::string file = digest(key) + ".selftest";
  std::optional<PrivateFolder> folder;
  if (!cache_folder.empty()) {
    // Without a folder to keep the verdict in, the next process tests again.
    Result<PrivateFolder> opened = PrivateFolder::open(cache_folder);
    if (opened.ok()) folder.emplace(std::move(*opened));
  }
  if (folder) {
    const std::optional<std::string> kept = folder->read(file, kMostBytes);
    if (kept && apply_verdict(*kept, key, *device)) return;
  }
  const std::optional<std::string> known = KnownVerdicts::get().find(key);
  if (!known || !apply_verdict(*known, key, *device)) run_probes(device);
  const std::string text = verdict_text(key, device->facts());
  KnownVerdicts::get().keep(key, text);
  if (folder) static_cast<void>(folder->write(file, text));
}

}  // namespace weft
