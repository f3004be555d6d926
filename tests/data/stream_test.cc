// Streams: the order of batches, places, errors of the thread that prepares them.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "driver/data/batch_maker.h"

namespace weft::data {
namespace {

using testing::HasSubstr;

// Epoch e has e + 1 batches; each holds 100 e + its number.
class Numbers final : public BatchMaker {
 public:
  explicit Numbers(int64_t fails_at = -1, bool throws = false, std::atomic<int>* made = nullptr)
      : fails_at_(fails_at), throws_(throws), made_(made) {}

  Result<int64_t> begin_epoch(int64_t epoch) override {
    epoch_ = epoch;
    return epoch + 1;
  }
  Status make(int64_t index, Batch& batch) override {
    int64_t number = 100 * epoch_ + index;
    if (number == fails_at_ && throws_) throw std::bad_alloc();
    if (number == fails_at_) return error({}, "number ", number, " is broken");
    ids_of(batch, "x", {2})[1] = static_cast<int32_t>(number);
    if (made_ != nullptr) ++*made_;
    return ok();
  }

 private:
  int64_t fails_at_;
  bool throws_;
  std::atomic<int>* made_;
  int64_t epoch_ = -1;
};

constexpr int kEnd = -1;
constexpr int kFailed = -2;

int number_of(Result<const Batch*> batch) {
  if (!batch.ok()) return kFailed;
  if (*batch == nullptr) return kEnd;
  const BatchInput& input = (*batch)->inputs.at("x");
  EXPECT_EQ(input.shape, std::vector<int64_t>{2});
  return reinterpret_cast<const int32_t*>(input.bytes.data())[1];
}

TEST(Stream, GivesEpochsOneAfterTheOther) {
  auto stream = make_stream(std::make_unique<Numbers>());
  EXPECT_EQ(stream->position(), Position());
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (int i = 0; i <= epoch; ++i) {
      EXPECT_EQ(stream->position(), (Position{epoch, i}));
      ASSERT_EQ(number_of(stream->next()), 100 * epoch + i);
    }
    EXPECT_EQ(stream->position(), (Position{epoch, epoch + 1}));
    ASSERT_EQ(number_of(stream->next()), kEnd);
  }
  EXPECT_EQ(stream->position(), (Position{20, 0}));
}

TEST(Stream, GoesOnFromAnyPlace) {
  auto stream = make_stream(std::make_unique<Numbers>());
  for (int64_t epoch : {3, 0, 7, 7, 1}) {
    for (int64_t batch = 0; batch <= epoch + 1; ++batch) {
      ASSERT_TRUE(stream->seek({epoch, batch}).ok());
      EXPECT_EQ(stream->position(), (Position{epoch, batch}));
      int64_t expected = batch == epoch + 1 ? kEnd : 100 * epoch + batch;
      EXPECT_EQ(number_of(stream->next()), expected);
    }
  }
  EXPECT_FALSE(stream->seek({2, 4}).ok());
  EXPECT_FALSE(stream->seek({-1, 0}).ok());
  EXPECT_FALSE(stream->seek({0, -1}).ok());
}

TEST(Stream, ABatchStaysWhileTheNextArePrepared) {
  std::atomic<int> made = 0;
  auto stream = make_stream(std::make_unique<Numbers>(-1, false, &made));
  ASSERT_TRUE(stream->seek({50, 0}).ok());
  Result<const Batch*> batch = stream->next();
  for (int i = 0; i < 200 && made < 1 + kBatchesAhead; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(made, 1 + kBatchesAhead);  // it works ahead, and stops when there is no room
  EXPECT_EQ(number_of(batch), 5000);
}

TEST(Stream, ErrorsComeOutInTheirPlace) {
  for (bool throws : {false, true}) {
    auto stream = make_stream(std::make_unique<Numbers>(301, throws));
    ASSERT_TRUE(stream->seek({2, 2}).ok());
    EXPECT_EQ(number_of(stream->next()), 202);
    EXPECT_EQ(number_of(stream->next()), kEnd);
    EXPECT_EQ(number_of(stream->next()), 300);
    for (int i = 0; i < 2; ++i) {
      Result<const Batch*> failed = stream->next();
      ASSERT_FALSE(failed.ok());
      EXPECT_THAT(render(failed.diagnostics()),
                  HasSubstr(throws ? "does not fit into memory" : "number 301 is broken"));
    }
    EXPECT_EQ(stream->position(), (Position{3, 1}));
    ASSERT_TRUE(stream->seek({3, 2}).ok());
    EXPECT_EQ(number_of(stream->next()), 302);
  }
}

TEST(Stream, EndsAtAnyMoment) {
  for (int taken = 0; taken < 30; ++taken) {
    auto stream = make_stream(std::make_unique<Numbers>());
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(stream->next().ok());
  }
}

}  // namespace
}  // namespace weft::data
