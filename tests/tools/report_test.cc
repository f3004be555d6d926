// weft report as people type it, and its page in a real browser.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/scratch.h"
#include "tests/support/suite.h"
#include "tests/tools/browser.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kSmall =
    " --d-model 16 --heads 2 --d-ff 32 --batch 4 --dropout 0.1 --steps 12"
    " --eval-every 4 --log-every 1 -q";

class ReportCommand : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    ::setenv("WEFT_CACHE_DIR", shared_cache().c_str(), 1);
  }
  void TearDown() override {
    ::setenv("WEFT_CACHE_DIR", "", 1);
    CliTest::TearDown();
  }

  // A language model of characters, some of which mean something in HTML.
  void train_language_model() const {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "a <b> & \"c\" cat sat " + std::to_string(i % 7) + "\n";
    write("text.txt", text);
    const Outcome outcome = weft(
        "train gpt-char --text text.txt --out run --context 16 --layers 2" + std::string(kSmall));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  void train_translation() const {
    std::string source;
    std::string target;
    for (int i = 0; i < 120; ++i) {
      source += "i see " + std::to_string(i) + "\n";
      target += "나 " + std::to_string(i) + "\n";
    }
    write("a.en", source);
    write("a.ko", target);
    const Outcome outcome = weft("train transformer-tiny --src a.en --tgt a.ko --tokenizer char" +
                                 std::string(" --out run --layers 1") + kSmall);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  // The page's data, and a check that every row of every map sums up to 1.
  static nlohmann::json data_of(const std::string& page) {
    const std::string mark = "id=\"data\">";
    const size_t begin = page.find(mark) + mark.size();
    auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    for (const auto& map : data["attention"]["maps"]) {
      const size_t columns = map["columns"].size();
      for (const auto& head : map["heads"]) {
        EXPECT_EQ(head.size(), map["rows"].size() * columns);
        for (size_t row = 0; row < map["rows"].size(); ++row) {
          double sum = 0;
          for (size_t c = 0; c < columns; ++c) sum += head[row * columns + c].get<double>();
          EXPECT_NEAR(sum, 1, 1e-3) << map["name"];
        }
      }
    }
    return data;
  }
  std::vector<nlohmann::json> metrics() const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(slurp(path("run/metrics.jsonl")));
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
  size_t lines_with(const std::string& key) const {
    size_t count = 0;
    for (const auto& line : metrics()) count += line.contains(key) ? 1 : 0;
    return count;
  }
};

// The part of the DOM that belongs to a chart: up to the next one.
std::string chart(const std::string& dom, const std::string& title) {
  const size_t begin = dom.find("data-chart=\"" + title + "\"");
  return begin == std::string::npos ? ""
                                    : dom.substr(begin, dom.find("class=\"card\"", begin) - begin);
}

// How many points a line of a chart was drawn with.
size_t points(const std::string& dom, const std::string& title, const std::string& series) {
  for (const Element& line : elements(chart(dom, title), "polyline")) {
    if (line.attributes.at("data-series") != series) continue;
    std::istringstream text(line.attributes.at("points"));
    size_t count = 0;
    for (std::string point; text >> point;) ++count;
    return count;
  }
  return 0;
}

// The labels of the large map.
std::vector<std::string> labels(const std::string& dom, const std::string& side) {
  std::vector<std::string> found;
  for (const Element& text : elements(dom, "text")) {
    if (text.attributes.contains("class") && text.attributes.at("class") == side) {
      found.push_back(text.attributes.at("data-token"));
    }
  }
  return found;
}

TEST_F(ReportCommand, APageIsDrawnByABrowser) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  const std::optional<std::string> chromium = find_chromium();
  if (!chromium) GTEST_SKIP() << "there is no Chromium here";
  train_language_model();
  const Outcome made = weft("report run -o page.html --sentence 'a <b> & \"c\"'");
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "page.html\n");
  const Rendered page = open_page(*chromium, path("page.html"), path("browser"));
  ASSERT_EQ(page.code, 0);
  EXPECT_THAT(page.messages, IsEmpty());
  EXPECT_THAT(page.dom, HasSubstr("data-ready=\"1\""));
  EXPECT_THAT(page.dom, Not(HasSubstr("data-error")));
  EXPECT_EQ(points(page.dom, "Loss", "training"), lines_with("loss"));
  EXPECT_EQ(points(page.dom, "Loss", "validation"), lines_with("val_loss"));
  EXPECT_EQ(points(page.dom, "Perplexity", "training"), lines_with("ppl"));
  EXPECT_EQ(points(page.dom, "Learning rate", "learning rate"), lines_with("lr"));
  EXPECT_EQ(points(page.dom, "Tokens per second", "tokens per second"), lines_with("tokens_per_s"));
  EXPECT_EQ(points(page.dom, "Gradient norm", "all parameters"), lines_with("grad_norm"));
  EXPECT_EQ(lines_with("val_loss"), 3u);
  for (const char* title :
       {"Gradient norm by layer", "Update ratio by layer", "Output norm by layer",
        "Input norm by layer", "Output norm over input norm"}) {
    EXPECT_EQ(points(page.dom, title, "layers.1.ffn"), 3u) << title;
  }
  for (const char* title : {"Entropy", "Mean distance", "Head diversity"}) {
    EXPECT_EQ(points(page.dom, title + std::string(", mean of heads"), "layers.0.attn"), 3u);
  }
  const std::vector<std::string> tokens = {"a", " ", "<", "b", ">", " ", "&", " ", "\"", "c", "\""};
  EXPECT_EQ(labels(page.dom, "row"), tokens);
  EXPECT_EQ(labels(page.dom, "column"), tokens);
  std::vector<double> sums(tokens.size(), 0);
  for (const Element& cell : elements(page.dom, "rect")) {
    sums.at(std::stoul(cell.attributes.at("data-row"))) +=
        std::stod(cell.attributes.at("data-weight"));
  }
  for (double sum : sums) EXPECT_NEAR(sum, 1, 1e-3);
  EXPECT_THAT(page.dom, HasSubstr("data-positions=\"embed.positions\""));
  EXPECT_EQ(data_of(page.dom)["attention"]["maps"].size(), 2u);
}

