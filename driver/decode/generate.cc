// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/generate.h"

#include <algorithm>

#include "driver/data/utf8.h"
#include "driver/decode/source_text.h"

namespace weft::decode {
namespace {

// A prompt and what comes of it.
struct Text {
  Ids all;  // tokens: the prompt's, then ours
  Generated made;
  size_t shown = 0;  // bytes
};

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

  Result<std::vector<Generated>> run(const std::vector<std::string>& prompts) {
    for (const std::string& prompt : prompts) {
      texts_.emplace_back();
      WEFT_TRY_STATUS(read_prompt(prompt, texts_.back()));
    }
    if (options_.beam > 0) {
      for (Text& text : texts_) WEFT_TRY_STATUS(search_text(text));
    } else {
      WEFT_TRY_STATUS(sample_texts());
    }
    std::vector<Generated> made;
    for (Text& text : texts_) made.push_back(std::move(text.made));
    return made;
  }

 private:
  // Of a prompt that is too long, the end matters.
  Status read_prompt(const std::string& prompt, Text& text) {
    WEFT_TRY(SourceText source, read_source(tokenizer_, prompt, INT64_MAX));
    text.made.warnings = std::move(source.warnings);
    text.all = std::move(source.ids);
    if (text.all.empty()) begin_from_nothing(text);
    const auto length = static_cast<int64_t>(text.all.size());
    const int64_t room = std::max<int64_t>(context_ - 1, 1);
    if (length > room) {
      text.made.warnings.push_back(cat("has ", length, " tokens, and the model takes ", context_,
                                       ": only the last ", room, " count"));
      text.all.erase(text.all.begin(), text.all.end() - room);
    }
    text.made.prompt_tokens = static_cast<int64_t>(text.all.size());
    return ok();
  }

  // Where a text could begin.
  void begin_from_nothing(Text& text) const {
    if (tokenizer_.has_specials()) {
      text.all.push_back(data::kBegin);
    } else if (!tokenizer_.encode("\n", text.all).ok()) {
      text.all.push_back(0);
    }
    text.made.warnings.emplace_back("is empty: the text begins as after a line's end");
  }

  // The rows of the decoder are the texts that go on, and all have read equally much.
  Status sample_texts() {
    Sampler sampler(options_.sample);
    size_t shortest = texts_[0].all.size();
    for (Text& text : texts_) {
      going_on_.push_back(&text);
      shortest = std::min(shortest, text.all.size());
    }
    WEFT_TRY_STATUS(read_all([&](const Text& text) {
      return Ids(text.all.begin(), text.all.begin() + static_cast<std::ptrdiff_t>(shortest));
    }));
    size_t read = shortest;
    for (;;) {
      WEFT_TRY_STATUS(choose_tokens(sampler, read));
      if (going_on_.empty()) return ok();
      if (decoder_.position() < context_) {
        Ids tokens;
        for (const Text* text : going_on_) tokens.push_back(text->all[read]);
        WEFT_TRY_STATUS(decoder_.step(tokens));
      } else {
        const auto half = static_cast<std::ptrdiff_t>(std::max<int64_t>(context_ / 2, 1));
        WEFT_TRY_STATUS(
            read_all([&](const Text& text) { return Ids(text.all.end() - half, text.all.end()); }));
      }
      ++read;
    }
  }

  template <class Part>
  Status read_all(Part part) {
    std::vector<Ids> parts;
    for (const Text* text : going_on_) parts.push_back(part(*text));
    return decoder_.begin_prompts(parts, 1, context_);
  }

  // Gives a token to each text of which all was read; those that end leave.
  Status choose_tokens(Sampler& sampler, size_t read) {
    std::vector<int64_t> stay;
    for (size_t row = 0; row < going_on_.size(); ++row) {
      Text& text = *going_on_[row];
      bool ended = false;
      if (text.all.size() == read) {
        WEFT_TRY(ended, sample(sampler, text, static_cast<int64_t>(row)));
      }
      if (!ended) stay.push_back(static_cast<int64_t>(row));
    }
    if (stay.size() == going_on_.size()) return ok();
    std::vector<Text*> kept;
    if (!stay.empty()) {
      WEFT_TRY(std::vector<int64_t> order, decoder_.keep(stay));
      for (int64_t old : order) kept.push_back(going_on_[static_cast<size_t>(old)]);
    }
    going_on_ = std::move(kept);
    return ok();
  }

