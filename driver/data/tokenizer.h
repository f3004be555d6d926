// Tokenizers: text to ids and back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace weft::data {

enum class TokenizerKind : uint8_t { characters, bpe, unigram };
std::string_view name(TokenizerKind kind);  // "char", "bpe", "unigram"
std::optional<TokenizerKind> parse_tokenizer_kind(std::string_view name);

// Ids of every tokenizer that has them. They are what the models' `pad` expects.
inline constexpr int32_t kPad = 0;
inline constexpr int32_t kUnknown = 1;
inline constexpr int32_t kBegin = 2;
inline constexpr int32_t kEnd = 3;

// Immutable, so that threads may share one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual TokenizerKind kind() const = 0;
  virtual int64_t vocab() const = 0;
  // Whether kPad, kUnknown, kBegin and kEnd are its first four ids. Characters of a language model
  // have none of them: ids count the characters from 0, and an unknown one is an error.
  virtual bool has_specials() const = 0;
  // Appends the ids of a text; begin and end are the caller's. The text is UTF-8.
  virtual Status encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
  // Leaves out kPad, kBegin and kEnd. Fails on ids beyond the vocabulary.
  virtual Result<std::string> decode(const std::vector<int32_t>& ids) const = 0;
  // As it is to be read, for lists of candidates: "▁love".
  virtual std::string piece(int32_t id) const = 0;

  // The name of its file in a run's folder, and what it holds.
  virtual std::string file_name() const = 0;
  virtual std::string serialize() const = 0;
};

}  // namespace weft::data
