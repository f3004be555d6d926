// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/train_overhead.h"

#include <atomic>
#include <chrono>

#include "driver/data/random.h"
#include "driver/train/session.h"
#include "ir/support/file.h"
#include "passes/train_step.h"

namespace weft {
namespace {

constexpr int64_t kWords = 6000;
constexpr size_t kFewest = 5;
constexpr int64_t kNever = int64_t{1} << 40;

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(time).count();
}

// Sentences of 5 to 25 words, of which the first of the vocabulary are the most frequent.
std::string made_up_text(uint64_t seed, int64_t lines) {
  data::Random random(seed, 0, 1);
  auto word = [&] {
    constexpr std::string_view kConsonants = "bdfgklmnprstvz";
    constexpr std::string_view kVowels = "aeiou";
    uint64_t number = random.below(1 + random.below(kWords));
    std::string text;
    for (int i = 0; i < 3; ++i, number /= kConsonants.size() * kVowels.size()) {
      text += kConsonants[number % kConsonants.size()];
      text += kVowels[number / kConsonants.size() % kVowels.size()];
    }
    return text;
  };
  std::string text;
  for (int64_t line = 0; line < lines; ++line) {
    for (uint64_t left = 5 + random.below(21); left > 0; --left) text += word() + " ";
    text.back() = '\n';
  }
  return text;
}

// Hands on the batches of a stream, and keeps those of the turn.
class KeptBatches : public data::BatchStream {
 public:
  explicit KeptBatches(data::BatchStream& from) : from_(from) {}

  Result<const data::Batch*> next() override {
    WEFT_TRY(const data::Batch* batch, from_.next());
    if (batch != nullptr) kept.push_back(*batch);
    return batch;
  }
  data::Position position() const override { return from_.position(); }
  Status seek(data::Position position) override { return from_.seek(position); }

  std::vector<data::Batch> kept;

 private:
  data::BatchStream& from_;
};

// Another device, with a clock.
class TimedDevice : public train::TrainDevice {
 public:
  explicit TimedDevice(train::TrainDevice& device) : device_(device) {}

  Status run(const std::string& graph, const train::HostTensors& first,
             const train::HostTensors& second, const DimBinding& dims,
             train::HostTensors& outputs) override {
    const double start = now();
    Status status = device_.run(graph, first, second, dims, outputs);
    run_ms += now() - start;
    return status;
  }
  Result<std::span<const std::byte>> storage(const std::string& name) override {
    return device_.storage(name);
  }
  Status set_storage(const std::string& name, std::span<const std::byte> bytes) override {
    return device_.set_storage(name, bytes);
  }
  Status resize_storage(const std::string& name, const std::vector<int64_t>& shape) override {
    return device_.resize_storage(name, shape);
  }
  Status copy_within_storage(const std::string& name,
                             std::span<const StorageCopy> copies) override {
    return device_.copy_within_storage(name, copies);
  }
  train::DeviceMemory memory() const override { return device_.memory(); }
  Result<int64_t> arena_bytes(const std::string& graph, const DimBinding& dims) override {
    return device_.arena_bytes(graph, dims);
  }
  int threads() const override { return device_.threads(); }
  void parallel(int64_t count, const std::function<void(int64_t, int64_t)>& work) override {
    device_.parallel(count, work);
  }

  double run_ms = 0;  // so far

 private:
  train::TrainDevice& device_;
};

// The mean time of a batch where nobody trains meanwhile.
Result<double> time_of_batch(data::BatchStream& batches) {
  constexpr int kAhead = 16;  // more than are made ahead
  constexpr int kCounted = 64;
  double start = 0;
  for (int i = 0; i < kAhead + kCounted; ++i) {
    if (i == kAhead) start = now();
    WEFT_TRY([[maybe_unused]] const data::Batch* batch, batches.next());
  }
  return (now() - start) / kCounted;
}

train::HostTensors step_numbers() {
  train::HostTensors numbers;
  numbers["lr"] = {DType::f32, {}, std::vector<std::byte>(4)};  // 0: the weights stay
  numbers["rng"] = {DType::u32, {2}, std::vector<std::byte>(8)};
  return numbers;
}

// Turns of a run: this is called after each of its steps.
class Turns {
 public:
  Turns(const BenchRequest& request, TimedDevice& device, KeptBatches& batches,
        TrainOverhead& result)
      : request_(request), device_(device), batches_(batches), result_(result) {}

