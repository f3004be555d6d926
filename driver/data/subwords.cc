// Subwords by sentencepiece, which nothing else includes.
// SPDX-License-Identifier: Apache-2.0
#include "driver/data/make_tokenizer.h"
#include "driver/data/text_file.h"

#ifdef WEFT_HAS_SENTENCEPIECE
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>
#endif

namespace weft::data {

#ifdef WEFT_HAS_SENTENCEPIECE

namespace {

// Settings that could change the outcome are spelt out, so that it does not follow their defaults.
constexpr const char* kTrainingThreads = "4";  // not the machine's number: sums would differ

// What sentencepiece says, without the place in its sources: "Internal: a.cc(1) [x] Message".
std::string message_of(const sentencepiece::util::Status& status) {
  std::string text = status.ToString();
  size_t bracket = text.rfind("] ");
  return bracket == std::string::npos ? text : text.substr(bracket + 2);
}

class Subwords final : public Tokenizer {
 public:
  static Result<TokenizerPtr> load(const std::string& path, std::string bytes, TokenizerKind kind) {
    auto made = std::make_unique<Subwords>();
    auto status = made->processor_.LoadFromSerializedProto(bytes);
    if (!status.ok()) {
      return error(file_loc(path), "is not a sentencepiece model: ", message_of(status));
    }
    const auto& p = made->processor_;
    if (p.pad_id() != kPad || p.unk_id() != kUnknown || p.bos_id() != kBegin ||
        p.eos_id() != kEnd) {
      return error(file_loc(path), "pad, unknown, begin and end are ", p.pad_id(), ", ", p.unk_id(),
                   ", ", p.bos_id(), " and ", p.eos_id(), ", expected 0, 1, 2 and 3");
    }
    made->bytes_ = std::move(bytes);
    made->kind_ = kind;
    return TokenizerPtr(std::move(made));
  }

  TokenizerKind kind() const override { return kind_; }
  int64_t vocab() const override { return processor_.GetPieceSize(); }
  bool has_specials() const override { return true; }

  Status encode(std::string_view text, std::vector<int32_t>& ids) const override {
    thread_local std::vector<int> found;
    auto status = processor_.Encode({text.data(), text.size()}, &found);
    if (!status.ok()) return error({}, "the text cannot be split: ", message_of(status));
    ids.insert(ids.end(), found.begin(), found.end());
    return ok();
  }

  Result<std::string> decode(const std::vector<int32_t>& ids) const override {
    for (int32_t id : ids) {
      if (id < 0 || id >= vocab()) {
        return error({}, "token ", id, " is not in the vocabulary of ", vocab());
      }
    }
    std::string text;
    auto status = processor_.Decode(ids, &text);
    if (!status.ok()) return error({}, "the tokens make no text: ", message_of(status));
    return text;
  }

  std::string piece(int32_t id) const override {
    return id < 0 || id >= vocab() ? "" : processor_.IdToPiece(id);
  }
  std::string file_name() const override { return kSubwordsFile; }
  std::string serialize() const override { return bytes_; }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  std::string bytes_;
  TokenizerKind kind_ = TokenizerKind::bpe;
};

// Hands texts to the trainer; an error of ours waits in `failure`.
class Sentences final : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(TextSource& texts) : texts_(texts) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override {
    using sentencepiece::util::StatusCode;
    if (failure.empty()) return {};
    return {StatusCode::kCancelled, "the texts cannot be read"};
  }
  void Next() override {
    std::string_view text;
    do {
      Result<bool> some = texts_.next(text);
      if (!some.ok()) failure = some.diagnostics();
      done_ = !some.ok() || !*some;
      while (!done_ && !text.empty() && text.back() == '\n') text.remove_suffix(1);
    } while (!done_ && text.empty());
    value_ = done_ ? std::string_view() : text;
    std::replace(value_.begin(), value_.end(), '\t', ' ');  // the trainer skips texts with tabs
    std::replace(value_.begin(), value_.end(), '\n', ' ');
  }

  Diagnostics failure;

 private:
  TextSource& texts_;
  std::string value_;
  bool done_ = false;
};

std::unordered_map<std::string, std::string> settings_of(const SubwordOptions& options) {
  std::unordered_map<std::string, std::string> settings = {
      {"model_type", std::string(name(options.kind))},
      {"vocab_size", cat(options.vocab)},
      {"hard_vocab_limit", "false"},
      {"pad_id", cat(kPad)},
      {"unk_id", cat(kUnknown)},
      {"bos_id", cat(kBegin)},
      {"eos_id", cat(kEnd)},
      {"character_coverage", "1.0"},
      {"max_sentence_length", cat(kMaxPieceBytes)},
      {"num_threads", kTrainingThreads},
      {"minloglevel", "2"},
  };
  if (options.lossless) {
    settings.insert({{"normalization_rule_name", "identity"},
                     {"remove_extra_whitespaces", "false"},
                     {"add_dummy_prefix", "false"},
                     {"byte_fallback", "true"},  // characters that the texts do not have
                     {"user_defined_symbols", "\n,\t"}});
  }
  return settings;
}

}  // namespace

bool have_subwords() { return true; }

Result<TokenizerPtr> make_subwords(TextSource& texts, const SubwordOptions& options) {
  Sentences sentences(texts);
  if (sentences.done() && sentences.failure.empty()) {
    return error({}, "subwords cannot be learned: every text is empty");
  }
  std::string model;
  auto status =
      sentencepiece::SentencePieceTrainer::Train(settings_of(options), &sentences, &model);
  if (!sentences.failure.empty()) return Error(std::move(sentences.failure));
  if (!status.ok()) {
    return error({}, "a vocabulary of ", options.vocab,
                 " subwords cannot be learned: ", message_of(status))
        .hint("each character needs a place in it: give more with --vocab-size");
  }
  WEFT_TRY(TokenizerPtr made,
           Subwords::load("the model just trained", std::move(model), options.kind));
  if (options.exact && made->vocab() != options.vocab) {
    return error({}, "the texts have only ", made->vocab(), " subwords, not ", options.vocab)
        .hint(cat("give --vocab-size ", made->vocab(), " or more text"));
  }
  return made;
}

Result<TokenizerPtr> read_subwords(const std::string& path, const std::string& bytes,
                                   TokenizerKind kind) {
  return Subwords::load(path, bytes, kind);
}

#else

namespace {

Error missing() {
  return error({}, "this build has no sentencepiece, which subwords need")
      .hint("use --tokenizer char, or install libsentencepiece-dev and build again");
}

}  // namespace

bool have_subwords() { return false; }
Result<TokenizerPtr> make_subwords(TextSource&, const SubwordOptions&) { return missing(); }
Result<TokenizerPtr> read_subwords(const std::string&, const std::string&, TokenizerKind) {
  return missing();
}

#endif

}  // namespace weft::data
