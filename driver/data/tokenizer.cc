// SPDX-License-Identifier: Apache-2.0
#include "driver/data/tokenizer.h"

#include "driver/data/make_tokenizer.h"
#include "driver/data/text_file.h"
#include "ir/support/file.h"
#include "ir/support/hash.h"

namespace weft::data {
namespace {

constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;

}  // namespace

std::string_view name(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::characters: return "char";
    case TokenizerKind::bpe: return "bpe";
    case TokenizerKind::unigram: return "unigram";
  }
  return "";
}

std::optional<TokenizerKind> parse_tokenizer_kind(std::string_view text) {
  for (TokenizerKind kind :
       {TokenizerKind::characters, TokenizerKind::bpe, TokenizerKind::unigram}) {
    if (name(kind) == text) return kind;
  }
  return std::nullopt;
}

Result<TokenizerPtr> open_tokenizer(const std::string& folder, TokenizerKind kind,
                                    const std::string& expected_digest) {
  bool characters = kind == TokenizerKind::characters;
  std::string path = folder + "/" + (characters ? kCharactersFile : kSubwordsFile);
  WEFT_TRY(std::string bytes, read_file(path, kMaxTokenizerBytes));
  if (digest(bytes) != expected_digest) {
    return error(file_loc(path), "is damaged, or not the tokenizer that the run was begun with");
  }
  return characters ? read_characters(path, bytes) : read_subwords(path, bytes, kind);
}

Result<TokenizerPtr> open_tokenizer_file(const std::string& path) {
  WEFT_TRY(std::string bytes, read_file(path, kMaxTokenizerBytes));
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool characters = first != std::string::npos && bytes[first] == '{';
  return characters ? read_characters(path, bytes) : read_subwords(path, bytes, TokenizerKind::bpe);
}

}  // namespace weft::data
