// weft train: from data files to a trained model in a run's folder.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "driver/devices.h"
#include "driver/train/module_model.h"
#include "driver/train/session.h"
#include "ir/support/file.h"
#include "runtime/vulkan/open.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/train_flags.h"

namespace weft::cli {
namespace {

using train::RunFolder;
using train::short_number;
using train::TrainOptions;

constexpr uint64_t kMaxResultBytes = 1 << 16;

train::DeviceOptions device_options(const Common& common, uint64_t seed) {
  return {common.device, common.target_cpu, common.threads, seed, common.form};
}

std::string progress_line(const train::StepReport& r, const TrainOptions& o) {
  std::string line = cat(r.step, "/", o.steps, " loss ", short_number(r.loss));
  if (o.model.loss == Loss::cross_entropy) line += " ppl " + short_number(std::exp(r.loss));
  line +=
      cat(" lr ", short_number(r.lr), " |g| ", short_number(r.grad_norm), " ",
          std::llround(r.tokens_per_s), " tok/s ", train::readable_time(r.seconds_left), " left");
  return line;
}

// ", best accuracy 0.97", or by the loss if there is none; nothing if neither is known.
std::string told(const nlohmann::json& result, const std::string& which) {
  for (const std::string measure : {"accuracy", "loss"}) {
    auto found = result.find(which + "_val_" + measure);
    if (found == result.end() || !found->is_number()) continue;
    return cat(", ", which, " ", measure, " ", short_number(found->get<double>()));
  }
  return "";
}

// What `result.json` says, in a line for people or as it is.
Status put_result(const Common& common, const RunFolder& folder) {
  WEFT_TRY(std::string text, read_file(folder.result_path(), kMaxResultBytes));
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return error({}, folder.result_path(), ": this is not a result of a run");
  json["run"] = folder.path();
  if (common.json) return put_json(json);
  std::string line = cat(folder.path(), ": finished at step ", json.value("step", int64_t{0}));
  const std::string best = told(json, "best");
  if (!best.empty()) line += cat(best, " at step ", json.value("best_step", int64_t{0}));
  line += told(json, "average");
  return put(line + "\n");
}

// A line of metrics: to stdout with --json; evaluations are told on stderr.
void tell_line(const Common& common, Progress& progress, const nlohmann::ordered_json& line) {
  if (common.json) {
    std::fputs((line.dump() + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  if (common.quiet || !line.contains("val_loss")) return;
  progress.clear();
  std::string text = cat("step ", line["step"].get<int64_t>(), ": val_loss ",
                         short_number(line["val_loss"].get<double>()));
  if (line.contains("val_accuracy")) {
    text += ", accuracy " + short_number(line["val_accuracy"].get<double>());
  }
  if (line.contains("loss")) text += ", loss " + short_number(line["loss"].get<double>());
  std::fprintf(stderr, "%s\n", text.c_str());
}

// A device that is lost in the middle of a run costs no more than what was not saved.
Error with_way_on(Error fault, const RunFolder& folder) {
  if (fault.diagnostics().back().message.find(kDeviceLost) == std::string::npos) return fault;
  const Result<std::vector<train::SavedCheckpoint>> saved = folder.checkpoints();
  if (!saved.ok() || saved->empty()) return fault;
  return std::move(fault).hint(cat("weft train --resume ", folder.path(), " goes on after step ",
                                   saved->back().step, ", which is saved; with --device cpu too"));
}

Status run_training(Session& session, RunFolder& folder, train::Session& run) {
  const Common& common = session.common;
  Progress progress(common);
  train::TrainHooks hooks;
  hooks.on_step = [&](const train::StepReport& report) {
    if (progress.due()) progress.show(progress_line(report, run.options));
  };
  hooks.on_line = [&](const nlohmann::ordered_json& line) { tell_line(common, progress, line); };
  hooks.on_warning = [&](const std::string& text) {
    progress.clear();
    if (!common.quiet) std::fprintf(stderr, "warning: %s\n", text.c_str());
  };
  hooks.stop = &watch_interrupts();
  train::Trainer trainer(run.options, run.module, *run.device, *run.train, *run.valid, folder,
                         std::move(hooks));
  trainer.set_observer(run.observer);
  WEFT_TRY_STATUS(trainer.resume());
  if (trainer.progress().step > 0)
    note(common, cat("going on after step ", trainer.progress().step));
  Result<train::Ending> ending = trainer.run();
  progress.clear();
  if (!ending.ok()) return with_way_on(std::move(ending).take_error(), folder);
  if (*ending == train::Ending::interrupted) {
    session.exit_code = kInterrupted;
    note(common, cat("interrupted after step ", trainer.progress().step,
                     ", which is saved; weft train --resume ", folder.path(), " goes on"));
    return ok();
  }
  return put_result(common, folder);
}

// A run may go on for longer than it was meant to, or end where it is.
Status change_steps(const Common& common, const RunFolder& folder, int64_t steps,
                    TrainOptions& options) {
  WEFT_TRY(std::vector<train::SavedCheckpoint> saved, folder.checkpoints());
  const int64_t done = saved.empty() ? 0 : saved.back().step;
  if (steps < done) {
    return error({}, "--steps ", steps, ": the run has ", done, " steps already")
        .hint(cat("--steps ", done, " ends it there"));
  }
  const bool by_length = options.schedule == train::ScheduleKind::cosine ||
                         options.schedule == train::ScheduleKind::linear;
  if (by_length && steps != options.steps) {
    note(common, cat("the learning rate now falls over ", steps, " steps, not ", options.steps));
  }
  options.steps = steps;
  options.epochs = 0;
  std::error_code failure;
  std::filesystem::remove(folder.result_path(), failure);
  return folder.write_config(options);
}

Status resume(Session& session, const TrainFlags& flags) {
  WEFT_TRY(RunFolder folder, RunFolder::open(flags.resume));
  std::error_code failure;
  if (!flags.steps && std::filesystem::exists(folder.result_path(), failure)) {
    return put_result(session.common, folder);
  }
  WEFT_TRY_STATUS(folder.lock());
  WEFT_TRY(TrainOptions options, folder.read_config());
  if (flags.steps) {
    WEFT_TRY_STATUS(change_steps(session.common, folder, *flags.steps, options));
  }
  const uint64_t seed = options.seed;
  WEFT_TRY(
      std::unique_ptr<train::Session> run,
      train::open_session(std::move(options), folder.path(), device_options(session.common, seed)));
  WEFT_TRY_STATUS(folder.write_config(run->options));
  return run_training(session, folder, *run);
}

Result<std::unique_ptr<train::Session>> open_new(const Common& common, const RunFolder& folder,
                                                 TrainOptions options) {
  // The config comes before the data, so that a run that is killed while it prepares it can go on.
  WEFT_TRY_STATUS(train::adopt_module(options, folder.path()));
  WEFT_TRY_STATUS(folder.write_config(options));
  const uint64_t seed = options.seed;
  WEFT_TRY(std::unique_ptr<train::Session> run,
           train::open_session(std::move(options), folder.path(), device_options(common, seed)));
  WEFT_TRY_STATUS(folder.write_config(run->options));
  return run;
}

Status start(Session& session, const TrainFlags& flags) {
  if (flags.out.empty()) {
    return error({}, "a run needs a folder").hint("--out RUN, or --dry-run to see what it takes");
  }
  WEFT_TRY(TrainOptions options, train_options(flags, session.common));
  WEFT_TRY(RunFolder folder, RunFolder::create(flags.out));
  WEFT_TRY_STATUS(folder.lock());
  Result<std::unique_ptr<train::Session>> run =
      open_new(session.common, folder, std::move(options));
  if (!run.ok()) {
    folder.remove_all();
    return std::move(run).take_error();
  }
  Status status = run_training(session, folder, **run);
  std::error_code failure;
  const bool nothing_done = !std::filesystem::exists(folder.path() + "/metrics.jsonl", failure);
  if (!status.ok() && nothing_done) folder.remove_all();
  return status;
}

Status put_estimate(const Common& common, const train::Estimate& e, const TrainOptions& o) {
  if (common.json) {
    return put_json({{"parameters", e.parameters},
                     {"storage_bytes", e.storage_bytes},
                     {"arena_bytes", e.arena_bytes},
                     {"memory_bytes", e.storage_bytes + e.arena_bytes},
                     {"steps", o.steps},
                     {"step_ms", 1e3 * e.step_seconds},
                     {"seconds", e.seconds}});
  }
  return put(cat("parameters: ", with_commas(e.parameters),
                 "\nmemory: ", train::readable_bytes(e.storage_bytes + e.arena_bytes), " (",
                 train::readable_bytes(e.storage_bytes), " of parameters and optimizer state, ",
                 train::readable_bytes(e.arena_bytes), " for a step; largest of ", e.batches,
                 " batches)\ntime: about ", train::readable_time(e.seconds), " for ", o.steps,
                 " steps of ", short_number(1e3 * e.step_seconds), " ms, without evaluations\n"));
}

// Everything about a run was chosen when it began; only where and how long it runs may change.
Status check_resume(const CLI::App& command) {
  const std::set<std::string> good = {"--resume",  "--device",   "--threads", "--target-cpu",
                                      "--mapping", "--matrices", "--steps",   "--json",
                                      "--quiet",   "--verbose"};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const std::string name =
        option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames()[0];
    if (good.contains(name)) continue;
    return error({}, name, " cannot be given with --resume: the run has its own options")
        .hint("leave it out, or begin another run with --out");
  }
  return ok();
}

// A module has its own sizes.
Status check_module_flags(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_group() != kModelGroup) continue;
    return error({}, "--", option->get_lnames()[0], " is for presets, and the model is a file")
        .hint("change the module, or name a preset");
  }
  return ok();
}

// In a folder that goes away again.
Status dry_run(Session& session, const TrainFlags& flags) {
  WEFT_TRY(TrainOptions options, train_options(flags, session.common));
  std::string path = (std::filesystem::temp_directory_path() / "weft-dry-run-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) return error({}, path, ": cannot make the folder");
  WEFT_TRY(RunFolder folder, RunFolder::create(path));
  auto measure = [&]() -> Status {
    const uint64_t seed = options.seed;
    WEFT_TRY(std::unique_ptr<train::Session> run,
             train::open_session(options, path, device_options(session.common, seed)));
    train::Trainer trainer(run->options, run->module, *run->device, *run->train, *run->valid,
                           folder, {});
    WEFT_TRY(train::Estimate found,
             train::estimate(run->options, run->module, *run->device, *run->train, trainer));
    return put_estimate(session.common, found, run->options);
  };
  Status status = measure();
  folder.remove_all();
  return status;
}

}  // namespace

void add_train(Session& session) {
  auto flags = std::make_shared<TrainFlags>();  // shared with the callback, which outlives this
  CLI::App* command = add_command(session, "train", "trains a model on files",
                                  "weft train gpt-char --text input.txt --out run --steps 2000\n"
                                  "  weft train --resume run\n"
                                  "  weft train --resume run --steps 4000");
  add_train_flags(command, *flags);
  on_run(session, command, [&session, flags, command]() -> Status {
    WEFT_TRY(std::string notice, choose_device(session.common.device));
    if (!notice.empty()) note(session.common, notice);
    if (flags->resume.empty()) {
      if (is_module(*flags)) WEFT_TRY_STATUS(check_module_flags(*command));
      return flags->dry_run ? dry_run(session, *flags) : start(session, *flags);
    }
    WEFT_TRY_STATUS(check_resume(*command));
    return resume(session, *flags);
  });
}

}  // namespace weft::cli
