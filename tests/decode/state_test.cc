// State whose first axis is rows: it grows, shrinks, and rows are copied within it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "tests/decode/small_model.h"

namespace weft::decode {
namespace {

constexpr const char* kState = "cache.layers.0.attn.k";  // f32[B*W, 2, C, 8]

std::vector<float> values_of(train::TrainDevice& device) {
  Result<std::span<const std::byte>> bytes = device.storage(kState);
  EXPECT_TRUE(bytes.ok());
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

TEST(State, KeepsRowsAsItGrowsAndShrinks) {
  for (const char* name : {"cpu", "oracle"}) {
    std::unique_ptr<DecodeModel> model = must_make(small_language_model(), name);
    ASSERT_NE(model, nullptr);
    train::TrainDevice& device = *model->device;
    constexpr int64_t kRow = 2 * 3 * 8;
    ASSERT_TRUE(device.resize_storage(kState, {2, 2, 3, 8}).ok());
    EXPECT_EQ(values_of(device), std::vector<float>(2 * kRow, 0.0F));
    std::vector<float> given(2 * kRow);
    for (size_t i = 0; i < given.size(); ++i) given[i] = static_cast<float>(i);
    ASSERT_TRUE(device.set_storage(kState, std::as_bytes(std::span(given))).ok());

    ASSERT_TRUE(device.resize_storage(kState, {50, 2, 3, 8}).ok());
    std::vector<float> grown = values_of(device);
    ASSERT_EQ(grown.size(), 50U * kRow);
    EXPECT_TRUE(std::equal(given.begin(), given.end(), grown.begin()));

    const StorageCopy copy{kRow * 4, kRow * 4 * 7, kRow * 4};  // row 1 to row 7
    ASSERT_TRUE(device.copy_within_storage(kState, {&copy, 1}).ok());
    grown = values_of(device);
    EXPECT_TRUE(std::equal(given.begin() + kRow, given.end(), grown.begin() + 7 * kRow));
    const StorageCopy beyond{0, kRow * 4 * 50, 4};
    EXPECT_FALSE(device.copy_within_storage(kState, {&beyond, 1}).ok());
    const StorageCopy below{-4, 0, 4};
    EXPECT_FALSE(device.copy_within_storage(kState, {&below, 1}).ok());

    ASSERT_TRUE(device.resize_storage(kState, {1, 2, 3, 8}).ok());
    EXPECT_EQ(values_of(device), std::vector<float>(given.begin(), given.begin() + kRow));
    ASSERT_TRUE(device.resize_storage(kState, {1, 2, 2, 8}).ok());
    EXPECT_EQ(values_of(device), std::vector<float>(32, 0.0F)) << "another shape begins anew";
    EXPECT_FALSE(device.resize_storage(kState, {4}).ok());
    EXPECT_FALSE(device.resize_storage("nothing", {4}).ok());
    EXPECT_FALSE(device.resize_storage("embedding.weight", {4, 16}).ok()) << "its size is known";
  }
}

}  // namespace
}  // namespace weft::decode
