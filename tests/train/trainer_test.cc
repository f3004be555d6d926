// The trainer: steps, checkpoints, resuming, what is watched.
// SPDX-License-Identifier: Apache-2.0
#include "driver/train/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/train/toy.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TrainerTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("WEFT_CACHE_DIR", shared_cache().c_str(), 1); }
  void TearDown() override { ::setenv("WEFT_CACHE_DIR", "", 1); }

  std::string fresh_path(const std::string& name) {
    const std::string path = scratch("trainer_" + name);
    fs::remove_all(path);
    return path;
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static std::vector<nlohmann::json> metrics(const std::string& run) {
    std::vector<nlohmann::json> lines;
    std::istringstream text(text_of(run + "/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  // A whole run; its final storage.
  std::string train(const TrainOptions& options, const std::string& name, int threads = 2) {
    ToyRun run(options, fresh_path(name), true, "cpu", threads);
    Trainer trainer = run.trainer();
    Result<Ending> ending = trainer.run();
    EXPECT_TRUE(ending.ok()) << render(ending.diagnostics());
    return storage_bytes(run.module, *run.device);
  }
};

TEST_F(TrainerTest, LearnsAndWritesWhatItSaw) {
  TrainOptions options = toy_options();
  options.steps = 200;
  options.eval_every = options.save_every = 50;
  const std::string path = fresh_path("learns");
  ToyRun run(options, path, true);
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.run().ok());
  std::vector<nlohmann::json> lines = metrics(path);
  ASSERT_GT(lines.size(), 4u);
  EXPECT_GT(lines.front()["loss"].get<double>(), 2);  // log 11 = 2.4
  EXPECT_EQ(lines.back()["step"], 200);
  EXPECT_LT(lines.back()["val_loss"].get<double>(), 0.5);
  for (const char* key : {"ppl", "lr", "grad_norm", "tokens_per_s", "val_ppl"}) {
    EXPECT_TRUE(lines.back().contains(key)) << key;
  }
  EXPECT_GT(lines.back()["grad_norms"]["layers.0.attn"].get<double>(), 0);
  EXPECT_GT(lines.back()["update_ratios"]["embedding"].get<double>(), 0);
  EXPECT_TRUE(fs::exists(path + "/best.safetensors"));
  EXPECT_TRUE(fs::exists(path + "/result.json"));
  EXPECT_EQ(run.folder.checkpoints()->size(), 3u);  // keep_last
  EXPECT_EQ(run.folder.checkpoints()->back().step, 200);
}

TEST_F(TrainerTest, TheBitsDoNotDependOnThreads) {
  const std::string one = train(toy_options(), "threads1", 1);
  EXPECT_EQ(one, train(toy_options(), "threads2", 2));
  EXPECT_EQ(one, train(toy_options(), "threads3", 3));
  TrainOptions other = toy_options();
  other.seed = 2;
  EXPECT_NE(one, train(other, "seed2", 2));
}

TEST_F(TrainerTest, GoesOnAfterAnyStopWithTheSameBits) {
  for (int64_t accumulate : {1, 3}) {
    TrainOptions options = toy_options();
    options.accumulate = accumulate;
    const std::string whole = train(options, cat("whole", accumulate));
    const std::vector<nlohmann::json> expected = metrics(scratch(cat("trainer_whole", accumulate)));
    const bool quick = suite() == "quick";
    for (int64_t stop_at :
         quick ? std::vector<int64_t>{7} : std::vector<int64_t>{1, 5, 7, 10, 19}) {
      const std::string path = fresh_path("stopped");
      {
        ToyRun run(options, path, true);
        run.on_step = [&](const StepReport& r) { run.stop = r.step == stop_at; };
        Trainer trainer = run.trainer();
        EXPECT_EQ(trainer.run().value(), Ending::interrupted);
        EXPECT_EQ(trainer.progress().step, stop_at);
      }
      ToyRun run(options, path, false, "cpu", 1);  // on another number of threads
      Trainer trainer = run.trainer();
      ASSERT_TRUE(trainer.resume().ok());
      EXPECT_EQ(trainer.progress().step, stop_at);
      EXPECT_EQ(trainer.run().value(), Ending::finished);
      EXPECT_EQ(storage_bytes(run.module, *run.device), whole) << stop_at;
      const std::vector<nlohmann::json> lines = metrics(path);
      ASSERT_EQ(lines.size(), expected.size());
      for (size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i]["step"], expected[i]["step"]);
        EXPECT_EQ(lines[i]["loss"], expected[i]["loss"]);
        EXPECT_EQ(lines[i].value("val_loss", 0.0), expected[i].value("val_loss", 0.0));
      }
    }
  }
}

