// Making tokenizers from texts, and reading them back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "driver/data/tokenizer.h"

namespace weft::data {

using TokenizerPtr = std::unique_ptr<const Tokenizer>;

inline constexpr const char* kCharactersFile = "tokenizer.json";
inline constexpr const char* kSubwordsFile = "tokenizer.model";

// Texts one after the other: lines, sentences, fields.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // False at the end. The text is UTF-8 and valid until the next call.
  virtual Result<bool> next(std::string_view& text) = 0;
};

struct SubwordOptions {
  TokenizerKind kind = TokenizerKind::bpe;
  int64_t vocab = 0;   // at most
  bool exact = false;  // fewer is an error
  // decode(encode(text)) is the text itself, with every space and newline; only U+2581, which
  // stands for a space in pieces, becomes one. Without, text is normalised (NFKC, single spaces),
  // as is usual for sentences.
  bool lossless = false;
};

Result<TokenizerPtr> make_characters(TextSource& texts, bool specials);
// The same texts and options give the same tokenizer. Texts longer than 65536 bytes have no say.
// Fails if Weft was built without sentencepiece.
Result<TokenizerPtr> make_subwords(TextSource& texts, const SubwordOptions& options);

// `path` is only told in errors.
Result<TokenizerPtr> read_characters(const std::string& path, const std::string& bytes);
Result<TokenizerPtr> read_subwords(const std::string& path, const std::string& bytes,
                                   TokenizerKind kind);

// From the file of its kind in a run's folder. Fails, before anything is made of it, on a file with
// another digest (ir/support/hash.h): sentencepiece is not made for damaged models.
Result<TokenizerPtr> open_tokenizer(const std::string& folder, TokenizerKind kind,
                                    const std::string& expected_digest);

// From a file of either kind, told apart by content: JSON is of characters. It is believed to be
// whole.
Result<TokenizerPtr> open_tokenizer_file(const std::string& path);

bool have_subwords();  // whether Weft was built with sentencepiece

}  // namespace weft::data
