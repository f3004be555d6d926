// What each step of a translation chose from, and what it looked at.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/decode/translate.h"

namespace weft::decode {

// Of the best translation; the options of the search had `trace`. One object a step: the chosen
// token with its probability, the five likeliest, the source positions attended to most, and the
// weights of all.
nlohmann::ordered_json trace_json(const data::Tokenizer& tokenizer, const Translated& line);
// The same as lines for people.
std::string trace_text(const data::Tokenizer& tokenizer, const Translated& line);

// Source against target for each line, as one page that needs nothing else.
class Heatmap {
 public:
  void add(const data::Tokenizer& tokenizer, int64_t number, const Translated& line);
  std::string page() const;

 private:
  std::string tables_;
  int64_t shown_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace weft::decode
