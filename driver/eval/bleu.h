// BLEU as sacreBLEU defines it (https://github.com/mjpost/sacrebleu; Post, 2018).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::eval {

enum class BleuTokens : uint8_t {
  mteval13a,   // "13a": punctuation apart, as mteval-v13a does
  none,        // as it is, at white space
  characters,  // "char": every character but white space
};
std::string_view name(BleuTokens tokens);
std::optional<BleuTokens> parse_bleu_tokens(std::string_view name);

struct BleuOptions {
  BleuTokens tokens = BleuTokens::mteval13a;
  bool lowercase = false;
};

inline constexpr size_t kBleuOrder = 4;

struct Bleu {
  double score = 0;  // 0 to 100
  std::array<double, kBleuOrder> precisions = {};
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0;  // tokens
  int64_t reference_length = 0;

  double ratio() const;
};

// Over all sentences together, with exponential smoothing of orders without a match. Both lists
// are UTF-8 and of one length.
Bleu corpus_bleu(const std::vector<std::string>& hypotheses,
                 const std::vector<std::string>& references, const BleuOptions& options);

// "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:weft-0.1.0"
std::string bleu_signature(const BleuOptions& options);
// "SIGNATURE = 38.13 66.7/43.9/31.5/22.8 (BP = 1.000 ratio = 1.005 hyp_len = .. ref_len = ..)"
std::string bleu_line(const Bleu& bleu, const BleuOptions& options);

// Words of a sentence, as BLEU counts them.
std::vector<std::string> bleu_words(std::string_view sentence, const BleuOptions& options);

}  // namespace weft::eval