// What a reader does: points at a chart and at a map, chooses a head, a scale and a line.
constexpr const char* kReader = R"(<script>
const told = [];
function at(node, type) {
  const box = node.getBoundingClientRect();
  node.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX: box.left + box.width / 2,
    clientY: box.top + box.height / 2}));
  told.push(document.getElementById('tip').textContent);
}
const heads = document.querySelectorAll('.head-map');
heads[heads.length - 1].click();
at(document.querySelector('[data-chart="Loss"] svg'), 'pointermove');
at(document.querySelector('.focus rect'), 'pointermove');
at(document.querySelector('.plane'), 'pointermove');
for (const button of document.querySelectorAll('.scale, .legend button')) button.click();
for (const chart of document.querySelectorAll('.chart')) at(chart, 'pointermove');
for (const chart of document.querySelectorAll('.chart')) {
  chart.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));
}
document.documentElement.dataset.told = told.slice(0, 3).join('|');
</script>)";

TEST_F(ReportCommand, ThePageAnswersItsReader) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  const std::optional<std::string> chromium = find_chromium();
  if (!chromium) GTEST_SKIP() << "there is no Chromium here";
  train_language_model();
  ASSERT_EQ(weft("report run --sentence 'cat'").code, 0);
  std::string html = slurp(path("report.html"));
  html.insert(html.rfind("</body>"), kReader);
  write("read.html", html);
  const Rendered page = open_page(*chromium, path("read.html"), path("browser"));
  EXPECT_THAT(page.messages, IsEmpty());
  EXPECT_THAT(page.dom, Not(HasSubstr("data-error")));
  EXPECT_THAT(page.dom, HasSubstr("data-map=\"layers.1.attn\" data-head=\"1\""));
  const std::vector<Element> root = elements(page.dom, "html");
  ASSERT_EQ(root.size(), 1u);
  const std::string told = root[0].attributes.at("data-told");
  EXPECT_THAT(told, ::testing::MatchesRegex("step .*training.*\\|c → c: 1\\|position .*"));
}