  // True if the text is at its end.
  Result<bool> sample(Sampler& sampler, Text& text, int64_t row) {
    const auto n = static_cast<int64_t>(text.made.tokens.size());
    std::vector<int32_t> banned = banned_;
    if (n < options_.min_tokens && has_end()) banned.push_back(data::kEnd);
    WEFT_TRY(int32_t token,
             sampler.next(decoder_.logits(row), text.all, banned, static_cast<uint64_t>(n)));
    const char* reason = nullptr;
    if (has_end() && token == data::kEnd) {
      reason = "end";
    } else {
      WEFT_TRY(bool stopped, append(text, token));
      if (stopped) reason = "stop";
      if (!stopped && n + 1 == options_.max_tokens) reason = "max-tokens";
    }
    if (reason == nullptr) return false;
    WEFT_TRY_STATUS(end(text, reason));
    return true;
  }

  Status search_text(Text& text) {
    SearchOptions search;
    search.beam = options_.beam;
    search.length_penalty = options_.length_penalty;
    search.min_length = options_.min_tokens;
    search.max_length = options_.max_tokens;
    search.no_repeat = options_.sample.no_repeat;
    const int64_t room = context_ - text.made.prompt_tokens;
    if (search.max_length > room) {
      text.made.warnings.push_back(
          cat("leaves room for ", room, " tokens: beam search does not go beyond the context"));
      search.max_length = room;
    }
    search.min_length = std::min(search.min_length, search.max_length);
    search.has_specials = tokenizer_.has_specials();
    WEFT_TRY(std::vector<Hypothesis> found, search_prompt(decoder_, text.all, search));
    if (found.empty()) return error({}, "the model gives no finite probabilities");
    for (int32_t token : found[0].tokens) {
      WEFT_TRY(bool stopped, append(text, token));
      if (stopped) return end(text, "stop");
    }
    return end(text, found[0].ended ? "end" : "max-tokens");
  }

  bool has_end() const { return tokenizer_.has_specials(); }

  Status end(Text& text, const char* reason) {
    text.made.reason = reason;
    return show(text, true);
  }

  // True if the text has come to one of the stops, behind which nothing counts.
  Result<bool> append(Text& text, int32_t token) {
    text.all.push_back(token);
    text.made.tokens.push_back(token);
    WEFT_TRY(text.made.text, tokenizer_.decode(text.made.tokens));
    for (const std::string& stop : options_.stops) {
      const size_t found = text.made.text.find(stop);
      if (found == std::string::npos) continue;
      text.made.text.resize(found + stop.size());
      return true;
    }
    WEFT_TRY_STATUS(show(text, false));
    return false;
  }

  // What is new, in whole characters; a character of several tokens waits for the last of them.
  Status show(Text& text, bool all) {
    if (!on_text_ || text.made.text.size() <= text.shown) return ok();
    std::string_view fresh = std::string_view(text.made.text).substr(text.shown);
    if (!all) fresh = fresh.substr(0, data::valid_utf8_prefix(fresh));
    if (!all && fresh.ends_with("\xEF\xBF\xBD")) return ok();
    text.shown += fresh.size();
    return fresh.empty() ? ok() : on_text_(fresh);
  }

  const data::Tokenizer& tokenizer_;
  const GenerateOptions& options_;
  const OnText& on_text_;
  Decoder decoder_;
  const int64_t context_;
  std::vector<int32_t> banned_;
  std::vector<Text> texts_;
  std::vector<Text*> going_on_;  // by row
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
  WEFT_TRY(std::vector<Generated> made, generate_all(model, {prompt}, options, on_text));
  return std::move(made[0]);
}

Result<std::vector<Generated>> generate_all(DecodeModel& model,
                                            const std::vector<std::string>& prompts,
                                            const GenerateOptions& options, const OnText& on_text) {
  WEFT_TRY_STATUS(check(options));
  if (prompts.empty()) return std::vector<Generated>();
  return Generation(model, options, on_text).run(prompts);
}

}  // namespace weft::decode
