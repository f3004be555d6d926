// weft bench: measurements, one JSON line per result.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "driver/bench/decode_case.h"
#include "driver/bench/measure.h"
#include "driver/bench/roofline.h"
#include "driver/bench/train_overhead.h"
#include "driver/cache_folder.h"
#include "driver/devices.h"
#include "driver/tune.h"
#include "runtime/cpu/facts.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string wanted;  // a group or a case
  std::vector<std::string> dtypes = {"f32"};
  int repeat = 15;
  double budget = 12;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What every result has.
nlohmann::json result_json(const std::string& name, int threads, const std::vector<double>& times) {
  return {{"case", name},
          {"device", "cpu"},
          {"threads", threads},
          {"median_ms", median(times)},
          {"min_ms", *std::min_element(times.begin(), times.end())},
          {"n", times.size()},
          {"cpu", cpu_facts().model}};
}

Status put_result(const Common& common, const nlohmann::json& result) {
  if (common.json) return put_json(result);
  double gflops = result.value("gflops", 0.0);
  double gigabytes = result.value("gb_per_s", 0.0);
  char line[200];
  std::snprintf(line, sizeof line, "%-32s %d threads  %10.3f ms (best %.3f)",
                result["case"].get<std::string>().c_str(), result["threads"].get<int>(),
                result["median_ms"].get<double>(), result["min_ms"].get<double>());
  std::string text = line;
  if (gflops > 0) text += cat("  ", gflops, " GFLOP/s");
  if (gflops <= 0 && gigabytes > 0) text += cat("  ", gigabytes, " GB/s");
  if (result.contains("overhead")) {
    std::snprintf(line, sizeof line, "  %.1f%% over the bare step",
                  100 * result["overhead"].get<double>());
    text += line;
  }
  return put(text + "\n");
}

Status roofline(const Options& options, const Common& common) {
  int threads = common.threads > 0 ? common.threads : cpu_facts().threads;
  for (const RooflineResult& limit : measure_roofline(threads, options.repeat)) {
    nlohmann::json line = result_json(limit.name, limit.threads, limit.milliseconds);
    double seconds = median(limit.milliseconds) / 1e3;
    line["gflops"] = limit.gflop / seconds;
    line["gb_per_s"] = limit.gigabytes / seconds;
    line["extra_mb"] = limit.megabytes;
    line["compile_ms"] = 0;
    WEFT_TRY_STATUS(put_result(common, line));
  }
  return ok();
}

BenchRequest request_of(const Options& options, const Common& common) {
  CompileRequest compile;
  compile.device = common.device;
  compile.target_cpu = common.target_cpu;
  compile.form = common.form;
  compile.cache_folder = user_cache_folder();
  return {common.target_cpu, common.threads,       options.repeat,
          options.budget,    common.seed,          tuned_knobs(compile, common.threads),
          common.device,     compile.cache_folder, common.form};
}

Status measure_case(const BenchCase& entry, const Options& options, const Common& common) {
  WEFT_TRY(BenchResult result, measure(entry, request_of(options, common)));
  nlohmann::json line = result_json(result.name, result.threads, result.milliseconds);
  line["device"] = common.device;
  double seconds = result.median_ms() / 1e3;
  line["gflops"] = result.flops / seconds / 1e9;
  if (result.bytes > 0) line["gb_per_s"] = result.bytes / seconds / 1e9;
  line["extra_mb"] = result.extra_mb;
  line["compile_ms"] = result.compile_ms;
  line["kernels"] = result.kernels;
  line["tuned_kernels"] = result.tuned_kernels;
  if (result.submissions > 0) {
    line["submissions"] = result.submissions;
    line["host_us"] = result.host_us;
  }
  line["arena_bytes"] = result.arena_bytes;
  return put_result(common, line);
}

// A folder of its own for the files of a measurement; gone afterwards.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string();
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

Status startup(const Options& options, const Common& common) {
  ScratchFolder folder;
  if (!folder.made()) return error({}, folder.path(), ": cannot make the folder");
  std::error_code failure;
  std::string binary = std::filesystem::read_symlink("/proc/self/exe", failure).string();
  if (failure) return error({}, "cannot find the running program: ", failure.message());
  WEFT_TRY(StartupResult result,
           measure_startup(request_of(options, common), binary, folder.path()));
  int threads = common.threads > 0 ? common.threads : cpu_facts().threads;
  for (const auto& [name, times] :
       {std::pair("startup", result.run_ms), std::pair("startup_cached", result.cached_ms),
        std::pair("startup_weftx", result.loaded_ms)}) {
    nlohmann::json line = result_json(name, threads, times);
    line["gflops"] = line["extra_mb"] = line["compile_ms"] = 0;
    WEFT_TRY_STATUS(put_result(common, line));
  }
  nlohmann::json cached = result_json("startup_train_tiny_cached", threads, result.cached_step_ms);
  cached["gflops"] = cached["extra_mb"] = 0;
  cached["compile_ms"] = result.passes_ms + result.plan_ms + result.code_ms;
  cached["passes_ms"] = result.passes_ms;
  cached["plan_ms"] = result.plan_ms;
  cached["code_ms"] = result.code_ms;
  WEFT_TRY_STATUS(put_result(common, cached));
  nlohmann::json line = result_json("startup_train_tiny", threads, {result.cold_compile_ms});
  line["gflops"] = line["extra_mb"] = 0;
  line["compile_ms"] = line["cold_compile_ms"] = result.cold_compile_ms;
  line["warm_start_ms"] = result.warm_start_ms;
  line["bind_known_us"] = result.bind_known_us;
  line["bind_new_us"] = result.bind_new_us;
  return put_result(common, line);
}