TEST_F(ReportCommand, ATranslationHasThreeKindsOfMaps) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  train_translation();
  ASSERT_EQ(weft("report run --sentence 'i see 7' --target '나 7'").code, 0);
  const nlohmann::json given = data_of(slurp(path("report.html")))["attention"];
  std::vector<std::string> names;
  for (const auto& map : given["maps"]) names.push_back(map["name"]);
  EXPECT_THAT(names, ElementsAre("encoder.0.attn", "decoder.0.attn", "decoder.0.cross"));
  const nlohmann::json source = {"i", " ", "s", "e", "e", " ", "7", "</s>"};
  const nlohmann::json target = {"<s>", "나", " ", "7"};
  EXPECT_EQ(given["maps"][0]["rows"], source);
  EXPECT_EQ(given["maps"][1]["columns"], target);
  EXPECT_EQ(given["maps"][2]["rows"], target);
  EXPECT_EQ(given["maps"][2]["columns"], source);
  EXPECT_FALSE(given["decoded"].get<bool>());
  // A causal map looks at nothing that follows.
  EXPECT_EQ(given["maps"][1]["heads"][0][1], 0);
  ASSERT_EQ(weft("report run --sentence 'i see 7'").code, 0);
  const nlohmann::json decoded = data_of(slurp(path("report.html")))["attention"];
  EXPECT_TRUE(decoded["decoded"].get<bool>());
  EXPECT_EQ(decoded["maps"][2]["rows"][0], "<s>");
  EXPECT_EQ(decoded["maps"][0], given["maps"][0]);  // the source does not see the target
  ASSERT_EQ(weft("report run").code, 0);            // of validation data
  EXPECT_EQ(data_of(slurp(path("report.html")))["attention"]["maps"].size(), 3u);
}

TEST_F(ReportCommand, RunsAtAnyPointOfTheirLife) {
  train_language_model();
  fs::remove(path("run/result.json"));
  std::ofstream(path("run/metrics.jsonl"), std::ios::app)
      << R"({"step": 9, "warning": "<script>alert(1)</script>"})"
      << "\n"
      << R"({"step": 13, "loss": null, "grad_norms": {"a": "x"}, "attention": {"a": "x", "b": null,)"
      << R"( "c": {"entropy": ["y", 1], "distance": 5}, "d": {"entropy": []}}})"
      << "\n"
      << R"({"step": 14, "lo)";
  Outcome cut = weft("report run --json");
  ASSERT_EQ(cut.code, 0) << cut.err;
  EXPECT_THAT(cut.out, HasSubstr("\"lines\":13,"));
  EXPECT_THAT(cut.out, HasSubstr("is cut short or damaged"));
  const std::string page = slurp(path("report.html"));
  EXPECT_THAT(page, HasSubstr("not finished: the last line is of step 13"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(data_of(page)["warnings"][0]["text"], "<script>alert(1)</script>");

  const std::optional<std::string> chromium = suite() == "quick" ? std::nullopt : find_chromium();
  if (chromium) {
    const Rendered strange = open_page(*chromium, path("report.html"), path("browser"));
    EXPECT_THAT(strange.messages, IsEmpty());
    EXPECT_THAT(strange.dom, HasSubstr("data-ready=\"1\""));
  }

  fs::resize_file(path("run/best.safetensors"), 100);
  Outcome damaged = weft("report run");
  ASSERT_EQ(damaged.code, 0) << damaged.err;
  EXPECT_THAT(damaged.err, HasSubstr("no attention and no positions are shown"));
  fs::remove(path("run/best.safetensors"));
  fs::remove_all(path("run/checkpoints"));
  fs::remove(path("run/metrics.jsonl"));
  Outcome bare = weft("report run --sentence cat");
  ASSERT_EQ(bare.code, 0) << bare.err;
  EXPECT_THAT(bare.err, HasSubstr("the run has no checkpoint yet"));
  EXPECT_THAT(bare.err, HasSubstr("there is no metrics.jsonl"));
  if (chromium) {
    const Rendered empty = open_page(*chromium, path("report.html"), path("browser"));
    EXPECT_THAT(empty.messages, IsEmpty());
    EXPECT_THAT(empty.dom, HasSubstr("data-ready=\"1\""));
    EXPECT_THAT(empty.dom, HasSubstr("data-missing=\"attention-maps\""));
  }
}

TEST_F(ReportCommand, WrongUseIsAnErrorAndWritesNothing) {
  EXPECT_EQ(weft("report nowhere").code, 1);
  EXPECT_EQ(weft("report").code, 2);
  train_language_model();
  const Outcome strange = weft("report run --sentence 'a µ'");
  EXPECT_EQ(strange.code, 1);
  EXPECT_THAT(strange.err, HasSubstr("error:"));
  EXPECT_EQ(weft("report run --sentence ''").code, 1);
  EXPECT_EQ(weft("report run --sentence \"$(printf 'a\\377')\"").code, 1);
  EXPECT_EQ(weft("report run --target a").code, 2);
  EXPECT_EQ(weft("report run --sentence a --target a").code, 1);
  EXPECT_FALSE(fs::exists(path("report.html")));
  EXPECT_EQ(weft("report run -o nowhere/page.html").code, 1);
}

}  // namespace
}  // namespace weft
