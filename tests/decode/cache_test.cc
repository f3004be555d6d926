// Decoding with caches gives what the whole graph gives at each step.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "ir/oracle/compare.h"
#include "tests/decode/small_model.h"
#include "tests/support/must_parse.h"
#include "tests/support/suite.h"

namespace weft::decode {
namespace {

void expect_close(std::span<const float> got, const std::vector<double>& expected,
                  const std::string& what) {
  Tensor a = Tensor::zeros(DType::f32, {static_cast<int64_t>(expected.size())});
  Tensor b = a;
  a.reals = expected;
  b.reals.assign(got.begin(), got.end());
  std::optional<Difference> difference = compare(a, b, tolerance(RunBy::device, DType::f32));
  EXPECT_FALSE(difference) << what << ": " << difference->str();
}

double log_sum(const std::vector<double>& logits) {
  double sum = 0;
  for (double logit : logits) sum += std::exp(logit);
  return std::log(sum);
}

// Two sources of different lengths with two beams each: every row is its own text.
void check_translator(const train::TrainOptions& options, const std::string& device) {
  std::unique_ptr<DecodeModel> model = must_make(options, device);
  ASSERT_NE(model, nullptr);
  const std::vector<Ids> sources = {random_ids(5, 24, 1), random_ids(3, 24, 2)};
  Decoder decoder(*model);
  ASSERT_TRUE(decoder.begin(sources, 2, 6).ok());
  std::vector<Ids> texts(4);
  for (int64_t step = 0; step < 6; ++step) {
    Ids next;
    for (uint64_t row = 0; row < 4; ++row) {
      texts[row].push_back(
          step == 0 ? data::kBegin : random_ids(1, 24, 10 * row + static_cast<uint64_t>(step))[0]);
      next.push_back(texts[row].back());
    }
    Status status = decoder.step(next);
    ASSERT_TRUE(status.ok()) << render(status.diagnostics());
    for (size_t row = 0; row < 4; ++row) {
      const std::vector<double> expected = whole_forward(options, &sources[row / 2], texts[row]);
      expect_close(decoder.logits(static_cast<int64_t>(row)), expected,
                   cat(device, " step ", step, " row ", row));
      EXPECT_NEAR(decoder.lse(static_cast<int64_t>(row)), log_sum(expected), 1e-5);
    }
  }
}

TEST(Cache, EqualsTheWholeForward) {
  for (const char* device : {"cpu", "oracle"}) {
    check_translator(small_translator(), device);
    for (Positions positions : {Positions::learned, Positions::rotary, Positions::none}) {
      if (suite() == "quick") break;
      train::TrainOptions options = small_translator();
      options.model.positions = positions;
      options.model.norm = positions == Positions::rotary ? Norm::pre : Norm::post;
      options.model.tied = positions != Positions::none;
      check_translator(options, device);
    }
  }
}

TEST(Cache, EqualsTheWholeForwardAfterAPrompt) {
  for (const char* device : {"cpu", "oracle"}) {
    for (Positions positions : {Positions::learned, Positions::rotary}) {
      train::TrainOptions options = small_language_model();
      options.model.positions = positions;
      std::unique_ptr<DecodeModel> model = must_make(options, device);
      ASSERT_NE(model, nullptr);
      Ids text = random_ids(4, 17, 3);
      Decoder decoder(*model);
      Status status = decoder.begin_prompt(text, 1, 1, 9);
      ASSERT_TRUE(status.ok()) << render(status.diagnostics());
      for (uint64_t step = 0;; ++step) {
        expect_close(decoder.logits(0), whole_forward(options, nullptr, text),
                     cat(device, " step ", step));
        if (step == 5) break;
        text.push_back(random_ids(1, 17, 20 + step)[0]);
        ASSERT_TRUE(decoder.step({&text.back(), 1}).ok());
      }
      EXPECT_FALSE(decoder.step({&text.back(), 1}).ok()) << "there is no room for more";
    }
  }
}

// A bias for each pair of positions, a slope for each head times the distance, and a mask that
// hides every third key: both are made anew for the one query of a step.
TEST(Cache, FollowsABiasOfPairs) {
  const Module module = test::must_parse(R"(
    module "alibi" {
      dim T in 1..12
      param @table: f32[17, 8] = normal(1.0)
      param @slope: f32[2, 1, 1] = normal(0.5)
      graph @forward(%tokens: i32[B, T]) -> (logits) {
        %x = gather @table, %tokens
        %r = reshape %x {shape = [B, T, 2, 4]}
        %h = transpose %r {perm = [0, 2, 1, 3]}
        %i = iota {shape = [T, 1], axis = 0, dtype = f32}
        %j = iota {shape = [T], dtype = f32}
        %d = sub %j, %i
        %b = mul @slope, %d
        %k = iota {shape = [1, T], axis = 1}
        %third = mod %k, 3
        %keep = ne %third, 2
        %a, %lse = attention %h, %h, %h, %b, %keep {scale = 0.5, after = 0}
        %t = transpose %a {perm = [0, 2, 1, 3]}
        %y = reshape %t {shape = [B, T, 8]}
        %w = transpose @table {perm = [1, 0]}
        %logits = matmul %y, %w
        return %logits
      }
    })");
  for (const char* device : {"cpu", "oracle"}) {
    std::unique_ptr<DecodeModel> model = must_make_of(module, 17, device);
    ASSERT_NE(model, nullptr);
    Ids text = random_ids(3, 17, 3);
    Decoder decoder(*model);
    ASSERT_TRUE(decoder.begin_prompt(text, 1, 1, 9).ok());
    for (uint64_t step = 0; step < 5; ++step) {
      expect_close(decoder.logits(0), whole_forward(module, 17, nullptr, text),
                   cat(device, " step ", step));
      text.push_back(random_ids(1, 17, 20 + step)[0]);
      ASSERT_TRUE(decoder.step({&text.back(), 1}).ok());
    }
  }
}

// Hypotheses that change rows, and sentences that leave, keep their texts.
TEST(Cache, FollowsRows) {
  for (const char* device : {"cpu", "oracle"}) {
    const train::TrainOptions options = small_translator();
    std::unique_ptr<DecodeModel> model = must_make(options, device);
    ASSERT_NE(model, nullptr);
    const std::vector<Ids> sources = {random_ids(4, 24, 1), random_ids(6, 24, 2),
                                      random_ids(2, 24, 3)};
    Decoder decoder(*model);
    ASSERT_TRUE(decoder.begin(sources, 2, 8).ok());
    ASSERT_TRUE(decoder.step(Ids(6, data::kBegin)).ok());
    const Ids second = {5, 6, 7, 8, 9, 10};
    ASSERT_TRUE(decoder.step(second).ok());
    const std::vector<RowCopy> copies = {{0, 1}, {5, 4}};
    ASSERT_TRUE(decoder.copy_rows(copies).ok());
    const std::vector<int64_t> stay = {0, 2};
    Result<std::vector<int64_t>> order = decoder.keep(stay);
    ASSERT_TRUE(order.ok());
    EXPECT_EQ(*order, (std::vector<int64_t>{0, 2}));
    const Ids third = {11, 12, 13, 14};
    ASSERT_TRUE(decoder.step(third).ok());
    const std::vector<Ids> texts = {{data::kBegin, 5, 11},
                                    {data::kBegin, 5, 12},
                                    {data::kBegin, 10, 13},
                                    {data::kBegin, 10, 14}};
    for (size_t row = 0; row < 4; ++row) {
      expect_close(decoder.logits(static_cast<int64_t>(row)),
                   whole_forward(options, &sources[row < 2 ? 0 : 2], texts[row]),
                   cat(device, " row ", row));
    }
  }
}

}  // namespace
}  // namespace weft::decode