TEST_F(TrainerTest, WhatCameAfterTheLastSaveIsDoneAgain) {
  const TrainOptions options = toy_options();
  const std::string whole = train(options, "undisturbed");
  const std::string path = fresh_path("killed");
  {
    ToyRun run(options, path, true);
    run.on_step = [&](const StepReport& r) { run.stop = r.step == 13; };
    Trainer trainer = run.trainer();
    ASSERT_TRUE(trainer.run().ok());
  }
  // As if it had been killed at step 13: that save is not there, a part of the next one is.
  ToyRun look(options, path, false);
  fs::rename(look.folder.checkpoint_path(13), look.folder.checkpoint_path(15) + ".aB3xYz");
  std::ofstream(path + "/metrics.jsonl", std::ios::app) << R"({"step": 14, "lo)";
  ASSERT_TRUE(look.folder.lock().ok());
  EXPECT_FALSE(fs::exists(look.folder.checkpoint_path(15) + ".aB3xYz"));
  Trainer trainer = look.trainer();
  ASSERT_TRUE(trainer.resume().ok());
  EXPECT_EQ(trainer.progress().step, 10);
  EXPECT_EQ(metrics(path).back()["step"], 10);
  ASSERT_TRUE(trainer.run().ok());
  EXPECT_EQ(storage_bytes(look.module, *look.device), whole);
}

TEST_F(TrainerTest, AStepThatIsNotFiniteChangesNothingAndIsNamed) {
  TrainOptions options = toy_options();
  options.eval_every = 100;
  ToyRun run(options, fresh_path("nan"), true);
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.step(1).ok());
  // A weight so large that the feed-forward layer overflows.
  auto bytes = run.device->storage("layers.0.ffn.up.weight");
  ASSERT_TRUE(bytes.ok());
  std::vector<std::byte> large(bytes->size());
  for (size_t i = 0; i < large.size(); i += 4) {
    const bool odd_row = i / 4 / 32 % 2 == 1;  // what is normalised adds up to 0
    const float value = odd_row ? 3e38F : -3e38F;
    std::memcpy(large.data() + i, &value, 4);
  }
  ASSERT_TRUE(run.device->set_storage("layers.0.ffn.up.weight", large).ok());
  const std::string before = storage_bytes(run.module, *run.device);
  Result<Ending> ending = trainer.run();
  ASSERT_FALSE(ending.ok());  // after ten of them
  EXPECT_THAT(render(ending.diagnostics()), HasSubstr("the step is skipped"));
  EXPECT_EQ(storage_bytes(run.module, *run.device), before);
  ASSERT_EQ(run.warnings.size(), 10u);
  EXPECT_THAT(run.warnings[0], HasSubstr("first op that is not finite: matmul"));
  EXPECT_THAT(run.warnings[0], HasSubstr("layers.0.ffn"));
}

TEST_F(TrainerTest, StopsEarlyAndAverages) {
  TrainOptions options = toy_options();
  options.steps = 100;
  options.patience = 2;
  options.lr = 1e-30;  // nothing gets better
  options.min_lr = 0;
  options.eval_every = options.save_every = 5;
  options.average = 3;
  const std::string path = fresh_path("early");
  ToyRun run(options, path, true);
  Trainer trainer = run.trainer();
  EXPECT_EQ(trainer.run().value(), Ending::finished);
  EXPECT_EQ(trainer.progress().step, 15);
  auto result = nlohmann::json::parse(text_of(path + "/result.json"));
  EXPECT_EQ(result["stopped_early"], true);
  EXPECT_EQ(result["averaged_checkpoints"], 3);
  EXPECT_EQ(result["best_step"], 15);  // of equals, the last
  std::ofstream(path + "/config.json") << "{}";
  EXPECT_EQ(weights_of_run(path).value(), run.folder.average_path());
}

TEST_F(TrainerTest, TheMeanOfCheckpointsIsTheirMean) {
  const TrainOptions options = toy_options();
  const std::string path = fresh_path("mean");
  ToyRun run(options, path, true);
  auto value = [&] {
    auto bytes = run.device->storage("embedding.weight").value();
    std::vector<float> numbers(bytes.size() / 4);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  };
  Trainer trainer = run.trainer();
  std::vector<std::vector<float>> seen;
  std::vector<std::string> paths;
  for (int64_t step : {1, 2}) {
    ASSERT_TRUE(trainer.step(step).ok());
    seen.push_back(value());
    paths.push_back(run.folder.checkpoint_path(step));
    ASSERT_TRUE(run.folder.make_checkpoint_folder().ok());
    ASSERT_TRUE(save_checkpoint(paths.back(), run.module.storage, *run.device, {}).ok());
  }
  const std::string out = run.folder.average_path();
  ASSERT_TRUE(average_checkpoints(paths, run.module.storage, out).ok());
  ASSERT_TRUE(load_parameters(out, run.module.storage, *run.device).ok());
  const std::vector<float> mean = value();
  for (size_t i = 0; i < mean.size(); ++i) {
    EXPECT_EQ(mean[i], static_cast<float>((double{seen[0][i]} + double{seen[1][i]}) / 2));
  }
}

