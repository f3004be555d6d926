// What may be chosen about a ViT beside its sizes.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/families.h"
#include "models/zoo.h"

namespace weft {
namespace {

TEST(Vit, PatchesMayReachIntoTheirNeighbours) {
  TransformerConfig c = find_preset("vit-tiny")->config;
  c.stem_layers = 0;
  for (int64_t overlap : {0, 1}) {
    c.patch_overlap = overlap;
    const Shape expected = {Dim((2 + 2 * overlap) * (2 + 2 * overlap)), Dim(64)};
    EXPECT_EQ(vit(c).value().find_storage("patches.weight")->type.shape, expected);
  }
  c.patch_overlap = 3;
  EXPECT_EQ(vit(c).diagnostics()[0].message, "patch_overlap is 3, expected 0 to 2");
}

TEST(Vit, ConvolutionsMayStandBeforeThePatches) {
  TransformerConfig c = find_preset("vit-tiny")->config;
  c.stem_layers = 2;
  c.stem_width = 8;
  Module module = vit(c).value();
  const std::pair<const char*, Shape> expected[] = {{"stem.0.conv.weight", {Dim(9), Dim(8)}},
                                                    {"stem.1.conv.weight", {Dim(72), Dim(8)}},
                                                    {"patches.weight", {Dim(128), Dim(64)}}};
  for (const auto& [name, shape] : expected) {
    ASSERT_NE(module.find_storage(name), nullptr) << name;
    EXPECT_EQ(module.find_storage(name)->type.shape, shape) << name;
  }
  c.stem_layers = -1;
  EXPECT_EQ(vit(c).diagnostics()[0].message, "stem_layers is -1, expected 0 to 1024");
}

TEST(Vit, ImagesAreClassifiedByATokenOrTheMean) {
  TransformerConfig c = find_preset("vit-tiny")->config;
  for (Pooling pool : {Pooling::token, Pooling::mean}) {
    c.pool = pool;
    Module module = vit(c).value();
    const bool token = pool == Pooling::token;
    EXPECT_EQ(module.find_storage("class_token.weight") != nullptr, token);
    EXPECT_EQ(module.find_storage("positions.weight")->type.shape[0], Dim(token ? 17 : 16));
  }
}

}  // namespace
}  // namespace weft
