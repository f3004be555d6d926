// The order of an epoch, and the file that holds its examples.
// SPDX-License-Identifier: Apache-2.0
#include "driver/data/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "driver/data/examples.h"
#include "driver/data/random.h"
#include "ir/support/file.h"
#include "tests/support/scratch.h"

namespace weft::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Lengths lengths_of(uint32_t example) {
  Random random(7, 0, 0, example);
  uint32_t target = 4 + 4 * static_cast<uint32_t>(random.below(10));
  return {target + 4 * static_cast<uint32_t>(random.below(3)), target};
}

Order order(const OrderOptions& options, int64_t epoch, int64_t count = 5000) {
  return order_by_length(count, lengths_of, options, epoch);
}

OrderOptions by_tokens(int64_t max_tokens) { return {.max_tokens = max_tokens, .multiple = 4}; }

TEST(Order, HasEveryExampleOnce) {
  for (bool shuffled : {true, false}) {
    OrderOptions options = by_tokens(500);
    options.shuffled = shuffled;
    Order made = order(options, 3);
    std::vector<uint32_t> seen;
    for (const PlannedBatch& batch : made.batches) {
      auto first = made.examples.begin() + batch.first;
      seen.insert(seen.end(), first, first + batch.count);
    }
    std::sort(seen.begin(), seen.end());
    std::vector<uint32_t> all(5000);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
  }
}

TEST(Order, KeepsToTheLimits) {
  for (OrderOptions options : {by_tokens(500), by_tokens(60), OrderOptions{.batch = 17}}) {
    for (const PlannedBatch& batch : order(options, 0).batches) {
      int64_t width = std::max(batch.lengths.source, batch.lengths.target);
      EXPECT_TRUE(options.max_tokens == 0 || batch.count * width <= options.max_tokens);
      EXPECT_TRUE(options.batch == 0 || batch.count <= options.batch);
      EXPECT_GE(batch.count, 1u);
    }
  }
}

TEST(Order, OneThatIsTooLongGetsABatchOfItsOwn) {
  for (const PlannedBatch& batch : order(by_tokens(1), 0).batches) EXPECT_EQ(batch.count, 1u);
}

TEST(Order, WastesLittleOnPadding) {
  Order made = order(by_tokens(1000), 0);
  int64_t used = 0;
  int64_t padded = 0;
  for (const PlannedBatch& batch : made.batches) {
    padded += int64_t{batch.count} * (batch.lengths.source + batch.lengths.target);
    for (uint32_t i = 0; i < batch.count; ++i) {
      Lengths lengths = lengths_of(made.examples[batch.first + i]);
      used += lengths.source + lengths.target;
    }
  }
  EXPECT_GT(static_cast<double>(used), 0.97 * static_cast<double>(padded));
}

TEST(Order, IsAFunctionOfSeedAndEpoch) {
  OrderOptions options = by_tokens(500);
  EXPECT_EQ(order(options, 1).examples, order(options, 1).examples);
  EXPECT_NE(order(options, 1).examples, order(options, 2).examples);
  OrderOptions other = options;
  other.seed = 2;
  EXPECT_NE(order(options, 1).examples, order(other, 1).examples);
  options.shuffled = other.shuffled = false;
  EXPECT_EQ(order(options, 1).examples, order(other, 2).examples);
}

TEST(Order, ShufflesWhatHasNoLengths) {
  auto none = [](uint32_t) { return Lengths(); };
  Order made = order_by_length(100, none, {.batch = 30}, 0);
  EXPECT_EQ(made.batches.size(), 4u);
  EXPECT_FALSE(std::is_sorted(made.examples.begin(), made.examples.end()));
}

TEST(Random, IsTheSameOnEveryMachine) {
  Random random(1, 2, 3, 4);
  EXPECT_EQ(random.word(), 4273180448u);  // by another Philox
  EXPECT_EQ(random.below(1000), 929u);
}

// [[1, 2, 3], []], [[4], [5, 6]]
Result<Examples> two_examples(const std::string& path, Element element) {
  WEFT_TRY(ExampleWriter writer, ExampleWriter::create(path, 2, element));
  std::vector<std::vector<int32_t>> fields = {{1, 2, 3}, {}, {4}, {5, 6}};
  for (const std::vector<int32_t>& field : fields) {
    WEFT_TRY_STATUS(writer.append(std::span<const int32_t>(field)));
    WEFT_TRY_STATUS(writer.end_field());
  }
  return writer.finish();
}

void expect_two(const Examples& examples) {
  EXPECT_EQ(examples.count(), 2);
  EXPECT_EQ(examples.length(0, 0), 3);
  EXPECT_EQ(examples.length(0, 1), 0);
  EXPECT_EQ(examples.length(1, 1), 2);
  std::vector<int32_t> ids(2);
  EXPECT_TRUE(examples.read(0, 0, 1, ids, 7).ok());
  EXPECT_THAT(ids, ElementsAre(2, 3));
  EXPECT_TRUE(examples.read(1, 1, 0, ids, 7).ok());
  EXPECT_THAT(ids, ElementsAre(5, 6));
  EXPECT_FALSE(examples.read(1, 1, 0, ids, 6).ok());  // beyond the vocabulary
  EXPECT_FALSE(examples.read(1, 1, 1, ids, 7).ok());  // beyond the field
}

TEST(ExampleFile, IsReadBack) {
  for (Element element : {Element::u16, Element::u32}) {
    std::string path = scratch("two.tokens");
    Result<Examples> written = two_examples(path, element);
    ASSERT_TRUE(written.ok()) << render(written.diagnostics());
    expect_two(*written);
    Result<Examples> read = Examples::open(path);
    ASSERT_TRUE(read.ok());
    expect_two(*read);
  }
}

TEST(ExampleFile, WithoutAPathLeavesNothingBehind) {
  std::filesystem::path folder = testing::TempDir();
  auto count = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  auto before = count();
  {
    Result<Examples> examples = two_examples("", Element::u16);
    ASSERT_TRUE(examples.ok());
    expect_two(*examples);
  }
  EXPECT_EQ(count(), before);
  // Nor does one that is never finished.
  { ASSERT_TRUE(ExampleWriter::create(scratch("never.tokens"), 1, Element::u16).ok()); }
  EXPECT_EQ(count(), before);
}

TEST(ExampleFile, AnyDamageToHeadOrIndexIsMet) {
  std::string path = scratch("damage.tokens");
  ASSERT_TRUE(two_examples(path, Element::u16).ok());
  Result<std::string> whole = read_file(path, 1 << 20);
  ASSERT_TRUE(whole.ok());
  for (size_t size = 0; size < whole->size(); ++size) {
    EXPECT_FALSE(Examples::open(write_scratch("cut.tokens", whole->substr(0, size))).ok());
  }
  for (size_t at = 0; at < whole->size(); ++at) {
    for (int bit : {0, 3, 7}) {
      std::string changed = *whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      Result<Examples> read = Examples::open(write_scratch("changed.tokens", changed));
      if (!read.ok()) continue;
      std::vector<int32_t> ids;
      for (int64_t i = 0; i < read->count() * read->fields(); ++i) {
        ids.resize(static_cast<size_t>(read->length(i / read->fields(), i % read->fields())));
        (void)read->read(i / read->fields(), i % read->fields(), 0, ids, 7).ok();
      }
    }
  }
}

TEST(ExampleFile, AFolderThatIsNotThereIsToldByName) {
  Result<Examples> written = two_examples(scratch("none/such/file"), Element::u16);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(render(written.diagnostics()), HasSubstr("none/such/file: error: cannot write"));
}

}  // namespace
}  // namespace weft::data
