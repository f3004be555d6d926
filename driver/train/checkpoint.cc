// SPDX-License-Identifier: Apache-2.0
#include "driver/train/checkpoint.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/support/file.h"
#include "passes/train_step.h"
#include "runtime/files/safetensors.h"

namespace weft::train {
namespace {

constexpr const char* kMetadata = "weft.train";

bool is_saved(const Storage& item) { return !item.name.starts_with(kAccumulated); }

std::vector<int64_t> sizes_of(const Type& type) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : type.shape) sizes.push_back(dim.constant());
  return sizes;
}

std::string describe(const Progress& p) {
  nlohmann::ordered_json json = {
      {"step", p.step},           {"epoch", p.position.epoch}, {"batch", p.position.batch},
      {"best_step", p.best_step}, {"worse", p.worse},          {"skipped", p.skipped}};
  if (std::isfinite(p.best)) json["best"] = p.best;
  return json.dump();
}

Error fail(const std::string& path, const std::string& what) {
  Loc loc{std::make_shared<const SourceText>(SourceText{path, ""}), 0, 0, 0};
  return error(loc, what).hint("remove it to go on from the checkpoint before it");
}

Result<Progress> parse_progress(const std::string& path, const SafetensorsHeader& header) {
  auto found = header.metadata.find(kMetadata);
  if (found == header.metadata.end()) return fail(path, "not a checkpoint of weft train");
  auto json = nlohmann::json::parse(found->second, nullptr, false);
  Progress p;
  auto whole = [&](const char* name, int64_t& value) {
    const bool good = json.is_object() && json.contains(name) && json[name].is_number_integer();
    if (good) value = json[name].get<int64_t>();
    return good && value >= 0;
  };
  bool good = whole("step", p.step) && whole("epoch", p.position.epoch) &&
              whole("batch", p.position.batch) && whole("best_step", p.best_step) &&
              whole("worse", p.worse) && whole("skipped", p.skipped);
  if (!good) return fail(path, "the state of the run in it cannot be read");
  if (json.contains("best") && json["best"].is_number()) p.best = json["best"].get<double>();
  return p;
}

Status write(const std::string& path, const std::vector<SafetensorsEntry>& entries,
             const TensorBytesFn& bytes_of, const Progress& progress) {
  WEFT_TRY_STATUS(
      write_safetensors_bytes(path, entries, bytes_of, {{kMetadata, describe(progress)}}));
  return sync_folder(std::filesystem::path(path).parent_path().string());
}

Status save(const std::string& path, const std::vector<Storage>& storage, TrainDevice& device,
            const Progress& progress, bool parameters_only) {
  std::vector<SafetensorsEntry> entries;
  for (const Storage& item : storage) {
    if (!is_saved(item) || (parameters_only && item.kind != Storage::param)) continue;
    entries.push_back({item.name, item.type.dtype, sizes_of(item.type)});
  }
  return write(
      path, entries, [&](const SafetensorsEntry& entry) { return device.storage(entry.name); },
      progress);
}

// Reads the tensors that storage has; all of `wanted` must be there.
Status load(const std::string& path, const std::vector<Storage>& storage, TrainDevice& device,
            std::set<std::string> wanted, bool others_are_good) {
  std::map<std::string, const Storage*> known;
  for (const Storage& item : storage) known.emplace(item.name, &item);
  WEFT_TRY_STATUS(read_safetensors_bytes(
      path, [&](const SafetensorsEntry& entry, std::span<const std::byte> bytes) -> Status {
        if (!wanted.contains(entry.name)) {
          if (others_are_good) return ok();
          return fail(path, "tensor '" + entry.name + "' is none of this model's");
        }
        const Type& type = known.at(entry.name)->type;
        if (entry.dtype != type.dtype || entry.shape != sizes_of(type)) {
          return fail(path, cat("tensor '", entry.name, "' is not the model's ", type));
        }
        wanted.erase(entry.name);
        return device.set_storage(entry.name, bytes);
      }));
  if (wanted.empty()) return ok();
  return fail(path, "tensor '" + *wanted.begin() + "' is missing");
}