  std::atomic<bool> stop = false;
  Status status = ok();

  void after_step() {
    if (static_cast<int64_t>(batches_.kept.size()) < result_.steps_a_turn) return;
    const auto steps = static_cast<double>(batches_.kept.size());
    const double run = (now() - start_) / steps;
    const double outside = run - (device_.run_ms - run_start_) / steps;
    const double begin = now();
    for (const data::Batch& batch : batches_.kept) {
      status = device_.run(kTrainStep, batch.inputs, numbers_, batch.dims, outputs_);
      if (!status.ok()) break;
    }
    // The first turn warms up.
    if (turns_++ > 0) {
      result_.step_ms.push_back(run);
      result_.bare_ms.push_back((now() - begin) / steps);
      result_.outside_ms.push_back(outside);
    }
    const size_t done = result_.step_ms.size();
    const bool over = now() - first_ > 1e3 * request_.budget_seconds;
    stop = !status.ok() || (done >= kFewest && over);
    batches_.kept.clear();
    run_start_ = device_.run_ms;
    start_ = now();
  }

 private:
  const BenchRequest& request_;
  TimedDevice& device_;
  KeptBatches& batches_;
  TrainOverhead& result_;
  train::HostTensors numbers_ = step_numbers();
  train::HostTensors outputs_;
  int64_t turns_ = 0;
  double first_ = now();
  double start_ = now();
  double run_start_ = 0;
};

Result<TrainOverhead> measure_run(const std::string& name, train::TrainOptions options,
                                  int64_t steps_a_turn, const BenchRequest& request,
                                  const std::string& path) {
  TrainOverhead result;
  result.name = name;
  result.steps_a_turn = steps_a_turn;
  options.steps = options.eval_every = options.save_every = kNever;
  const double start = now();
  WEFT_TRY(train::RunFolder folder, train::RunFolder::create(path));
  WEFT_TRY(std::unique_ptr<train::Session> run,
           train::open_session(std::move(options), path,
                               {"cpu", request.target_cpu, request.threads, request.seed}));
  result.compile_ms = now() - start;
  result.threads = run->device->threads();
  KeptBatches batches(*run->train);
  TimedDevice device(*run->device);
  Turns turns(request, device, batches, result);
  train::TrainHooks hooks;
  hooks.on_step = [&](const train::StepReport&) { turns.after_step(); };
  hooks.stop = &turns.stop;
  train::Trainer trainer(run->options, run->module, device, batches, *run->valid, folder,
                         std::move(hooks));
  WEFT_TRY([[maybe_unused]] train::Ending ending, trainer.run());
  WEFT_TRY_STATUS(std::move(turns.status));
  WEFT_TRY(result.batch_ms, time_of_batch(*run->train));
  result.extra_mb = static_cast<double>(run->device->memory().arena) / 1048576;
  return result;
}

}  // namespace

std::vector<double> TrainOverhead::ratios() const {
  std::vector<double> result;
  for (size_t i = 0; i < step_ms.size(); ++i) result.push_back(step_ms[i] / bare_ms[i]);
  return result;
}

Result<std::vector<TrainOverhead>> measure_train_overhead(const BenchRequest& request,
                                                          const std::string& folder) {
  const std::string text = folder + "/text";
  const std::string other = folder + "/other";
  WEFT_TRY_STATUS(write_file(text, made_up_text(request.seed, 6000)));
  WEFT_TRY_STATUS(write_file(other, made_up_text(request.seed + 1, 6000)));
  WEFT_TRY(train::TrainOptions gpt, train::default_options("gpt-char"));
  gpt.task.train.text = text;
  WEFT_TRY(train::TrainOptions tiny, train::default_options("transformer-tiny"));
  tiny.task.train.source = text;
  tiny.task.train.target = other;
  std::vector<TrainOverhead> results(2);
  WEFT_TRY(results[0],
           measure_run("train_overhead_gpt", std::move(gpt), 8, request, folder + "/gpt"));
  WEFT_TRY(results[1],
           measure_run("train_overhead_tiny", std::move(tiny), 2, request, folder + "/tiny"));
  return results;
}

}  // namespace weft
