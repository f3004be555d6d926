// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/generate.h"

#include <algorithm>

#include "driver/data/utf8.h"
#include "driver/decode/source_text.h"

namespace weft::decode {
namespace {

class Generation {
 public:
  Generation(DecodeModel& model, const GenerateOptions& options, const OnText& on_text)
      : tokenizer_(model.tokenizer()),
        options_(options),
        on_text_(on_text),
        decoder_(model),
        context_(model.graphs.context) {
    if (tokenizer_.has_specials()) banned_ = {data::kPad, data::kUnknown, data::kBegin};
  }

  Result<Generated> run(const std::string& prompt) {
    WEFT_TRY_STATUS(read_prompt(prompt));
    WEFT_TRY_STATUS(options_.beam > 0 ? search_text() : sample_text());
    return std::move(made_);
  }

 private:
  // Of a prompt that is too long, the end matters.
  Status read_prompt(const std::string& prompt) {
    WEFT_TRY(SourceText source, read_source(tokenizer_, prompt, INT64_MAX));
    made_.warnings = std::move(source.warnings);
    all_ = std::move(source.ids);
    if (all_.empty()) WEFT_TRY_STATUS(begin_from_nothing());
    const auto length = static_cast<int64_t>(all_.size());
    const int64_t room = std::max<int64_t>(context_ - 1, 1);
    if (length > room) {
      made_.warnings.push_back(cat("has ", length, " tokens, and the model takes ", context_,
                                   ": only the last ", room, " count"));
      all_.erase(all_.begin(), all_.end() - room);
    }
    made_.prompt_tokens = static_cast<int64_t>(all_.size());
    return ok();
  }

  // Where a text could begin.
  Status begin_from_nothing() {
    if (tokenizer_.has_specials()) {
      all_.push_back(data::kBegin);
    } else if (!tokenizer_.encode("\n", all_).ok()) {
      all_.push_back(0);
    }
    made_.warnings.emplace_back("is empty: the text begins as after a line's end");
    return ok();
  }

  Status read_all(const Ids& tokens) { return decoder_.begin_prompt(tokens, 1, 1, context_); }

  Status sample_text() {
    Sampler sampler(options_.sample);
    WEFT_TRY_STATUS(read_all(all_));
    std::vector<int32_t> banned = banned_;
    for (int64_t n = 0; n < options_.max_tokens; ++n) {
      banned.resize(banned_.size());
      if (n < options_.min_tokens && has_end()) banned.push_back(data::kEnd);
      WEFT_TRY(int32_t token,
               sampler.next(decoder_.logits(0), all_, banned, static_cast<uint64_t>(n)));
      if (has_end() && token == data::kEnd) return end("end");
      WEFT_TRY(bool stopped, append(token));
      if (stopped) return end("stop");
      if (n + 1 == options_.max_tokens) break;
      if (decoder_.position() < context_) {
        WEFT_TRY_STATUS(decoder_.step({&token, 1}));
      } else {
        WEFT_TRY_STATUS(read_all(Ids(all_.end() - std::max<int64_t>(context_ / 2, 1), all_.end())));
      }
    }
    return end("max-tokens");
  }

  Status search_text() {
    SearchOptions search;
    search.beam = options_.beam;
    search.length_penalty = options_.length_penalty;
    search.min_length = options_.min_tokens;
    search.max_length = options_.max_tokens;
    search.no_repeat = options_.sample.no_repeat;
    const int64_t room = context_ - made_.prompt_tokens;
    if (search.max_length > room) {
      made_.warnings.push_back(
          cat("leaves room for ", room, " tokens: beam search does not go beyond the context"));
      search.max_length = room;
    }
    search.min_length = std::min(search.min_length, search.max_length);
    search.has_specials = tokenizer_.has_specials();
    WEFT_TRY(std::vector<Hypothesis> found, search_prompt(decoder_, all_, search));
    if (found.empty()) return error({}, "the model gives no finite probabilities");
    for (int32_t token : found[0].tokens) {
      WEFT_TRY(bool stopped, append(token));
      if (stopped) return end("stop");
    }
    return end(found[0].ended ? "end" : "max-tokens");
  }

  bool has_end() const { return tokenizer_.has_specials(); }

  Status end(const char* reason) {
    made_.reason = reason;
    return show(true);
  }

  // True if the text has come to one of the stops, behind which nothing counts.
  Result<bool> append(int32_t token) {
    all_.push_back(token);
    made_.tokens.push_back(token);
    WEFT_TRY(std::string text, tokenizer_.decode(made_.tokens));
    made_.text = std::move(text);
    for (const std::string& stop : options_.stops) {
      const size_t found = made_.text.find(stop);
      if (found == std::string::npos) continue;
      made_.text.resize(found + stop.size());
      return true;
    }
    WEFT_TRY_STATUS(show(false));
    return false;
  }

  // What is new, in whole characters; a character of several tokens waits for the last of them.
  Status show(bool all) {
    if (!on_text_ || made_.text.size() <= shown_) return ok();
    std::string_view fresh = std::string_view(made_.text).substr(shown_);
    if (!all) fresh = fresh.substr(0, data::valid_utf8_prefix(fresh));
    if (!all && fresh.ends_with("\xEF\xBF\xBD")) return ok();
    shown_ += fresh.size();
    return fresh.empty() ? ok() : on_text_(fresh);
  }

  const data::Tokenizer& tokenizer_;
  const GenerateOptions& options_;
  const OnText& on_text_;
  Decoder decoder_;
  const int64_t context_;
  std::vector<int32_t> banned_;
  Ids all_;  // prompt and what came of it
  Generated made_;
  size_t shown_ = 0;  // bytes
};

}  // namespace

Status check(const GenerateOptions& options) {
  WEFT_TRY_STATUS(check(options.sample));
  if (options.max_tokens < 1) {
    return error({}, "--max-tokens is ", options.max_tokens, ", expected 1 or more");
  }
  if (options.min_tokens < 0 || options.min_tokens > options.max_tokens) {
    return error({}, "--min-tokens is ", options.min_tokens, ", expected 0 to --max-tokens");
  }
  if (options.beam < 0 || options.beam > 4096) {
    return error({}, "--beam is ", options.beam, ", expected 0 to 4096");
  }
  for (const std::string& stop : options.stops) {
    if (stop.empty()) return error({}, "--stop is empty");
  }
  return ok();
}

Result<Generated> generate(DecodeModel& model, const std::string& prompt,
                           const GenerateOptions& options, const OnText& on_text) {
  WEFT_TRY_STATUS(check(options));
  return Generation(model, options, on_text).run(prompt);
}

}  // namespace weft::decode
