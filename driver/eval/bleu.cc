// SPDX-License-Identifier: Apache-2.0
#include "driver/eval/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "ir/support/diagnostic.h"
#include "runtime/executable_file.h"

namespace weft::eval {
namespace {

using Counts = std::unordered_map<std::string, int64_t>;

// How often each sequence of `order` words occurs. Words hold no newline.
Counts sequences(const std::vector<std::string>& words, size_t order) {
  Counts counts;
  for (size_t i = 0; i + order <= words.size(); ++i) {
    std::string key;
    for (size_t k = 0; k < order; ++k) key += words[i + k] + "\n";
    ++counts[key];
  }
  return counts;
}

struct Sums {
  std::array<int64_t, kBleuOrder> right = {};
  std::array<int64_t, kBleuOrder> all = {};
};

void add_sentence(const std::vector<std::string>& hypothesis,
                  const std::vector<std::string>& reference, Sums& sums) {
  for (size_t n = 0; n < kBleuOrder; ++n) {
    const Counts wanted = sequences(reference, n + 1);
    for (const auto& [key, count] : sequences(hypothesis, n + 1)) {
      auto found = wanted.find(key);
      if (found != wanted.end()) sums.right[n] += std::min(count, found->second);
      sums.all[n] += count;
    }
  }
}

}  // namespace

std::string_view name(BleuTokens tokens) {
  switch (tokens) {
    case BleuTokens::mteval13a: return "13a";
    case BleuTokens::none: return "none";
    case BleuTokens::characters: break;
  }
  return "char";
}

std::optional<BleuTokens> parse_bleu_tokens(std::string_view text) {
  for (BleuTokens tokens : {BleuTokens::mteval13a, BleuTokens::none, BleuTokens::characters}) {
    if (name(tokens) == text) return tokens;
  }
  return std::nullopt;
}

double Bleu::ratio() const {
  if (reference_length == 0) return 0;
  return static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
}

Bleu corpus_bleu(const std::vector<std::string>& hypotheses,
                 const std::vector<std::string>& references, const BleuOptions& options) {
  Sums sums;
  Bleu bleu;
  for (size_t i = 0; i < std::min(hypotheses.size(), references.size()); ++i) {
    const std::vector<std::string> hypothesis = bleu_words(hypotheses[i], options);
    const std::vector<std::string> reference = bleu_words(references[i], options);
    bleu.hypothesis_length += static_cast<int64_t>(hypothesis.size());
    bleu.reference_length += static_cast<int64_t>(reference.size());
    add_sentence(hypothesis, reference, sums);
  }
  if (bleu.hypothesis_length < bleu.reference_length) {
    bleu.brevity_penalty = bleu.hypothesis_length == 0 ? 0 : std::exp(1 - 1 / bleu.ratio());
  }
  if (std::ranges::count(sums.right, 0) == static_cast<std::ptrdiff_t>(kBleuOrder)) return bleu;
  double smooth = 1;
  double logarithms = 0;
  for (size_t n = 0; n < kBleuOrder; ++n) {
    if (sums.all[n] == 0) return bleu;  // no sentence is so long: the score is 0
    if (sums.right[n] == 0) {
      smooth *= 2;
      bleu.precisions[n] = 100 / (smooth * static_cast<double>(sums.all[n]));
    } else {
      bleu.precisions[n] =
          100 * static_cast<double>(sums.right[n]) / static_cast<double>(sums.all[n]);
    }
    logarithms += std::log(bleu.precisions[n]);
  }
  bleu.score = bleu.brevity_penalty * std::exp(logarithms / static_cast<double>(kBleuOrder));
  return bleu;
}

std::string bleu_signature(const BleuOptions& options) {
  return cat("BLEU|nrefs:1|case:", options.lowercase ? "lc" : "mixed",
             "|eff:no|tok:", name(options.tokens), "|smooth:exp|version:weft-", build_version());
}

std::string bleu_line(const Bleu& bleu, const BleuOptions& options) {
  char text[256];
  std::snprintf(text, sizeof(text),
                " = %.2f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = "
                "%lld)",
                bleu.score, bleu.precisions[0], bleu.precisions[1], bleu.precisions[2],
                bleu.precisions[3], bleu.brevity_penalty, bleu.ratio(),
                static_cast<long long>(bleu.hypothesis_length),
                static_cast<long long>(bleu.reference_length));
  return bleu_signature(options) + text;
}

}  // namespace weft::eval
