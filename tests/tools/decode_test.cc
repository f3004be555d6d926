// weft translate, generate and eval as people type them, on models of a few seconds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test_paths.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSmall =
    " --d-model 16 --layers 1 --heads 2 --d-ff 32 --context 12 --batch 8 -q --steps 30"
    " --eval-every 30 --save-every 30 --lr 0.01 --warmup 5 --dropout 0";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A run is trained once in each test.
class DecodeCommand : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    ::setenv("WEFT_CACHE_DIR", shared_cache().c_str(), 1);
    std::string source;
    std::string target;
    std::string text;
    std::string table = "label,sentence\n";
    for (int i = 0; i < 60; ++i) {
      const std::string word(1, static_cast<char>('a' + i % 5));
      source += word + " " + word + "\n";
      target += word + "\n";
      text += "the cat sat on mat " + std::to_string(i % 7) + "\n";
      table += std::string(i % 2 == 0 ? "yes" : "no") + "," + word + "\n";
    }
    write("a.src", source);
    write("a.tgt", target);
    write("text.txt", text);
    write("table.csv", table);
  }
  void TearDown() override {
    ::setenv("WEFT_CACHE_DIR", "", 1);
    CliTest::TearDown();
  }
  void train(const std::string& arguments) const {
    const Outcome done = weft("train " + arguments + kSmall);
    ASSERT_EQ(done.code, 0) << done.err;
  }
  void train_translator() const {
    train("transformer-tiny --src a.src --tgt a.tgt --tokenizer char --out run");
  }
  void whatever_comes() const;
  void with_traces() const;
  void and_measures() const;

  void train_writer() const { train("gpt-char --text text.txt --out run"); }
};

TEST_F(DecodeCommand, Translates) {
  train_translator();
  whatever_comes();
  if (suite() == "quick") return;
  with_traces();
  and_measures();
}

void DecodeCommand::whatever_comes() const {
  write("in", std::string("a a\n\nb b\r\nx y \xE2\x98\x83\n\xFF\xFE\n") + std::string(40, 'c') +
                  "\n" + std::string(2 << 20, 'd') + "\ne e");
  const Outcome done = weft("translate run --beam 2", "in");
  EXPECT_EQ(done.code, 0) << done.err;
  const std::vector<std::string> lines = lines_of(done.out);
  ASSERT_EQ(lines.size(), 8U) << done.out;
  EXPECT_EQ(lines[1], "");
  EXPECT_THAT(done.err, HasSubstr("warning: line 2 is empty"));
  EXPECT_THAT(done.err, HasSubstr("warning: line 4 has "));
  EXPECT_THAT(done.err, HasSubstr("warning: line 5 is not UTF-8: 2 bytes"));
  EXPECT_THAT(done.err, HasSubstr("warning: line 6 has 40 tokens, and the model takes 11"));
  EXPECT_THAT(done.err, HasSubstr("line 7 has more than a million bytes"));
  EXPECT_THAT(done.err, Not(HasSubstr("warning: line 1 ")));
  const Outcome one = weft("translate run --beam 2 --batch 1 -q", "in");
  EXPECT_EQ(one.out, done.out);
  EXPECT_EQ(one.err, "");
  write("empty", "");
  EXPECT_EQ(weft("translate run", "empty").out, "");
}

void DecodeCommand::with_traces() const {
  write("in", "a a\nb <b>\n");
  const Outcome best = weft("translate run --beam 3 --n-best 3", "in");
  EXPECT_EQ(best.code, 0) << best.err;
  EXPECT_EQ(lines_of(best.out).size(), 6U);
  EXPECT_EQ(best.out.substr(0, 2), "1\t");
  const Outcome traced = weft("translate run --trace --heatmap map.html", "in");
  EXPECT_EQ(traced.code, 0) << traced.err;
  EXPECT_THAT(traced.out, HasSubstr("  of  "));
  EXPECT_THAT(traced.out, HasSubstr("  by  "));
  EXPECT_THAT(slurp(path("map.html")), HasSubstr("</html>"));
  EXPECT_THAT(slurp(path("map.html")), Not(HasSubstr("<b>")));
  const Outcome json = weft("translate run --trace --json", "in");
  const std::vector<std::string> lines = lines_of(json.out);
  ASSERT_EQ(lines.size(), 2U);
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first["source"], "a a");
  ASSERT_GE(first["trace"].size(), 1U);
  EXPECT_EQ(first["trace"][0]["top"].size(), 5U);
  EXPECT_EQ(first["trace"][0]["weights"].size(), first["source_tokens"].size());
}

