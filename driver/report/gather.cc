// What a report shows, gathered from the folder of a run.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>

#include "driver/report/attention_maps.h"
#include "driver/report/metrics.h"
#include "driver/report/positions.h"
#include "driver/report/report.h"
#include "driver/train/run_folder.h"
#include "ir/support/file.h"
#include "models/zoo.h"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxResultBytes = 1 << 16;

class Gathering {
 public:
  explicit Gathering(const ReportOptions& options) : options_(options) {}

  Result<Json> run() {
    WEFT_TRY(train::RunFolder folder, train::RunFolder::open(options_.run));
    std::filesystem::path path = std::filesystem::weakly_canonical(options_.run);
    data_["run"] = path.filename().string();
    Metrics metrics = read_metrics(options_.run);
    for (std::string& text : metrics.notes) notes_.push_back(std::move(text));
    put_status(folder, metrics);
    put_options(folder);
    data_["warnings"] = std::move(metrics.warnings);
    data_["lines"] = std::move(metrics.lines);
    WEFT_TRY_STATUS(look_inside());
    data_["facts"] = std::move(facts_);
    data_["notes"] = notes_;
    return std::move(data_);
  }

 private:
  void fact(const char* name, const Json& value) { facts_.push_back(Json::array({name, value})); }

  void put_status(const train::RunFolder& folder, const Metrics& metrics) {
    std::error_code failure;
    const int64_t last = metrics.lines.empty() ? 0 : metrics.lines.back()["step"].get<int64_t>();
    data_["finished"] = std::filesystem::exists(folder.result_path(), failure);
    std::string status = cat("not finished: the last line is of step ", last);
    if (metrics.lines.empty()) status = "not finished: no line of metrics yet";
    if (data_["finished"].get<bool>()) status = finished_status(folder);
    data_["status"] = status;
  }

  std::string finished_status(const train::RunFolder& folder) {
    Result<std::string> text = read_file(folder.result_path(), kMaxResultBytes);
    const Json result = text.ok() ? Json::parse(*text, nullptr, false) : Json();
    if (!result.is_object() || !result.contains("step") || !result["step"].is_number_integer()) {
      notes_.push_back("result.json cannot be read");
      return "finished";
    }
    auto whole = [&](const char* name) {
      const bool there = result.contains(name) && result[name].is_number_integer();
      return there ? result[name].get<int64_t>() : 0;
    };
    if (whole("best_step") > 0) fact("best step", whole("best_step"));
    if (whole("skipped_steps") > 0) fact("skipped steps", whole("skipped_steps"));
    const bool early = result.contains("stopped_early") && result["stopped_early"] == true;
    return cat("finished at step ", whole("step"), early ? ", stopped early" : "");
  }

  void put_options(const train::RunFolder& folder) {
    Result<train::TrainOptions> read = folder.read_config();
    if (!read.ok()) return;  // opening the model will say why
    const train::TrainOptions& o = *read;
    fact("preset", o.preset);
    fact("width", o.model.d_model);
    fact("heads", o.model.heads);
    fact("layers", o.task.kind == data::TaskKind::translation
                       ? cat(o.model.encoder_layers, " + ", o.model.decoder_layers)
                       : cat(o.model.encoder_layers));
    fact("feed-forward", o.model.d_ff);
    fact("vocabulary", o.model.vocab);
    fact("optimizer", o.optimizer);
    fact("schedule", std::string(name(o.schedule)));
    fact("steps", o.steps);
    fact("seed", cat(o.seed));
  }

  // What needs the weights. Only a sentence that cannot be shown is the user's fault.
  Status look_inside() {
    Result<std::unique_ptr<RunModel>> opened = open_run_model(options_.run, options_.device);
    if (!opened.ok()) {
      notes_.push_back("no attention and no positions are shown: " +
                       first_message(opened.diagnostics()));
      return ok();
    }
    RunModel& model = **opened;
    fact("parameters", parameter_count(model.module));
    data_["weights"] = std::filesystem::path(model.weights).filename().string();
    WEFT_TRY(data_["positions"], position_maps(model, notes_));
    if (data_["positions"].empty()) {
      data_["no_positions"] =
          model.options.model.positions == Positions::rotary
              ? "Queries and keys are turned by their positions (rotary): there is "
                "no table."
              : "The model has no positions.";
    }
    WEFT_TRY(data_["attention"], attention_maps(model, options_.sentence, options_.target, notes_));
    return ok();
  }

  const ReportOptions& options_;
  Json data_ = Json::object();
  Json facts_ = Json::array();
  std::vector<std::string> notes_;
};

}  // namespace

Result<Json> gather(const ReportOptions& options) { return Gathering(options).run(); }

}  // namespace weft::report
