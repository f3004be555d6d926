// SPDX-License-Identifier: Apache-2.0
#include "driver/tuning.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "driver/cache_folder.h"
#include "ir/support/hash.h"
#include "ir/tile/text.h"
#include "runtime/cpu/facts.h"
#include "runtime/executable_file.h"
#include "runtime/pool.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSuffix = ".json";
constexpr uint64_t kMaxEntryBytes = uint64_t{64} << 10;
constexpr uint64_t kMaxTuningBytes = uint64_t{64} << 20;

// Everything that an entry holds for; all of it stands in the entry.
Json circumstances(const tile::Program& program, const TuningMachine& machine) {
  return {{"program", tuning_key(program)},
          {"weft", std::string(build_version())},
          {"cpu", machine.cpu},
          {"target_cpu", machine.target_cpu},
          {"threads", machine.threads},
          {"device", machine.device}};
}

// Each device has its own, so that one that was never tuned is not asked.
std::string folder_of(const std::string& cache_folder, const TuningMachine& machine) {
  const std::string all = tuning_folder(cache_folder);
  return all.empty() || machine.device == "cpu" ? all : all + "/" + digest(machine.device);
}

// A model's name comes from the system: whatever bytes it has.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string file_of(const Json& circumstances) {
  return digest(text_of(circumstances, -1)) + std::string(kSuffix);
}

// Nothing if a value is not a whole number.
std::optional<KnobValues> values_of(const Json& entry) {
  const auto knobs = entry.find("knobs");
  if (knobs == entry.end() || !knobs->is_object()) return std::nullopt;
  KnobValues values;
  for (const Json& value : *knobs) {
    if (!value.is_number_integer()) return std::nullopt;
    values.push_back(value.get<int64_t>());
  }
  return values;
}

double number_of(const Json& entry, const char* field) {
  const auto found = entry.find(field);
  return found != entry.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

Result<TuningMachine> tuning_machine(const std::string& target_cpu, int threads) {
  WEFT_TRY(int count, thread_count(threads));
  return TuningMachine{cpu_facts().model, target_cpu, count};
}

TuningMachine tuning_device(const std::string& device) {
  return TuningMachine{cpu_facts().model, "", 0, device};
}

std::string tuning_key(const tile::Program& program) {
  tile::Program bare = program;
  for (size_t knob : choosable_knobs(program)) {
    bare.knobs[knob].value = 1;
    bare.knobs[knob].choices.clear();
  }
  return digest(tile::key(bare, tile::ordered_symbols(bare)));
}

Result<Tuning> Tuning::open(const std::string& cache_folder, TuningMachine machine) {
  WEFT_TRY(PrivateFolder folder, PrivateFolder::open(folder_of(cache_folder, machine)));
  return Tuning(std::move(folder), std::move(machine));
}

std::optional<TunedKernel> Tuning::find(const tile::Program& program) const {
  const Json wanted = circumstances(program, machine_);
  const std::optional<std::string> bytes = folder_.read(file_of(wanted), kMaxEntryBytes);
  if (!bytes) return std::nullopt;
  const Json entry = Json::parse(*bytes, nullptr, false);
  if (!entry.is_object()) return std::nullopt;
  for (const auto& [field, value] : wanted.items()) {
    const auto found = entry.find(field);
    if (found == entry.end() || text_of(*found, -1) != text_of(value, -1)) return std::nullopt;
  }
  std::optional<KnobValues> values = values_of(entry);
  if (!values) return std::nullopt;
  TunedKernel kernel;
  kernel.name = program.name;
  kernel.values = std::move(*values);
  kernel.default_us = number_of(entry, "default_us");
  kernel.best_us = number_of(entry, "best_us");
  if (const auto dims = entry.find("dims"); dims != entry.end() && dims->is_object()) {
    for (const auto& [symbol, size] : dims->items()) {
      if (size.is_number_integer()) kernel.dims.emplace(symbol, size.get<int64_t>());
    }
  }
  return kernel;
}

Status Tuning::keep(const tile::Program& program, const TunedKernel& found) const {
  Json entry = {{"kernel", found.name}, {"knobs", Json::object()}};
  const std::vector<size_t> knobs = choosable_knobs(program);
  for (size_t i = 0; i < found.values.size(); ++i) {
    entry["knobs"][program.knobs[knobs[i]].name] = found.values[i];
  }
  entry["default_us"] = found.default_us;
  entry["best_us"] = found.best_us;
  entry["dims"] = found.dims;
  const Json known = circumstances(program, machine_);
  entry.update(known);
  WEFT_TRY_STATUS(folder_.write(file_of(known), text_of(entry, 2) + "\n"));
  folder_.trim(kSuffix, kMaxTuningBytes);
  return ok();
}

KnobChooser tuned_knobs(const std::string& cache_folder, const std::string& target_cpu,
                        int threads) {
  Result<TuningMachine> machine = tuning_machine(target_cpu, threads);
  return machine.ok() ? tuned_knobs(cache_folder, *machine) : KnobChooser();
}

KnobChooser tuned_knobs(const std::string& cache_folder, const TuningMachine& machine) {
  std::error_code ignored;
  const std::string folder = folder_of(cache_folder, machine);
  if (folder.empty() || !std::filesystem::is_directory(folder, ignored)) return {};
  Result<Tuning> opened = Tuning::open(cache_folder, machine);
  if (!opened.ok()) return {};
  // Shared, since a std::function is copied.
  auto tuning = std::make_shared<const Tuning>(std::move(*opened));
  return [tuning](const tile::Program& program) -> std::optional<KnobValues> {
    std::optional<TunedKernel> found = tuning->find(program);
    if (!found || found->values.empty()) return std::nullopt;
    return std::move(found->values);
  };
}

}  // namespace weft