void DecodeCommand::and_measures() const {
  const Outcome done = weft("eval run --src a.src --ref a.tgt --json --beam 1 -o out.txt");
  ASSERT_EQ(done.code, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_GT(json["loss"].get<double>(), 0);
  EXPECT_NEAR(json["ppl"].get<double>(), std::exp(json["loss"].get<double>()), 1e-6);
  EXPECT_GE(json["exact_match"].get<double>(), 0);
  EXPECT_LE(json["bleu"].get<double>(), 100);
  EXPECT_THAT(json["signature"].get<std::string>(), HasSubstr("tok:13a"));
  EXPECT_EQ(lines_of(slurp(path("out.txt"))).size(), 60U);
  const Outcome scored = weft("eval --hyp out.txt --ref a.tgt --json");
  EXPECT_EQ(nlohmann::json::parse(scored.out)["bleu"], json["bleu"]);
  write("short", "a\n");
  EXPECT_THAT(weft("eval run --src a.src --ref short").err, HasSubstr("error:"));
  EXPECT_THAT(weft("eval run --src a.src").err, HasSubstr("--ref is missing"));
  EXPECT_THAT(weft("eval run --text a.src").err, HasSubstr("error:"));
}

TEST_F(DecodeCommand, WritesTexts) {
  train_writer();
  const std::string ask = "generate run --prompt 'the cat' --max-tokens 30 ";
  const Outcome first = weft(ask + "--seed 5");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out.find("the cat"), 0U);
  EXPECT_EQ(first.out.size(), 7 + 30 + 1U) << "beyond the context, too";
  EXPECT_EQ(weft(ask + "--seed 5").out, first.out);
  const std::string greedy = weft(ask + "--temperature 0").out;
  EXPECT_EQ(weft(ask + "--top-k 1 --seed 9").out, greedy);
  EXPECT_EQ(weft(ask + "--temperature 1e-9 --seed 9").out, greedy);
  EXPECT_EQ(weft("generate run --prompt 'the ca' --max-tokens 5 --beam 1").out,
            weft("generate run --prompt 'the ca' --max-tokens 5 --temperature 0").out);
  const auto json = nlohmann::json::parse(weft(ask + "--stop t --json").out);
  EXPECT_EQ(json["ended_by"], "stop");
  EXPECT_EQ(json["text"].get<std::string>().back(), 't');
  const Outcome odd = weft("generate run --prompt 'Q\xFFthe' --max-tokens 3");
  EXPECT_EQ(odd.code, 0);
  EXPECT_THAT(odd.err, HasSubstr("that the model does not know"));
  EXPECT_THAT(weft("generate run --max-tokens 3").err, HasSubstr("is empty"));
  EXPECT_THAT(weft("generate run --temperature -1").err, HasSubstr("--temperature is -1"));
  const auto scores = nlohmann::json::parse(weft("eval run --text text.txt --json").out);
  EXPECT_GT(scores["ppl"].get<double>(), 1);
}

// Each of several prompts gives what it gives alone; the context is 12, so that all go beyond it.
TEST_F(DecodeCommand, WritesSeveralTextsAtOnce) {
  train_writer();
  const std::vector<std::string> prompts = {"the cat", "t", "sat on m", "on"};
  const std::string how = " --max-tokens 20 --seed 4 --stop 3";
  std::string all;
  std::string alone;
  for (const std::string& prompt : prompts) {
    all += " --prompt '" + prompt + "'";
    alone += weft("generate run --prompt '" + prompt + "'" + how).out;
  }
  const Outcome together = weft("generate run" + all + how);
  EXPECT_EQ(together.code, 0) << together.err;
  EXPECT_EQ(together.out, alone);
  EXPECT_EQ(lines_of(weft("generate run" + all + how + " --json").out).size(), 4U);
  EXPECT_EQ(lines_of(weft("generate run" + all + " --beam 2 --max-tokens 3 --stop 3").out).size(),
            4U);
}

// A graph file with a tokenizer beside it, with and without weights.
TEST_F(DecodeCommand, TakesGraphFiles) {
  train_writer();
  ASSERT_EQ(std::system(("cp " + path("run/tokenizer.json") + " " + folder_).c_str()), 0);
  write("m.weft", R"(module "m" {
  dim T in 1..16
  param @table: f32[18, 4] = normal(1.0)
  graph @forward(%tokens: i32[B, T]) -> (logits) {
    %x = gather @table, %tokens
    %a, %lse = attention %x, %x, %x {after = 0}
    %w = transpose @table {perm = [1, 0]}
    %logits = matmul %a, %w
    return %logits
  }
})");
  const Outcome initial = weft("generate m.weft --prompt 'the' --max-tokens 5");
  EXPECT_EQ(initial.code, 0) << initial.err;
  EXPECT_THAT(initial.err, HasSubstr("m.weft has initial values"));
  EXPECT_EQ(initial.out.find("the"), 0U);
  const Outcome wrong = weft("generate m.weft --prompt 'the' --weights run/best.safetensors");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("table"));
  EXPECT_THAT(weft("translate m.weft", "a.src").err, HasSubstr("m.weft reads no source"));
  EXPECT_THAT(weft("generate gpt-char --prompt a").err, HasSubstr("gpt-char has no tokenizer"));
  EXPECT_THAT(weft("generate gpt-char --prompt a --tokenizer tokenizer.json").err,
              HasSubstr("tokens, the tokenizer 18"));
}

TEST_F(DecodeCommand, SaysWhatItCannotTake) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  train("sentiment --csv table.csv --label-column label --text-column sentence --out run");
  const Outcome wrong = weft("translate run", "a.src");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("error: run was trained on texts with labels"));
  EXPECT_THAT(weft("generate run --prompt a").err, HasSubstr("error:"));
  const auto json = nlohmann::json::parse(weft("eval run --csv table.csv --json").out);
  EXPECT_GE(json["accuracy"].get<double>(), 0);
  EXPECT_EQ(json.count("bleu"), 0U);
  EXPECT_THAT(weft("translate nothing", "a.src").err,
              HasSubstr("no file and no preset is called 'nothing'"));
  EXPECT_THAT(weft("translate run --beam 0", "a.src").err, HasSubstr("--beam is 0"));
}

TEST_F(DecodeCommand, ShowsTheGraphs) {
  EXPECT_EQ(weft("derive gpt-char -o decode.weft").code, 0);
  const Outcome told = weft("explain decode.weft --graph @decode --dim B=1 --dim W=1 --dim C=64");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr(" 0 copies"));
  const auto fused =
      nlohmann::json::parse(weft("compile decode.weft --graph @decode -o d.weftx --json").out);
  EXPECT_EQ(fused["attention"]["forward_fused"], 4);
  EXPECT_EQ(fused["attention"]["unfused"], 0);
  const Outcome wrong = weft("derive bert-base");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("error: @forward has 2 outputs"));
}

}  // namespace
}  // namespace weft
