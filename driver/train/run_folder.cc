// SPDX-License-Identifier: Apache-2.0
#include "driver/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "driver/train/module_model.h"
#include "ir/support/file.h"

namespace weft::train {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr uint64_t kMaxMetricsBytes = uint64_t{1} << 30;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";

// The step of "step-00000100.safetensors"; nothing for any other name.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  std::string_view digits =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  int64_t step = 0;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (failure != std::errc() || end != digits.data() + digits.size() || step < 0)
    return std::nullopt;
  return step;
}

Error fail(const std::string& path, const std::string& what) {
  Loc loc{std::make_shared<const SourceText>(SourceText{path, ""}), 0, 0, 0};
  return error(loc, what);
}

// What FileWriter writes aside: the name of a file of ours, a point and six characters.
bool is_left_over(const std::string& name) {
  constexpr size_t kAside = 7;
  if (name.size() <= kAside || name[name.size() - kAside] != '.') return false;
  const std::string whole = name.substr(0, name.size() - kAside);
  return step_of(whole).has_value() || whole == kModuleFile || whole == "config.json" ||
         whole == "metrics.jsonl" || whole == "result.json" || whole == "best.safetensors" ||
         whole == "average.safetensors";
}

void remove_left_overs(const std::string& folder) {
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    if (is_left_over(entry.path().filename().string())) fs::remove(entry.path(), failure);
  }
}

}  // namespace

Result<RunFolder> RunFolder::create(const std::string& path) {
  std::error_code failure;
  if (fs::exists(path + "/config.json", failure)) {
    return fail(path, "there is a run in this folder already")
        .hint("weft train --resume " + path + " goes on with it");
  }
  if (fs::exists(path, failure) && !fs::is_directory(path, failure)) {
    return fail(path, "this is a file, not a folder");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path, failure)) {
    // A run that was killed before it had written its config leaves that half-written, or a module.
    const std::string name = entry.path().filename().string();
    if (is_left_over(name) || name == kModuleFile) continue;
    return fail(path, "the folder is not empty").hint("name one that is not there yet: --out RUN");
  }
  fs::create_directories(path, failure);
  if (failure) return fail(path, "cannot make the folder: " + failure.message());
  return RunFolder(path);
}

Result<RunFolder> RunFolder::open(const std::string& path) {
  std::error_code failure;
  if (!fs::exists(path + "/config.json", failure)) {
    return fail(path, "this is not the folder of a run: it has no config.json");
  }
  return RunFolder(path);
}

Status RunFolder::lock() {
  lock_.emplace(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_->valid()) return fail(path_, cat("cannot open: ", std::strerror(errno)));
  if (::flock(lock_->get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(path_, "another process is training in this folder");
  }
  remove_left_overs(path_);
  remove_left_overs(checkpoint_folder());
  return ok();
}

std::string RunFolder::checkpoint_path(int64_t step) const {
  char name[64];
  std::snprintf(name, sizeof(name), "/step-%08lld.safetensors", static_cast<long long>(step));
  return checkpoint_folder() + name;
}

Status RunFolder::write_config(const TrainOptions& options) const {
  WEFT_TRY_STATUS(write_file(path_ + "/config.json", to_json(options).dump(2) + "\n"));
  return sync_folder(path_);
}

Result<TrainOptions> RunFolder::read_config() const {
  WEFT_TRY(std::string text, read_file(path_ + "/config.json", kMaxConfigBytes));
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(path_ + "/config.json", "this is not JSON");
  WEFT_TRY(TrainOptions options, parse_options(json));
  if (!options.module.empty()) options.module = path_ + "/" + kModuleFile;
  return options;
}

Result<std::vector<SavedCheckpoint>> RunFolder::checkpoints() const {
  std::vector<SavedCheckpoint> found;
  std::error_code failure;
  if (!fs::exists(checkpoint_folder(), failure)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint_folder(), failure)) {
    if (auto step = step_of(entry.path().filename().string())) {
      found.push_back({*step, entry.path().string()});
    }
  }
  if (failure) return fail(checkpoint_folder(), "cannot read: " + failure.message());
  std::ranges::sort(found, {}, &SavedCheckpoint::step);
  return found;
}

Status RunFolder::make_checkpoint_folder() const {
  std::error_code failure;
  fs::create_directory(checkpoint_folder(), failure);
  if (failure) return fail(checkpoint_folder(), "cannot make the folder: " + failure.message());
  return ok();
}

Status RunFolder::keep_last(int64_t count) const {
  WEFT_TRY(std::vector<SavedCheckpoint> all, checkpoints());
  std::error_code failure;
  for (size_t i = 0; i + static_cast<size_t>(count) < all.size(); ++i) {
    fs::remove(all[i].path, failure);
    if (failure) return fail(all[i].path, "cannot remove: " + failure.message());
  }
  return ok();
}

Status RunFolder::append_metrics(const nlohmann::ordered_json& line) {
  const std::string path = path_ + "/metrics.jsonl";
  if (!metrics_) {
    metrics_.emplace(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  }
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (metrics_->valid() && write_all(metrics_->get(), text)) return ok();
  return fail(path, cat("cannot write: ", std::strerror(errno)));
}

Status RunFolder::cut_metrics(int64_t last_step) {
  const std::string path = path_ + "/metrics.jsonl";
  metrics_.reset();
  std::error_code failure;
  if (!fs::exists(path, failure)) return ok();
  WEFT_TRY(std::string text, read_file(path, kMaxMetricsBytes));
  size_t end = 0;  // of what stays
  while (end < text.size()) {
    const size_t line_end = text.find('\n', end);
    if (line_end == std::string::npos) break;
    auto json =
        nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(end),
                              text.begin() + static_cast<std::ptrdiff_t>(line_end), nullptr, false);
    const bool good = json.is_object() && json.contains("step") && json["step"].is_number_integer();
    if (!good || json["step"].get<int64_t>() > last_step) break;
    end = line_end + 1;
  }
  if (end == text.size()) return ok();
  return write_file(path, std::string_view(text).substr(0, end));
}

void RunFolder::remove_all() const {
  std::error_code failure;
  fs::remove_all(path_, failure);
}

Result<std::string> weights_of_run(const std::string& path) {
  WEFT_TRY(RunFolder folder, RunFolder::open(path));
  std::error_code failure;
  if (fs::exists(folder.average_path(), failure)) return folder.average_path();
  if (fs::exists(folder.best_path(), failure)) return folder.best_path();
  WEFT_TRY(std::vector<SavedCheckpoint> saved, folder.checkpoints());
  if (saved.empty()) {
    return fail(path, "the run has no checkpoint yet").hint("weft train --resume " + path);
  }
  return saved.back().path;
}

}  // namespace weft::train
