// Vulkan on the command line: what is missing, another driver, tuning.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/suite.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// An environment variable for the commands of a test.
class With {
 public:
  With(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~With() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class VulkanCliTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    write("ffn.weft", kFfn);
    ::setenv("WEFT_VULKAN_VALIDATION", "1", 1);
  }
  void TearDown() override {
    ::unsetenv("WEFT_VULKAN_VALIDATION");
    CliTest::TearDown();
  }
  // What validation layers say is an error of the command or, as a device is closed, on stderr; in
  // a self-test it is a verdict.
  Outcome weft(const std::string& arguments) const {
    Outcome outcome = CliTest::weft(arguments);
    EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("vulkan validation"))) << arguments;
    return outcome;
  }
  bool has_vulkan() const { return weft("devices").out.find("vulkan:0") != std::string::npos; }

  std::vector<float> floats_in(const std::string& name) const {
    const std::string bytes = slurp(path(name));
    constexpr size_t kHead = 128;  // of a .npy file
    std::vector<float> values(bytes.size() < kHead ? 0 : (bytes.size() - kHead) / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes.data() + kHead, values.size() * 4);
    return values;
  }

  void expect_same(const std::string& one, const std::string& other, const std::string& output) {
    const Outcome first = weft(one + " --output-dir one");
    const Outcome second = weft(other + " --output-dir other");
    ASSERT_EQ(first.code, 0) << first.err;
    ASSERT_EQ(second.code, 0) << second.err;
    const std::vector<float> a = floats_in("one/" + output + ".npy");
    const std::vector<float> b = floats_in("other/" + output + ".npy");
    ASSERT_FALSE(a.empty());
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << i;
  }

  // The CPU goes on working.
  void expect_missing(const std::string& why) const {
    const Outcome devices = weft("devices");
    EXPECT_EQ(devices.code, 0) << devices.err;
    EXPECT_THAT(devices.out, HasSubstr(why));
    const Outcome asked = weft("run ffn.weft --random-inputs --dim B=3 --device vulkan");
    EXPECT_EQ(asked.code, 1) << asked.out;
    EXPECT_THAT(asked.err, HasSubstr("error: "));
    EXPECT_THAT(asked.err, HasSubstr(why));
    EXPECT_EQ(weft("run ffn.weft --random-inputs --dim B=3").code, 0);
  }
};

TEST_F(VulkanCliTest, NoLoader) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  write("libvulkan.so.1", "no library");
  write("libvulkan.so", "no library");  // which volk looks for next
  const With library("LD_LIBRARY_PATH", folder_);
  expect_missing("there is no Vulkan loader on this machine");
}

TEST_F(VulkanCliTest, NoDriver) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const With files("VK_DRIVER_FILES", path("none.json"));
  const With older("VK_ICD_FILENAMES", path("none.json"));
  expect_missing("Vulkan finds no device on this machine");
}

// The driver of this machine twice, as two devices.
TEST_F(VulkanCliTest, TheNextDeviceWhereADriverFails) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  std::string drivers;
  for (const auto& found : std::filesystem::directory_iterator("/usr/share/vulkan/icd.d")) {
    const std::string name = found.path().filename();
    if (name.starts_with("lvp")) {
      drivers =
          write("one.json", slurp(found.path())) + ":" + write("two.json", slurp(found.path()));
    }
  }
  const With files("VK_DRIVER_FILES", drivers);
  const With older("VK_ICD_FILENAMES", drivers);
  if (drivers.empty() || weft("devices").out.find("vulkan:1") == std::string::npos) {
    GTEST_SKIP() << "no two devices";
  }
  const With fails("WEFT_VULKAN_FAIL", "0");
  const std::string command = "run ffn.weft --random-inputs --dim B=3 --device vulkan";
  const Outcome next = weft(command);
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_THAT(next.err, StartsWith("note: vulkan:0 ("));
  EXPECT_THAT(next.err, HasSubstr(") is not used: vulkan: opening llvmpipe"));
  EXPECT_THAT(next.err, HasSubstr("the driver could not be initialised; vulkan:1 ("));
  EXPECT_EQ(std::ranges::count(next.err, '\n'), 1) << next.err;  // once, though opened twice
  EXPECT_EQ(weft(command + " -q").err, "");
  EXPECT_EQ(weft(command + ":0").code, 1);
  EXPECT_EQ(weft(command + ":1").err, "");
  const With both("WEFT_VULKAN_FAIL", "0,1");
  EXPECT_THAT(weft(command).err, HasSubstr("error: vulkan: opening llvmpipe"));
}

TEST_F(VulkanCliTest, ADeviceWithTooLittle) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const With limits("WEFT_VULKAN_LIMITS", "storage_bindings=3");
  expect_missing("storage buffers of a kernel: 3, Weft needs 4");
}

TEST_F(VulkanCliTest, ACacheThatCannotBeWrittenIsOnlySlower) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const With cache("WEFT_CACHE_DIR", "/proc/weft");
  EXPECT_THAT(weft("devices").out, Not(HasSubstr("/proc/weft")));
  const Outcome outcome = weft("run ffn.weft --random-inputs --dim B=3 --device vulkan");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(VulkanCliTest, ExplainNamesTheFormsOfKernels) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const std::string command = "explain ffn.weft --dim B=16 --device vulkan --mapping ";
  const Outcome registers = weft(command + "register");
  ASSERT_EQ(registers.code, 0) << registers.err;
  EXPECT_THAT(registers.out, ContainsRegex("kernels for .*: tiles in registers, reads [a-z]+ "));
  const Outcome workgroup = weft(command + "workgroup");
  EXPECT_THAT(workgroup.out, HasSubstr(": tiles in workgroup memory, reads "));
  const Outcome json = weft(command + "workgroup --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const nlohmann::json line = nlohmann::json::parse(json.out);
  EXPECT_THAT(line["kernel_forms"].get<std::string>(), HasSubstr("tiles in workgroup memory"));
  EXPECT_TRUE(line["regions"][0].contains("kernel_exceptions"));
  EXPECT_THAT(weft("explain ffn.weft").out, Not(HasSubstr("kernels for ")));
}

