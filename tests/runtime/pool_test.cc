// The pool: every program once, in ascending order on each thread, whatever the number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/mutate.h"

namespace weft {
namespace {

TEST(Pool, RunsEachProgramOnce) {
  for (int threads : {1, 2, 3, 8}) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 7, 100, 12345}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      // Each thread walks its own part first, then those of the ones after it, each ascending.
      std::vector<std::pair<int64_t, int64_t>> last(static_cast<size_t>(threads), {-1, -1});
      std::atomic<bool> fair = true;
      auto part_of = [&](int64_t program) {
        const int64_t each = count / threads;
        const int64_t longer = count % threads;  // parts with one more
        const int64_t first = longer * (each + 1);
        return program < first ? program / (each + 1) : longer + (program - first) / each;
      };
      pool.parallel(count, [&](int64_t begin, int64_t end, int thread) {
        std::pair<int64_t, int64_t>& before = last[static_cast<size_t>(thread)];
        const std::pair here{(part_of(begin) - thread + threads) % threads, begin};
        const bool alone = count == 1 || threads == 1;  // the caller does it all
        if ((!alone && here <= before) || begin >= end) fair = false;
        if (!alone && part_of(begin) != part_of(end - 1)) fair = false;
        before = here;
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      EXPECT_TRUE(fair);
      for (const auto& times : seen) ASSERT_EQ(times, 1);
    }
  }
}

TEST(Pool, RunsEachProgramOfEachJobOnce) {
  for (int threads : {1, 2, 3}) {
    Pool pool(threads);
    const std::vector<int64_t> counts = {1, 0, 100, 7, 12345};
    std::vector<std::vector<std::atomic<int>>> seen;
    for (int64_t count : counts) seen.emplace_back(static_cast<size_t>(count));
    pool.parallel(std::span(counts), [&](size_t job, int64_t begin, int64_t end, int thread) {
      EXPECT_LT(thread, threads);
      for (int64_t i = begin; i < end; ++i) ++seen[job][static_cast<size_t>(i)];
    });
    for (const auto& job : seen) {
      for (const auto& times : job) ASSERT_EQ(times, 1);
    }
  }
}

TEST(Pool, ManyLaunchesWithPausesBetween) {
  Pool pool(2);
  int64_t sum = 0;
  for (int i = 0; i < suite_count(5000); ++i) {
    std::atomic<int64_t> part = 0;
    pool.parallel(16, [&](int64_t begin, int64_t end, int) { part += end - begin; });
    sum += part;
    // Long enough for the workers to fall asleep.
    if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(sum, int64_t{16} * suite_count(5000));
}

TEST(Pool, ThreadsTakeTurns) {
  Pool pool(3);
  std::vector<std::thread> users;
  std::atomic<int64_t> sum = 0;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        int64_t part[3] = {};  // by thread: not shared by two at a time
        pool.parallel(50,
                      [&](int64_t begin, int64_t end, int thread) { part[thread] += end - begin; });
        sum += part[0] + part[1] + part[2];
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(sum, 4 * 200 * 50);
}

TEST(PoolDeathTest, ALaunchDoesNotLaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Pool pool(2);
  EXPECT_EXIT(pool.parallel(8, [&](int64_t, int64_t,
                                   int) { pool.parallel(1, [](int64_t, int64_t, int) {}); }),
              testing::ExitedWithCode(3), "a launch does not launch");
}

TEST(Pool, NumbersOfThreads) {
  EXPECT_GE(thread_count(0).value(), 1);
  EXPECT_EQ(thread_count(5).value(), 5);
  EXPECT_FALSE(thread_count(-1).ok());
  EXPECT_FALSE(thread_count(kMaxThreads + 1).ok());
}

}  // namespace
}  // namespace weft