Status train_overhead(const Options& options, const Common& common) {
  ScratchFolder folder;
  if (!folder.made()) return error({}, folder.path(), ": cannot make the folder");
  WEFT_TRY(std::vector<TrainOverhead> results,
           measure_train_overhead(request_of(options, common), folder.path()));
  for (const TrainOverhead& result : results) {
    nlohmann::json line = result_json(result.name, result.threads, result.step_ms);
    const double bare = median(result.bare_ms);
    const double outside = median(result.outside_ms);
    line["bare_ms"] = bare;
    line["overhead"] = median(result.ratios()) - 1;
    line["outside_ms"] = outside;
    line["batch_ms"] = result.batch_ms;
    // As if making a batch, which another thread does, held up the step all the while.
    line["overhead_at_most"] = (outside + result.batch_ms) / bare;
    line["gflops"] = 0;
    line["extra_mb"] = result.extra_mb;
    line["compile_ms"] = result.compile_ms;
    WEFT_TRY_STATUS(put_result(common, line));
  }
  return ok();
}

Status decode_speed(const Options& options, const Common& common) {
  WEFT_TRY(DecodeBench result, measure_decode(request_of(options, common)));
  nlohmann::json line = result_json(kDecodeCase, result.threads, result.generate_ms);
  const double prefill = median(result.prefill_ms);
  const double speed = result.tokens_per_s(prefill, median(result.generate_ms));
  line["prefill_ms"] = prefill;
  line["prefill_tok_s"] = static_cast<double>(result.prompt) / prefill * 1e3;
  line["decode_tok_s"] = speed;
  line["decode_tok_s_best"] = result.tokens_per_s(std::ranges::min(result.prefill_ms),
                                                  std::ranges::min(result.generate_ms));
  line["gb_per_s"] = result.weight_bytes * speed / 1e9;
  line["gflops"] = result.weight_bytes / 2 * speed / 1e9;  // two for each weight of four bytes
  line["extra_mb"] = result.extra_mb;
  line["compile_ms"] = result.compile_ms;
  return put_result(common, line);
}

// Limits of the machine, start-up and decoding are of the CPU.
Status check_can_measure(const Options& options, const Common& common) {
  const bool host =
      options.wanted == "roofline" || options.wanted == "startup" || options.wanted == kDecodeCase;
  if (!is_vulkan(common.device) || host) {
    return error({}, "this build does not measure ", options.wanted, " on device '", common.device,
                 "'")
        .hint("--device cpu");
  }
  WEFT_TRY(std::string notice, choose_device(common.device));
  return ok();
}

Status run(const Options& options, const Common& common) {
  if (common.device != "cpu") WEFT_TRY_STATUS(check_can_measure(options, common));
  if (options.wanted == "roofline") return roofline(options, common);
  if (options.wanted == "startup") return startup(options, common);
  if (options.wanted == kTrainOverheadGroup) return train_overhead(options, common);
  if (options.wanted == kDecodeCase) return decode_speed(options, common);
  std::vector<DType> dtypes;
  for (const std::string& name : options.dtypes) dtypes.push_back(*parse_dtype(name));
  WEFT_TRY(std::vector<BenchCase> cases, choose_cases(options.wanted, dtypes));
  bool terminal = ::isatty(STDERR_FILENO) != 0 && !common.quiet;
  for (const BenchCase& entry : cases) {
    if (terminal) std::fprintf(stderr, "\r\033[K%s ...", entry.name.c_str());
    Status status = measure_case(entry, options, common);
    if (terminal) std::fputs("\r\033[K", stderr);
    WEFT_TRY_STATUS(std::move(status));
  }
  return ok();
}

}  // namespace

void add_bench(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  std::string groups = cat("roofline, startup, ", kTrainOverheadGroup, ", ", kDecodeCase);
  for (const std::string& group : bench_groups()) groups += ", " + group;
  CLI::App* command =
      add_command(session, "bench", "measures; `roofline` is the machine's own limit",
                  "weft bench gemm --threads 2 --json");
  command->add_option("case", options->wanted, groups + "; or one case, such as train_tiny")
      ->required();
  command->add_option("--dtype", options->dtypes, "f32, f16, bf16, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  command->add_option("--repeat", options->repeat, "measurements of each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--budget", options->budget, "seconds of each, after three measurements")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
