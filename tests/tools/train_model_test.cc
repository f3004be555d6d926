// What weft train trains: modules from files, and the changes to a model that flags make.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/suite.h"
#include "tests/tools/train_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A bag of words: @forward only.
constexpr char kBag[] = R"(module "bag" {
  param @table: f32[60, 16] = normal(0.25)
  param @w: f32[16, 3] = xavier_uniform
  graph @forward(%tokens: i32[B, T]) -> (logits) {
    %x = gather @table, %tokens
    %m = mean %x {axes = [1]}
    %logits = matmul %m, @w
    return %logits
  }
}
)";

class TrainModel : public TrainTest {
 protected:
  void SetUp() override {
    TrainTest::SetUp();
    std::string table = "label\ttext\n";
    for (int i = 0; i < 200; ++i) {
      table += i % 2 == 0 ? "good\ta fine warm day\n" : "bad\ta cold wet night\n";
    }
    write("table.tsv", table);
    write("bag.weft", kBag);
  }
};

constexpr const char* kTable = " --csv table.tsv --label-column label --text-column text -q";

TEST_F(TrainModel, AModuleWithForwardAloneIsTrained) {
  const std::string arguments = std::string(kTable) + " --tokenizer char --lr 0.05 --warmup 5";
  Outcome outcome = weft("train bag.weft --out run --steps 30" + arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(metrics("run").back()["val_accuracy"], 1);
  // The run has the module: it goes on without the file.
  fs::remove(path("bag.weft"));
  fs::remove(path("run/result.json"));
  Outcome again = weft("train --resume run");
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST_F(TrainModel, APresetFromAFileIsTrainedAsThePreset) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  ASSERT_EQ(weft("models vit-tiny -o tiny.weft").code, 0);
  std::string table = "digit";
  for (int i = 0; i < 64; ++i) table += ",p" + std::to_string(i);
  for (int row = 0; row < 40; ++row) {
    table += "\n" + std::to_string(row % 2);
    for (int i = 0; i < 64; ++i) table += "," + std::to_string((i / 8 + row * i) % 5);
  }
  write("images.csv", table + "\n");
  const std::string arguments = " --csv images.csv --label-column digit -q --steps 3 --image ";
  Outcome outcome = weft("train tiny.weft --out run" + arguments + "8x8");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  Outcome wide = weft("train tiny.weft --out wide" + arguments + "4x16");
  EXPECT_EQ(wide.code, 1);
  EXPECT_THAT(wide.err, HasSubstr("the module takes images of 8x8"));
  Outcome preset = weft("train vit-tiny --layers 1 --out wide" + arguments + "4x16");
  EXPECT_EQ(preset.code, 0) << preset.err;
}

TEST_F(TrainModel, AModuleThatDoesNotFitIsToldWhatDoes) {
  write("no_logits.weft", "graph @forward(%tokens: i32[B, T]) -> (y) {\n  return %tokens\n}\n");
  write("half.weft", kFfn);
  const std::pair<const char*, const char*> wrong[] = {
      {"train bag.weft --src text.txt --tgt text.txt", "src: i32[B, S], tgt: i32[B, T]"},
      {"train bag.weft --text text.txt", "logits are f32[B, 3], expected f32[B, T, N]"},
      {"train half.weft --text text.txt", "@forward has the inputs x: f32[B, 4]"},
      {"train no_logits.weft --text text.txt", "@forward has no output 'logits'"},
      {"train none.weft --text text.txt", "none.weft"},
      {"train bag.weft --csv table.tsv --label-column label --text-column text --heads 2",
       "--heads is for presets"},
      {"train bag.weft --csv table.tsv --label-column text --text-column label --tokenizer unigram "
       "--vocab-size 100000",
       "error:"},
  };
  for (auto [arguments, expected] : wrong) {
    Outcome outcome = weft(std::string(arguments) + " --out run");
    EXPECT_EQ(outcome.code, 1) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(expected)) << arguments;
    EXPECT_FALSE(fs::exists(path("run"))) << arguments;
  }
}

TEST_F(TrainModel, EveryFlagOfATableOfAblationsIsTrained) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  // Changes that have nothing to do with each other share a run.
  const char* changes[] = {
      " --d-model 16 --heads 1 --d-ff 32 --pos none --dropout 0",
      " --d-model 16 --heads 2 --d-ff 8 --d-k 3 --norm none",
      " --d-model 16 --heads 2 --d-ff 32 --no-residual --pos learned --no-bias",
      " --d-model 24 --heads 4 --d-ff 32 --d-k 2 --norm pre --pos rope --dropout 0.3",
      " --d-model 16 --heads 2 --d-ff 32 --norm none --no-residual --no-tie-embeddings",
      " --d-model 16 --heads 2 --d-ff 32 --layers 2 --label-smoothing 0 --attn-dropout 0.2",
  };
  for (const char* change : changes) {
    fs::remove_all(path("run"));
    std::string arguments =
        "train transformer-tiny --src text.txt --tgt text.txt --out run -q"
        " --vocab-size 40 --steps 2 --batch 4";
    arguments += change;
    if (arguments.find("--layers") == std::string::npos) arguments += " --layers 1";
    Outcome outcome = weft(arguments);
    ASSERT_EQ(outcome.code, 0) << change << "\n" << outcome.err;
    EXPECT_TRUE(metrics("run").back().contains("val_loss")) << change;
  }
  const auto model = nlohmann::json::parse(slurp(path("run/config.json")))["model"];
  EXPECT_EQ(model["encoder_layers"], 2);
  EXPECT_EQ(model["label_smoothing"], 0);
  EXPECT_EQ(model["attn_dropout"], 0.2);
}

}  // namespace
}  // namespace weft
