// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/code_cache.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Verifier.h>

#include "ir/support/build_id.h"
#include "ir/support/hash.h"
#include "ir/tile/text.h"
#include "runtime/executable_file.h"

namespace weft::cpu {
namespace {

constexpr std::string_view kSuffix = ".kernel";
constexpr uint64_t kMaxEntryBytes = uint64_t{64} << 20;

// The number of the version is the same for a year of changes to the emitter; the build ids are
// not.
Result<std::string> builds() {
  const std::string ours = build_id_of(reinterpret_cast<const void*>(&builds));
  const std::string llvm = build_id_of(reinterpret_cast<const void*>(&llvm::verifyModule));
  if (ours.empty())
    return error({}, "this build of weft has no build id").hint("link with --build-id");
  if (llvm.empty())
    return error({}, "LLVM's library has no build id").hint("link it with --build-id");
  return cat("weft ", build_version(), " ", ours, "\nllvm ", LLVM_VERSION_STRING, " ", llvm, "\n");
}

std::string text_of(const CpuTarget& target) {
  // Named one by one, so that this does not compile when there is a new fact.
  const auto& [name, triple, tune, features, vector_bits, vector_registers, l1_bytes, l2_bytes, fma,
               rounds, scales, f16c] = target;
  std::string text =
      cat("target ", name, " ", triple, " ", tune, " ", vector_bits, " ", vector_registers, " ",
          l1_bytes, " ", l2_bytes, " ", fma, rounds, scales, f16c);
  for (const std::string& feature : features) text += " " + feature;
  return text + "\n";
}

std::string file_of(const std::string& key) { return digest(key) + std::string(kSuffix); }

}  // namespace

Result<std::string> circumstances(const CpuTarget& target, bool bounds_checks) {
  WEFT_TRY(std::string text, builds());
  return text + text_of(target) + cat("bounds_checks ", bounds_checks, "\n");
}

Result<CodeCache> CodeCache::open(const std::string& folder, const CpuTarget& target,
                                  bool bounds_checks) {
  WEFT_TRY(std::string around, circumstances(target, bounds_checks));
  WEFT_TRY(PrivateFolder opened, PrivateFolder::open(folder));
  return CodeCache(std::move(opened), std::move(around));
}

std::string CodeCache::key_of(const tile::Program& program) const {
  return circumstances_ + tile::print(program);
}

std::optional<ProgramCode> CodeCache::find(const std::string& key) const {
  const std::string name = file_of(key);
  const std::optional<std::string> bytes = folder_.read(name, kMaxEntryBytes);
  if (!bytes) return std::nullopt;
  Result<Executable> entry = read_executable(name, *bytes);
  if (!entry.ok() || entry->module_name != key || entry->kernels.size() != 1 ||
      entry->kernels[0].entry >= entry->code.size()) {
    return std::nullopt;
  }
  return ProgramCode{std::move(entry->kernels[0]), std::move(entry->code)};
}

Status CodeCache::keep(const std::string& key, const ProgramCode& compiled) const {
  Executable entry;
  entry.module_name = key;
  entry.kernels.push_back(compiled.kernel);
  entry.code = compiled.code;
  return folder_.write(file_of(key), write_executable(entry));
}

void CodeCache::trim() const { folder_.trim(kSuffix, kMaxCodeCacheBytes); }

}  // namespace weft::cpu
