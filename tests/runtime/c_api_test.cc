// The C interface and the two example programs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>

#include "runtime/executable_file.h"
#include "runtime/weft.h"
#include "test_paths.h"
#include "tests/runtime/sample.h"

namespace weft {
namespace {

std::string saved(const std::string& name, const Executable& executable) {
  std::string path = testing::TempDir() + name;
  EXPECT_TRUE(save_executable(path, executable).ok());
  return path;
}

bool last_error_has(const char* part) { return std::strstr(weft_last_error(), part) != nullptr; }

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    executable_ = weft_executable_load(saved("c_api.weftx", sample_executable()).c_str());
    ASSERT_NE(executable_, nullptr) << weft_last_error();
    weft_options options = {2, 7};
    context_ = weft_context_create(executable_, &options);
    ASSERT_NE(context_, nullptr) << weft_last_error();
  }
  void TearDown() override {
    weft_executable_free(executable_);  // a context may outlive it
    weft_context_free(context_);
  }

  weft_executable* executable_ = nullptr;
  weft_context* context_ = nullptr;
};

TEST_F(CApi, Runs) {
  EXPECT_EQ(weft_version(), build_version());
  EXPECT_EQ(weft_executable_graph_count(executable_), 5u);
  EXPECT_STREQ(weft_executable_graph_name(executable_, 0), "forward");
  EXPECT_EQ(weft_executable_graph_name(executable_, 5), nullptr);
  weft_dim dims[] = {{"B", 2}};
  weft_binding* binding = weft_context_bind(context_, "forward", dims, 1);
  ASSERT_NE(binding, nullptr) << weft_last_error();
  EXPECT_EQ(weft_binding_input_count(binding), 1u);
  EXPECT_EQ(weft_binding_output_count(binding), 1u);
  weft_tensor tensor = {};
  ASSERT_EQ(weft_binding_input(binding, 0, &tensor), WEFT_OK);
  EXPECT_STREQ(tensor.name, "x");
  EXPECT_EQ(tensor.dtype, WEFT_F32);
  EXPECT_EQ(tensor.rank, 2);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.bytes, 24u);
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  std::vector<float> y(6);
  weft_input input = {x.data(), 24};
  weft_output output = {y.data(), 24};
  ASSERT_EQ(weft_context_run(context_, binding, &input, 1, &output, 1), WEFT_OK);
  EXPECT_EQ(y, (std::vector<float>{5, 9, 13, 17, 21, 25}));
  output.bytes = 20;
  EXPECT_EQ(weft_context_run(context_, binding, &input, 1, &output, 1), WEFT_FAILED);
  EXPECT_TRUE(last_error_has("output y has 24 bytes, got 20"));
  EXPECT_EQ(weft_context_run(context_, binding, nullptr, 1, &output, 1), WEFT_FAILED);
  weft_binding_free(binding);
}

TEST_F(CApi, Storage) {
  EXPECT_EQ(weft_executable_storage_count(executable_), 4u);
  EXPECT_STREQ(weft_executable_storage_name(executable_, 3), "n");
  std::vector<float> w = {1, 2, 3};
  ASSERT_EQ(weft_context_set_storage(context_, "w", w.data(), 12), WEFT_OK);
  std::vector<float> got(3);
  ASSERT_EQ(weft_context_get_storage(context_, "@w", got.data(), 12), WEFT_OK);
  EXPECT_EQ(got, w);
  EXPECT_EQ(weft_context_get_storage(context_, "w", got.data(), 8), WEFT_FAILED);
  EXPECT_TRUE(last_error_has("@w has 12 bytes, got room for 8"));
  weft_tensor tensor = {};
  ASSERT_EQ(weft_context_storage(context_, "w", &tensor), WEFT_OK);
  EXPECT_EQ(tensor.rank, 1);
  EXPECT_EQ(tensor.bytes, 12u);
}

TEST_F(CApi, FaultsAreValues) {
  EXPECT_EQ(weft_executable_load("nowhere.weftx"), nullptr);
  EXPECT_TRUE(last_error_has("nowhere.weftx"));
  EXPECT_EQ(weft_executable_load(nullptr), nullptr);
  EXPECT_EQ(weft_context_create(nullptr, nullptr), nullptr);
  EXPECT_EQ(weft_context_bind(context_, "forward", nullptr, 0), nullptr);
  EXPECT_TRUE(last_error_has("size of B"));
  weft_dim twice[] = {{"B", 2}, {"B", 3}};
  EXPECT_EQ(weft_context_bind(context_, "forward", twice, 2), nullptr);
  EXPECT_TRUE(last_error_has("given twice"));
  EXPECT_EQ(weft_binding_input(nullptr, 0, nullptr), WEFT_FAILED);
  weft_options options = {-1, 0};
  EXPECT_EQ(weft_context_create(executable_, &options), nullptr);
}

// A broken invariant of ours: a kernel that reports a check it does not have.
TEST(CApiFault, DoesNotEndTheHost) {
  Executable executable = sample_executable();
  executable.kernels[3].checks.clear();
  weft_executable* loaded = weft_executable_load(saved("fault.weftx", executable).c_str());
  weft_context* context = weft_context_create(loaded, nullptr);
  weft_dim dims[] = {{"B", 1}};
  weft_binding* binding = weft_context_bind(context, "lookup", dims, 1);
  ASSERT_NE(binding, nullptr) << weft_last_error();
  int32_t index = 9;
  std::vector<float> table(15);
  std::vector<float> rows(3);
  weft_input inputs[] = {{&index, 4}, {table.data(), 60}};
  weft_output output = {rows.data(), 12};
  EXPECT_EQ(weft_context_run(context, binding, inputs, 2, &output, 1), WEFT_INTERNAL);
  EXPECT_TRUE(last_error_has("internal: kernel lookup knows its checks"));
  weft_binding_free(binding);
  weft_context_free(context);
  weft_executable_free(loaded);
}

std::pair<int, std::string> output_of(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  return {WEXITSTATUS(::pclose(pipe)), text};
}

TEST(Examples, RunACompiledModel) {
  std::string path = saved("example.weftx", small_executable());
  for (const char* program : {WEFT_EXAMPLE_C, WEFT_EXAMPLE_CC}) {
    auto [code, text] = output_of(std::string(program) + " " + path);
    EXPECT_EQ(code, 0) << program;
    EXPECT_EQ(text, "y begins with 5\n") << program;
    std::tie(code, text) = output_of(std::string(program) + " nowhere.weftx");
    EXPECT_EQ(code, 1);
    EXPECT_NE(text.find("nowhere.weftx: error: cannot open"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weft
