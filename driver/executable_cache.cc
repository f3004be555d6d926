// SPDX-License-Identifier: Apache-2.0
#include "driver/executable_cache.h"

#include <chrono>
#include <cstring>

#include "driver/cache_folder.h"
#include "ir/serial/serial.h"
#include "ir/support/hash.h"
#include "ir/support/private_folder.h"
#include "runtime/executable_file.h"

#ifdef WEFT_HAS_LLVM
#include "backends/cpu/code_cache.h"
#endif

namespace weft {
namespace {

Result<CompiledExecutable> compile_now(Module module, const CompileRequest& request) {
  WEFT_TRY(Compiled compiled, compile(std::move(module), request));
  return CompiledExecutable{std::move(compiled.executable), false, compiled.total_ms(),
                            std::move(compiled.cache_problem)};
}

#ifdef WEFT_HAS_LLVM
double milliseconds_since(std::chrono::steady_clock::time_point start) {
  const auto passed = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::milli>(passed).count();
}

constexpr std::string_view kSuffix = ".executable";
constexpr uint64_t kMaxEntryBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxCacheBytes = uint64_t{512} << 20;

bool is_plain(const PipelineOptions& pipeline) {
  const PassOptions& pass = pipeline.pass;
  return !pipeline.after_pass && pipeline.stop_after.empty() && !pass.grad && !pass.train &&
         pass.extra_rules.empty() && pass.rewrite_limit < 0 && !pass.on_rewrite;
}

// Everything that an executable depends on.
Result<std::string> key_of(const Module& module, const CompileRequest& request) {
  const cpu::TargetUse use =
      request.other_machine ? cpu::TargetUse::kCompile : cpu::TargetUse::kRun;
  WEFT_TRY(cpu::CpuTarget target, cpu::resolve_cpu_target(request.target_cpu, use));
  WEFT_TRY(std::string key, cpu::circumstances(target, request.bounds_checks));
  const DeviceTraits traits = device_traits(&target);
  WEFT_TRY(const std::string device, device_key(request));
  key += cat("device ", device, " ", traits.vector_bytes, " ", traits.l1_bytes, " ",
             traits.l2_bytes, "\nfast_math ", request.pipeline.pass.fast_math, "\nfuse_attention ",
             request.pipeline.pass.fuse_attention, "\nskip");
  for (const std::string& pass : request.pipeline.skip) key += " " + pass;
  key += cat("\nother_machine ", request.other_machine, "\nsizes");
  for (const auto& [symbol, size] : request.sizes) key += cat(" ", symbol, "=", size);
  return key + "\n" + write_binary(module);
}

std::string file_of(const std::string& key) { return digest(key) + std::string(kSuffix); }

// An entry is the length of the key, the key, and the executable file.
std::optional<Executable> find(const PrivateFolder& folder, const std::string& key) {
  const std::string name = file_of(key);
  const std::optional<std::string> bytes = folder.read(name, kMaxEntryBytes);
  uint64_t length = 0;
  if (!bytes || bytes->size() < sizeof length) return std::nullopt;
  std::memcpy(&length, bytes->data(), sizeof length);
  std::string_view rest = std::string_view(*bytes).substr(sizeof length);
  if (length != key.size() || !rest.starts_with(key)) return std::nullopt;
  Result<Executable> executable = read_executable(name, rest.substr(key.size()));
  if (!executable.ok()) return std::nullopt;
  return std::move(executable).value();
}

Status keep(const PrivateFolder& folder, const std::string& key, const Executable& executable) {
  const uint64_t length = key.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += key;
  bytes += write_executable(executable);
  WEFT_TRY_STATUS(folder.write(file_of(key), bytes));
  folder.trim(kSuffix, kMaxCacheBytes);
  return ok();
}

Result<CompiledExecutable> compile_kept(Module module, const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::string> key = key_of(module, request);
  const Result<PrivateFolder> folder = PrivateFolder::open(executable_folder(request.cache_folder));
  const bool usable = key.ok() && folder.ok();
  std::optional<Executable> found = usable ? find(*folder, *key) : std::nullopt;
  if (found) return CompiledExecutable{*std::move(found), true, milliseconds_since(start), ""};
  WEFT_TRY(CompiledExecutable made, compile_now(std::move(module), request));
  if (!usable) {
    made.cache_problem = (key.ok() ? folder.diagnostics() : key.diagnostics())[0].message;
  } else if (Status kept = keep(*folder, *key, made.executable); !kept.ok()) {
    made.cache_problem = kept.diagnostics()[0].message;
  }
  return made;
}
#endif

}  // namespace

Result<CompiledExecutable> compile_executable(Module module, const CompileRequest& request) {
#ifdef WEFT_HAS_LLVM
  const bool kept = !request.cache_folder.empty() && !request.keep_text && !request.choose_knobs &&
                    is_plain(request.pipeline) &&
                    (request.device == "cpu" || is_vulkan(request.device));
  if (kept) return compile_kept(std::move(module), request);
#endif
  return compile_now(std::move(module), request);
}

}  // namespace weft
