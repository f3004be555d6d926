// From nothing to the first result.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "driver/bench/measure.h"
#include "driver/execute.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "runtime/executable_file.h"

namespace weft {
namespace {

constexpr char kMatmul[] =
    "graph @g(%x: f32[512, 512]) -> (y) {\n  %y = matmul %x, %x\n  return %y\n}\n";

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  auto passed = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::milli>(passed).count();
}

// Runs the binary with a cache folder, or an empty one for none, silent; fails if it does.
Result<double> time_process(const std::string& binary, const std::string& cache_folder,
                            const std::vector<std::string>& arguments) {
  auto start = std::chrono::steady_clock::now();
  pid_t child = ::fork();
  if (child < 0) return error({}, "cannot start ", binary);
  if (child == 0) {
    std::vector<char*> argv = {const_cast<char*>(binary.c_str())};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::setenv("WEFT_CACHE_DIR", cache_folder.c_str(), 1);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(127);
    ::execv(binary.c_str(), argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return error({}, binary, " failed");
  return milliseconds_since(start);
}

Result<BenchModel> train_tiny() {
  for (const BenchCase& entry : model_cases()) {
    if (entry.name == "train_tiny") return entry.build();
  }
  return error({}, "there is no case train_tiny");
}

// Fills the cache, in this process and, for the build of the binary, in another one.
Status measure_cached(const BenchModel& model, CompileRequest request, const std::string& binary,
                      const std::string& folder, int repeat, StartupResult& result) {
  std::string file = folder + "/train_tiny.weft";
  request.cache_folder = folder + "/cache";
  for (int i = 0; i < 2; ++i) {
    WEFT_TRY(Compiled compiled, compile(model.module, request));
    result.passes_ms = compiled.passes_ms;
    result.plan_ms = compiled.plan_ms;
    result.code_ms = compiled.code_ms;
  }
  WEFT_TRY_STATUS(write_file(file, print(model.module)));
  std::vector<std::string> arguments = {"run", file,           "--random-inputs",
                                        "-q",  "--target-cpu", request.target_cpu};
  for (const auto& [symbol, size] : model.dims) {
    arguments.insert(arguments.end(), {"--dim", symbol + "=1"});
  }
  WEFT_TRY([[maybe_unused]] double ignored, time_process(binary, request.cache_folder, arguments));
  for (int i = 0; i < repeat; ++i) {
    WEFT_TRY(double cached, time_process(binary, request.cache_folder, arguments));
    result.cached_step_ms.push_back(cached);
  }
  return ok();
}

Status measure_train_tiny(const BenchModel& model, const BenchRequest& request,
                          const CompileRequest& compile_request, const std::string& file,
                          StartupResult& result) {
  WEFT_TRY(Compiled compiled, compile(model.module, compile_request));
  result.cold_compile_ms = compiled.total_ms();
  WEFT_TRY_STATUS(save_executable(file, compiled.executable));
  auto start = std::chrono::steady_clock::now();
  WEFT_TRY(LoadedPtr loaded, load_executable(file));
  ContextOptions options;
  options.threads = request.threads;
  WEFT_TRY(Executor executor, Executor::create(std::move(loaded), options));
  const std::string& graph = model.module.graphs[0].name();
  WEFT_TRY([[maybe_unused]] BoundPtr first, executor.context().bind(graph, model.dims));
  result.warm_start_ms = milliseconds_since(start);
  start = std::chrono::steady_clock::now();
  WEFT_TRY([[maybe_unused]] BoundPtr again, executor.context().bind(graph, model.dims));
  result.bind_known_us = milliseconds_since(start) * 1e3;
  DimBinding smaller = model.dims;
  --smaller["B"];
  start = std::chrono::steady_clock::now();
  WEFT_TRY([[maybe_unused]] BoundPtr other, executor.context().bind(graph, smaller));
  result.bind_new_us = milliseconds_since(start) * 1e3;
  return ok();
}

}  // namespace

Result<StartupResult> measure_startup(const BenchRequest& request, const std::string& binary,
                                      const std::string& folder) {
  StartupResult result;
  std::string text = folder + "/matmul.weft";
  std::string compiled = folder + "/matmul.weftx";
  std::string cache = folder + "/cache";
  WEFT_TRY_STATUS(write_file(text, kMatmul));
  WEFT_TRY([[maybe_unused]] double ignored,
           time_process(binary, cache, {"compile", text, "-o", compiled, "-q"}));
  int repeat = std::min(request.repeat, 5);
  for (int i = 0; i < repeat; ++i) {
    WEFT_TRY(double run, time_process(binary, "", {"run", text, "--random-inputs", "-q"}));
    result.run_ms.push_back(run);
    WEFT_TRY(double cached, time_process(binary, cache, {"run", text, "--random-inputs", "-q"}));
    result.cached_ms.push_back(cached);
    WEFT_TRY(double loaded, time_process(binary, "", {"run", compiled, "--random-inputs", "-q"}));
    result.loaded_ms.push_back(loaded);
  }
  WEFT_TRY(BenchModel model, train_tiny());
  CompileRequest compile_request;
  compile_request.target_cpu = request.target_cpu;
  WEFT_TRY_STATUS(
      measure_train_tiny(model, request, compile_request, folder + "/train_tiny.weftx", result));
  WEFT_TRY_STATUS(measure_cached(model, compile_request, binary, folder, repeat, result));
  return result;
}

}  // namespace weft
