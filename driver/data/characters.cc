// Characters as tokens: the sorted distinct code points of a text.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>

#include "driver/data/make_tokenizer.h"
#include "driver/data/text_file.h"
#include "driver/data/utf8.h"
#include "nlohmann/json.hpp"

namespace weft::data {
namespace {

constexpr int32_t kSpecials = kEnd + 1;
constexpr const char* kSpecialNames[kSpecials] = {"<pad>", "<unk>", "<s>", "</s>"};
constexpr int32_t kNone = -1;

class Characters final : public Tokenizer {
 public:
  Characters(std::vector<char32_t> codes, bool specials)
      : codes_(std::move(codes)), first_(specials ? kSpecials : 0) {
    low_.fill(kNone);
    for (size_t i = 0; i < codes_.size(); ++i) {
      auto id = static_cast<int32_t>(i) + first_;
      if (codes_[i] < low_.size()) {
        low_[codes_[i]] = id;
      } else {
        high_[codes_[i]] = id;
      }
    }
  }

  TokenizerKind kind() const override { return TokenizerKind::characters; }
  int64_t vocab() const override { return first_ + static_cast<int64_t>(codes_.size()); }
  bool has_specials() const override { return first_ > 0; }

  Status encode(std::string_view text, std::vector<int32_t>& ids) const override {
    for (size_t at = 0; at < text.size();) {
      char32_t code = next_code_point(text, at);
      int32_t id = id_of(code);
      if (id == kNone && first_ == 0) {
        return error({}, "the character ", describe_code_point(code), " is not in the vocabulary")
            .hint("train on a text that has it, or with subwords: --tokenizer bpe");
      }
      ids.push_back(id == kNone ? kUnknown : id);
    }
    return ok();
  }

  Result<std::string> decode(const std::vector<int32_t>& ids) const override {
    std::string text;
    for (int32_t id : ids) {
      if (id < 0 || id >= vocab()) {
        return error({}, "token ", id, " is not in the vocabulary of ", vocab());
      }
      if (id >= first_) {
        append_code_point(text, codes_[id - first_]);
      } else if (id == kUnknown) {
        append_code_point(text, 0xfffd);
      }
    }
    return text;
  }

  std::string piece(int32_t id) const override {
    if (id < 0 || id >= vocab()) return "";
    if (id < first_) return kSpecialNames[id];
    std::string text;
    append_code_point(text, codes_[id - first_]);
    return text;
  }

  std::string file_name() const override { return kCharactersFile; }
  std::string serialize() const override {
    std::string text;
    for (char32_t code : codes_) append_code_point(text, code);
    nlohmann::ordered_json json{
        {"kind", "char"}, {"specials", has_specials()}, {"characters", text}};
    return json.dump(1) + "\n";
  }

 private:
  int32_t id_of(char32_t code) const {
    if (code < low_.size()) return low_[code];
    auto found = high_.find(code);
    return found == high_.end() ? kNone : found->second;
  }

  std::vector<char32_t> codes_;  // ascending
  int32_t first_;                // id of the first of them
  std::array<int32_t, 256> low_{};
  std::unordered_map<char32_t, int32_t> high_;
};

}  // namespace

Result<TokenizerPtr> make_characters(TextSource& texts, bool specials) {
  std::set<char32_t> codes;
  std::array<bool, 256> low{};  // most text is here
  std::string_view text;
  for (;;) {
    WEFT_TRY(bool some, texts.next(text));
    if (!some) break;
    for (size_t at = 0; at < text.size();) {
      char32_t code = next_code_point(text, at);
      if (code < low.size()) {
        low[code] = true;
      } else {
        codes.insert(code);
      }
    }
  }
  for (size_t code = 0; code < low.size(); ++code) {
    if (low[code]) codes.insert(static_cast<char32_t>(code));
  }
  return TokenizerPtr(
      std::make_unique<Characters>(std::vector<char32_t>(codes.begin(), codes.end()), specials));
}

Result<TokenizerPtr> read_characters(const std::string& path, const std::string& bytes) {
  nlohmann::json json = nlohmann::json::parse(bytes, nullptr, false);
  if (!json.is_object() || !json.contains("characters") || !json["characters"].is_string() ||
      !json.contains("specials") || !json["specials"].is_boolean()) {
    return error(file_loc(path), "is not a list of characters as Weft writes it");
  }
  std::string text = json["characters"];
  std::vector<char32_t> codes;
  for (size_t at = 0; at < text.size();) codes.push_back(next_code_point(text, at));
  if (std::adjacent_find(codes.begin(), codes.end(), std::greater_equal<>()) != codes.end()) {
    return error(file_loc(path), "the characters are not in ascending order");
  }
  return TokenizerPtr(std::make_unique<Characters>(std::move(codes), json["specials"].get<bool>()));
}

}  // namespace weft::data
