// A stream whose batches are prepared on a thread of its own.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <thread>

#include "driver/data/batch_maker.h"

namespace weft::data {
namespace {

// What the thread hands over: a batch, the end of an epoch, or what went wrong.
struct Slot {
  Batch batch;
  bool end = false;
  Diagnostics failure;
  Position after;  // where the stream stands once this was taken
};

// The slots are a ring. The thread fills slot `filled % size`; the reader holds the slot before
// `taken % size` until its next call. Counters are under the mutex, slots belong to one side.
class ThreadedStream final : public BatchStream {
 public:
  explicit ThreadedStream(std::unique_ptr<BatchMaker> maker) : maker_(std::move(maker)) {}
  ~ThreadedStream() override { stop(); }
  ThreadedStream(const ThreadedStream&) = delete;
  ThreadedStream& operator=(const ThreadedStream&) = delete;

  Result<const Batch*> next() override {
    if (!failure_.empty()) return Error(failure_);
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    if (taken_ > released_) ++released_;  // the batch that was given last
    changed_.notify_all();
    changed_.wait(lock, [&] { return filled_ > taken_; });
    Slot& slot = slots_[taken_++ % slots_.size()];
    lock.unlock();
    if (!slot.failure.empty()) {
      failure_ = slot.failure;
      return Error(failure_);
    }
    position_ = slot.after;
    return slot.end ? nullptr : &slot.batch;
  }

  Position position() const override { return position_; }

  Status seek(Position position) override {
    stop();
    failure_.clear();
    if (position.epoch < 0 || position.batch < 0) {
      return error({}, "the data has no epoch ", position.epoch, ", batch ", position.batch);
    }
    WEFT_TRY_STATUS(order(position.epoch));
    if (position.batch > count_) {
      return error({}, "the data has no batch ", position.batch, " in epoch ", position.epoch,
                   ": there are ", count_);
    }
    position_ = position;
    return ok();
  }

 private:
  Status order(int64_t epoch) {
    if (ordered_ == epoch) return ok();
    ordered_ = -1;
    WEFT_TRY(count_, maker_->begin_epoch(epoch));
    WEFT_CHECK(count_ > 0, "an epoch has at least one batch");
    ordered_ = epoch;
    return ok();
  }

  // The thread inherits a mask without signals: they are for the threads of the program.
  void start() {
    filled_ = taken_ = released_ = 0;
    stopping_ = false;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this, at = position_] { work(at); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    thread_ = {};
  }

  void work(Position at) {
    for (bool going = true; going;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || filled_ < released_ + slots_.size(); });
        if (stopping_) return;
      }
      Slot& slot = slots_[filled_ % slots_.size()];  // only this thread changes filled_
      slot.failure.clear();
      Status filled = fill(slot, at);
      if (!filled.ok()) slot.failure = filled.diagnostics();
      going = filled.ok();
      at = slot.after;
      {
        std::lock_guard lock(mutex_);
        ++filled_;
      }
      changed_.notify_all();
    }
  }

  Status fill(Slot& slot, Position at) {
    try {
      WEFT_TRY_STATUS(order(at.epoch));
      slot.end = at.batch >= count_;
      slot.after = slot.end ? Position{at.epoch + 1, 0} : Position{at.epoch, at.batch + 1};
      return slot.end ? ok() : maker_->make(at.batch, slot.batch);
    } catch (const std::bad_alloc&) {
      return error({}, "a batch of data does not fit into memory")
          .hint("make it smaller: --batch or --max-tokens");
    }
  }

  std::unique_ptr<BatchMaker> maker_;  // the thread's while there is one
  int64_t ordered_ = -1;               // epoch that maker_ has in order
  int64_t count_ = 0;                  // of its batches

  Position position_;
  Diagnostics failure_;

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, kBatchesAhead + 1> slots_;
  uint64_t filled_ = 0;
  uint64_t taken_ = 0;
  uint64_t released_ = 0;
  bool stopping_ = false;
};

template <class T>
std::span<T> input_of(Batch& batch, const std::string& name, DType dtype,
                      std::vector<int64_t> shape) {
  BatchInput& input = batch.inputs[name];
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  input.dtype = dtype;
  input.shape = std::move(shape);
  input.bytes.resize(count * sizeof(T));
  return {reinterpret_cast<T*>(input.bytes.data()), count};
}

}  // namespace

std::span<int32_t> ids_of(Batch& batch, const std::string& name, std::vector<int64_t> shape) {
  return input_of<int32_t>(batch, name, DType::i32, std::move(shape));
}

std::span<float> floats_of(Batch& batch, const std::string& name, std::vector<int64_t> shape) {
  return input_of<float>(batch, name, DType::f32, std::move(shape));
}

std::unique_ptr<BatchStream> make_stream(std::unique_ptr<BatchMaker> maker) {
  return std::make_unique<ThreadedStream>(std::move(maker));
}

}  // namespace weft::data