TEST_F(VulkanCliTest, ExplainSaysWhereTilesAreNotInWorkgroupMemory) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const std::string command =
      "explain gpt-char --graph @forward --device vulkan --mapping workgroup";
  const std::string said = "its product reads no tiles in workgroup memory: none of a useful size";
  const With limits("WEFT_VULKAN_LIMITS", "shared_bytes=1024");
  const Outcome outcome = weft(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("kernel (matmul_[a-z]+[0-9]*)\n    matmul_.*: " + said));
}

TEST_F(VulkanCliTest, PortableKernelsAreTold) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  ASSERT_EQ(weft("compile ffn.weft --device vulkan -o ffn.weftx").code, 0);
  const std::string command = "run ffn.weftx --random-inputs --dim B=3 --device vulkan";
  EXPECT_EQ(weft(command).err, "");
  const With limits("WEFT_VULKAN_LIMITS", "texel_elements=65536,max_workgroup=128");
  const With lie("WEFT_VULKAN_LIE", "subgroup_shuffle");
  const Outcome outcome = weft(command);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ContainsRegex("note: [1-9] of [1-9] kernels run in their portable form, "
                                         "which may be slower: kernel .*llvmpipe"));
  EXPECT_EQ(weft(command + " -q").err, "");
}

// Vulkan promises four; no model can do with them.
TEST_F(VulkanCliTest, MoreBuffersThanADeviceAllowsIsAnErrorOfTheCompiler) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const With limits("WEFT_VULKAN_LIMITS", "storage_bindings=4,texel_elements=65536");
  EXPECT_THAT(weft("devices").out, HasSubstr("bindings: storage 4, "));
  const Outcome outcome = weft("compile gpt-char --graph @forward --device vulkan -o gpt.weftx");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, ContainsRegex("error: kernel rows_[a-z0-9]+ has [0-9]+ storage buffers, "
                                         ".* allows 4\nhint: --device cpu"));
  EXPECT_FALSE(std::filesystem::exists(path("gpt.weftx")));
}

// Nothing of Vulkan lies in the cache's root, whoever opens the device.
TEST_F(VulkanCliTest, KeepsWhatDriversCompileInOnePlace) {
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const With cache("WEFT_CACHE_DIR", path("cache"));
  ASSERT_EQ(weft("compile ffn.weft --device vulkan -o ffn.weftx").code, 0);
  const Outcome outcome = weft("run ffn.weftx --random-inputs --dim B=3 --device vulkan");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const auto& entry : std::filesystem::directory_iterator(path("cache"))) {
    EXPECT_TRUE(entry.is_directory()) << entry.path();
  }
  std::set<std::string> kept;
  for (const auto& entry : std::filesystem::directory_iterator(path("cache/vulkan"))) {
    kept.insert(entry.path().extension());
  }
  EXPECT_EQ(kept, (std::set<std::string>{".pipelines", ".selftest"}));
}

// Compiled for one driver, run on another: ./dev test --swiftshader names it.
TEST_F(VulkanCliTest, AnExecutableRunsOnAnotherDriver) {
  const char* other = std::getenv("WEFT_SWIFTSHADER");
  if (other == nullptr) GTEST_SKIP() << "./dev test --swiftshader runs it";
  if (!has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  ASSERT_EQ(weft("compile ffn.weft --device vulkan -o ffn.weftx").code, 0);
  ASSERT_EQ(weft("compile gpt-char --graph @forward --device vulkan -o gpt.weftx").code, 0);
  ASSERT_EQ(weft("compile gpt-char --graph @forward -o cpu.weftx").code, 0);
  const With files("VK_DRIVER_FILES", other);
  const With older("VK_ICD_FILENAMES", other);
  EXPECT_THAT(weft("devices").out, HasSubstr("SwiftShader"));
  expect_same("run ffn.weftx --device vulkan --random-inputs --dim B=5",
              "run ffn.weft --random-inputs --dim B=5", "y");
  expect_same("run gpt.weftx --device vulkan --random-inputs --dim B=2 --dim T=19",
              "run cpu.weftx --random-inputs --dim B=2 --dim T=19", "logits");
}

TEST_F(VulkanCliTest, TunesAndUsesWhatItFound) {
  if (suite() == "quick" || !has_vulkan()) GTEST_SKIP() << "no Vulkan device, or the quick suite";
  const With cache("WEFT_CACHE_DIR", path("cache"));
  const std::string command = "tune ffn.weft --device vulkan --dim B=640 --repeat 1 --json";
  Outcome outcome = weft(command + " --compile-seconds 20");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json line = nlohmann::json::parse(outcome.out);
  EXPECT_GT(line["default_ms"], 0);
  EXPECT_GT(line["compile_s"], 0);
  ASSERT_FALSE(line["rows"].empty());
  EXPECT_GT(line["rounds"], 0);
  EXPECT_TRUE(line["rows"][0]["knobs"].contains("simt_waves")) << line["rows"][0];
  outcome = weft("compile ffn.weft --device vulkan --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["tuned_kernels"], line["tuned"]);
  // Another device's are not its own.
  const With limits("WEFT_VULKAN_LIMITS", "max_workgroup=128");
  outcome = weft("compile ffn.weft --device vulkan --json");
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["tuned_kernels"], 0);
}

}  // namespace
}  // namespace weft