// Sums of the parameters of several files, in the order of the files.
struct Sum {
  std::vector<double> values;
  int64_t files = 0;
};

double element(DType dtype, const std::byte* bytes) {
  double wide = 0;
  float narrow = 0;
  if (dtype == DType::f64) {
    std::memcpy(&wide, bytes, sizeof(wide));
    return wide;
  }
  std::memcpy(&narrow, bytes, sizeof(narrow));
  return narrow;
}

std::vector<std::byte> mean_bytes(DType dtype, const Sum& sum) {
  const auto width = static_cast<size_t>(byte_size(dtype));
  std::vector<std::byte> bytes(sum.values.size() * width);
  for (size_t i = 0; i < sum.values.size(); ++i) {
    const double mean = sum.values[i] / static_cast<double>(sum.files);
    const auto narrow = static_cast<float>(mean);
    const void* from = dtype == DType::f64 ? static_cast<const void*>(&mean) : &narrow;
    std::memcpy(bytes.data() + i * width, from, width);
  }
  return bytes;
}

}  // namespace

Status save_checkpoint(const std::string& path, const std::vector<Storage>& storage,
                       TrainDevice& device, const Progress& progress) {
  return save(path, storage, device, progress, false);
}

Status save_parameters(const std::string& path, const std::vector<Storage>& storage,
                       TrainDevice& device, const Progress& progress) {
  return save(path, storage, device, progress, true);
}

Result<Progress> load_checkpoint(const std::string& path, const std::vector<Storage>& storage,
                                 TrainDevice& device) {
  WEFT_TRY(SafetensorsHeader header, read_safetensors_header(path));
  WEFT_TRY(Progress progress, parse_progress(path, header));
  std::set<std::string> wanted;
  for (const Storage& item : storage) {
    if (is_saved(item)) wanted.insert(item.name);
  }
  WEFT_TRY_STATUS(load(path, storage, device, std::move(wanted), false));
  return progress;
}

Status load_parameters(const std::string& path, const std::vector<Storage>& storage,
                       TrainDevice& device) {
  std::set<std::string> wanted;
  for (const Storage& item : storage) {
    if (item.kind == Storage::param) wanted.insert(item.name);
  }
  return load(path, storage, device, std::move(wanted), true);
}

Status average_checkpoints(const std::vector<std::string>& paths,
                           const std::vector<Storage>& storage, const std::string& out) {
  std::map<std::string, Sum> sums;
  for (const Storage& item : storage) {
    if (item.kind != Storage::param) continue;
    Sum& sum = sums[item.name];
    sum.values.resize(static_cast<size_t>(element_count(item.type.shape).constant()));
  }
  for (const std::string& path : paths) {
    WEFT_TRY_STATUS(read_safetensors_bytes(
        path, [&](const SafetensorsEntry& entry, std::span<const std::byte> bytes) -> Status {
          auto found = sums.find(entry.name);
          if (found == sums.end()) return ok();
          std::vector<double>& values = found->second.values;
          const auto width = static_cast<size_t>(byte_size(entry.dtype));
          if (bytes.size() != values.size() * width) {
            return fail(path, "tensor '" + entry.name + "' is not the model's");
          }
          for (size_t i = 0; i < values.size(); ++i) {
            values[i] += element(entry.dtype, bytes.data() + i * width);
          }
          ++found->second.files;
          return ok();
        }));
  }
  std::vector<SafetensorsEntry> entries;
  for (const Storage& item : storage) {
    if (item.kind == Storage::param) {
      entries.push_back({item.name, item.type.dtype, sizes_of(item.type)});
    }
  }
  std::vector<std::byte> bytes;
  return write(out, entries,
               [&](const SafetensorsEntry& entry) -> Result<std::span<const std::byte>> {
                 bytes = mean_bytes(entry.dtype, sums.at(entry.name));
                 return std::span<const std::byte>(bytes);
               },
               {});
}

}  // namespace weft::train