TEST_F(TrainerTest, DamagedCheckpointsAreErrors) {
  const TrainOptions options = toy_options();
  const std::string path = fresh_path("damaged");
  ToyRun run(options, path, true);
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.run().ok());
  const std::string last = run.folder.checkpoints()->back().path;
  const std::string good = text_of(last);
  auto failure = [&](const std::string& bytes) {
    std::ofstream(last, std::ios::binary) << bytes;
    Trainer again = run.trainer();
    Status status = again.resume();
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : render(status.diagnostics());
  };
  EXPECT_THAT(failure(good.substr(0, good.size() / 2)), HasSubstr(last));
  EXPECT_THAT(failure(""), HasSubstr(last));
  EXPECT_THAT(failure("what is this, a letter?"), HasSubstr(last));
  std::string renamed = good;
  renamed.replace(renamed.find("embedding.weight"), 9, "embeddinG");
  EXPECT_THAT(failure(renamed), HasSubstr("none of this model's"));
  std::string stranger = good;
  stranger.replace(stranger.find("weft.train"), 10, "weft.other");
  EXPECT_THAT(failure(stranger), HasSubstr("not a checkpoint of weft train"));
}

TEST_F(TrainerTest, AccumulatedBatchesMakeOneStep) {
  TrainOptions options = toy_options();
  options.accumulate = 4;
  options.model.dropout = options.model.attn_dropout = 0;
  const std::string path = fresh_path("accumulate");
  ToyRun run(options, path, true);
  Trainer trainer = run.trainer();
  Result<StepReport> report = trainer.step(1);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(run.train.position().batch, 4);
  // The loss of a step is the mean over all its batches.
  options.accumulate = 1;
  options.lr = 1e-30;
  options.min_lr = 0;
  ToyRun plain(options, fresh_path("plain"), true);
  Trainer one = plain.trainer();
  double sum = 0;
  for (int64_t step = 1; step <= 4; ++step) sum += one.step(step)->loss;
  EXPECT_NEAR(report->loss, sum / 4, 1e-6);
}

TEST_F(TrainerTest, TheOracleTrainsTheSameModel) {
  TrainOptions options = toy_options();
  options.steps = 3;
  ToyRun cpu(options, fresh_path("on_cpu"), true);
  ToyRun oracle(options, fresh_path("on_oracle"), true, "oracle");
  Trainer a = cpu.trainer();
  Trainer b = oracle.trainer();
  for (int64_t step = 1; step <= 3; ++step) {
    Result<StepReport> x = a.step(step);
    Result<StepReport> y = b.step(step);
    ASSERT_TRUE(x.ok() && y.ok());
    EXPECT_NEAR(x->loss, y->loss, 1e-5);
    EXPECT_NEAR(x->grad_norm, y->grad_norm, 1e-4);
  }
}

TEST_F(TrainerTest, LossesOfEachKindAreTrained) {
  for (Loss loss : {Loss::cross_entropy, Loss::focal, Loss::mse}) {
    if (suite() == "quick" && loss != Loss::focal) continue;
    TrainOptions options = toy_options();
    options.steps = 60;
    options.model.loss = loss;
    ToyRun run(options, fresh_path("loss"), true);
    Trainer trainer = run.trainer();
    const double first = trainer.evaluate()->loss;
    ASSERT_TRUE(trainer.run().ok());
    EXPECT_LT(trainer.evaluate()->loss, 0.8 * first) << static_cast<int>(loss);
  }
}

TEST_F(TrainerTest, EveryOptimizerAndPositionTrains) {
  for (const char* optimizer : {"adam", "adamw", "sgd"}) {
    for (Positions positions : {Positions::rotary, Positions::none, Positions::sinusoidal}) {
      const bool chosen = positions == Positions::rotary && optimizer == std::string_view("sgd");
      if (suite() == "quick" && !chosen) continue;
      TrainOptions options = toy_options();
      options.steps = 60;
      options.optimizer = optimizer;
      options.model.positions = positions;
      if (options.optimizer == "sgd") options.lr = 0.3;
      ToyRun run(options, fresh_path("optimizer"), true);
      Trainer trainer = run.trainer();
      const double first = trainer.evaluate()->loss;
      ASSERT_TRUE(trainer.run().ok());
      EXPECT_LT(trainer.evaluate()->loss, 0.8 * first) << optimizer;
    }
  }
}

TEST_F(TrainerTest, OneProcessAtATime) {
  const std::string path = fresh_path("locked");
  ToyRun run(toy_options(), path, true);
  ASSERT_TRUE(run.folder.lock().ok());
  std::ofstream(path + "/config.json") << "{}";
  Result<RunFolder> other = RunFolder::open(path);
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(render(other->lock().diagnostics()), HasSubstr("another process is training"));
}

}  // namespace
}  // namespace weft::train
