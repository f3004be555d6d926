// BLEU is sacreBLEU's: numbers of make_bleu.py, beside this.
// SPDX-License-Identifier: Apache-2.0
#include "driver/eval/bleu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/eval/lower_case.h"
#include "test_paths.h"

namespace weft::eval {
namespace {

TEST(Bleu, IsThatOfSacreBleu) {
  std::ifstream file(WEFT_SOURCE_DIR "/tests/eval/bleu.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  for (const nlohmann::json& item : json["cases"]) {
    const BleuOptions options{*parse_bleu_tokens(item["tokens"].get<std::string>()),
                              item["lowercase"].get<bool>()};
    const Bleu bleu = corpus_bleu(item["hypotheses"].get<std::vector<std::string>>(),
                                  item["references"].get<std::vector<std::string>>(), options);
    const std::string what = item["name"].get<std::string>() + " " + bleu_line(bleu, options);
    EXPECT_NEAR(bleu.score, item["score"].get<double>(), 1e-6) << what;
    EXPECT_NEAR(bleu.brevity_penalty, item["bp"].get<double>(), 1e-9) << what;
    EXPECT_EQ(bleu.hypothesis_length, item["hyp_len"].get<int64_t>()) << what;
    EXPECT_EQ(bleu.reference_length, item["ref_len"].get<int64_t>()) << what;
    for (size_t n = 0; n < kBleuOrder; ++n) {
      EXPECT_NEAR(bleu.precisions[n], item["precisions"][n].get<double>(), 1e-6) << what;
    }
  }
}

TEST(Bleu, TellsWhatItIs) {
  const BleuOptions options{BleuTokens::characters, true};
  const std::string line = bleu_line(corpus_bleu({"abcd"}, {"abcd"}, options), options);
  EXPECT_EQ(line.find("BLEU|nrefs:1|case:lc|eff:no|tok:char|smooth:exp|version:weft-"), 0U);
  EXPECT_NE(line.find(" = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 4 "
                      "ref_len = 4)"),
            std::string::npos)
      << line;
  EXPECT_EQ(corpus_bleu({}, {}, options).score, 0);
}

TEST(LowerCase, KnowsOtherScripts) {
  EXPECT_EQ(lower_case("ÄÖÜ ẞ Ωμέγα ЖЯ ŠŽ Ǆ"), "äöü ß ωμέγα жя šž ǆ");
  EXPECT_EQ(lower_case("ΟΔΟΣ ΣΑ"), "οδος σα");
}

}  // namespace
}  // namespace weft::eval
