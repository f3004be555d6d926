// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "driver/decode/proposals.h"

namespace weft::decode {
namespace {

constexpr size_t kTraced = 5;
constexpr double kNoGap = std::numeric_limits<double>::infinity();

// A hypothesis that may go on. `alive` is false for places without one: all but the first at the
// beginning.
struct Live {
  Ids tokens;
  double score = 0;
  bool alive = false;
  std::shared_ptr<const StepTrace> trace;
};

struct Sentence {
  size_t number = 0;       // of the source
  int64_t limit = 0;       // tokens
  std::vector<Live> live;  // one a beam
  std::vector<Hypothesis> finished;
  double least_gap = kNoGap;  // between scores of extensions
};

// A way to go on.
struct Extension {
  size_t parent = 0;  // beam
  int32_t token = 0;
  double score = 0;
};

class Search {
 public:
  Search(Decoder& decoder, const SearchOptions& options, int64_t context)
      : decoder_(decoder),
        options_(options),
        beam_(static_cast<size_t>(options.beam)),
        context_(context),
        proposals_(decoder, {2 * beam_, options.has_specials, options.no_repeat}) {}

  Result<std::vector<std::vector<Hypothesis>>> run(std::span<const Ids> sources) {
    int64_t capacity = 1;
    for (const Ids& source : sources) {
      add_sentence(limit_of(source));
      capacity = std::max(capacity, std::min(active_.back().limit + 1, context_));
    }
    WEFT_TRY_STATUS(decoder_.begin(sources, options_.beam, capacity));
    tokens_.assign(static_cast<size_t>(decoder_.rows()), data::kBegin);
    while (!active_.empty()) {
      WEFT_TRY_STATUS(decoder_.step(tokens_));
      WEFT_TRY_STATUS(advance_all());
    }
    return std::move(found_);
  }

  Result<std::vector<Hypothesis>> run_prompt(const Ids& prompt) {
    prompt_ = static_cast<int64_t>(prompt.size());
    add_sentence(options_.max_length);
    WEFT_TRY_STATUS(decoder_.begin_prompt(prompt, 1, options_.beam,
                                          std::min(context_, prompt_ + options_.max_length)));
    WEFT_TRY_STATUS(advance_all());
    while (!active_.empty()) {
      WEFT_TRY_STATUS(decoder_.step(tokens_));
      WEFT_TRY_STATUS(advance_all());
    }
    return std::move(found_[0]);
  }

 private:
  void add_sentence(int64_t limit) {
    active_.push_back({found_.size(), limit, std::vector<Live>(beam_), {}, kNoGap});
    active_.back().live[0].alive = true;
    found_.emplace_back();
  }

  int64_t limit_of(const Ids& source) const {
    const int64_t asked = options_.max_length > 0 ? options_.max_length
                                                  : 2 * static_cast<int64_t>(source.size()) + 10;
    return std::min(asked, context_);
  }

  Status advance_all() {
    copies_.clear();
    propose();
    std::vector<int64_t> going_on;
    for (size_t i = 0; i < active_.size(); ++i) {
      extend(active_[i], i);
      if (is_done(active_[i]) || !has_room(active_[i])) {
        finish(active_[i]);
      } else {
        going_on.push_back(static_cast<int64_t>(i));
      }
    }
    if (going_on.size() < active_.size()) drop_copies(going_on);
    WEFT_TRY_STATUS(decoder_.copy_rows(copies_));
    if (going_on.size() < active_.size()) {
      WEFT_TRY(std::vector<int64_t> order, decoder_.keep(going_on));
      std::vector<Sentence> kept;
      for (int64_t old : order) kept.push_back(std::move(active_[static_cast<size_t>(old)]));
      active_ = std::move(kept);
    }
    tokens_.clear();
    for (const Sentence& sentence : active_) {
      for (const Live& live : sentence.live) {
        tokens_.push_back(live.tokens.empty() ? data::kEnd : live.tokens.back());
      }
    }
    return ok();
  }

  // Whether its rows may read another token. The end may come behind as many as are allowed; if
  // nothing ends by itself, none need be looked for.
  bool has_room(const Sentence& sentence) const {
    const int64_t reads = prompt_ > 0 ? prompt_ + sentence.limit - 1 : sentence.limit + 1;
    return decoder_.position() < std::min(reads, context_);
  }

  // Those of sentences that leave are not worth the work.
  void drop_copies(const std::vector<int64_t>& going_on) {
    std::erase_if(copies_, [&](const RowCopy& copy) {
      return !std::ranges::binary_search(going_on, copy.from / options_.beam);
    });
  }

  // Once no hypothesis that goes on, if it ended next at no cost, would be among the best.
  bool is_done(const Sentence& sentence) const {
    double best = -std::numeric_limits<double>::infinity();
    bool alive = false;
    for (const Live& live : sentence.live) {
      if (!live.alive) continue;
      alive = true;
      best = std::max(best, normalised(live.score, live.tokens.size() + 1));
    }
    const std::vector<Hypothesis>& finished = sentence.finished;
    if (!alive || (beam_ == 1 && !finished.empty())) return true;
    const auto better = std::ranges::count_if(
        finished, [&](const Hypothesis& hypothesis) { return hypothesis.normalised >= best; });
    return better >= options_.n_best;
  }

  double normalised(double score, size_t length) const {
    return score /
           std::pow(static_cast<double>(std::max<size_t>(length, 1)), options_.length_penalty);
  }

  // The best ways to go on with a sentence, over all of its hypotheses: twice as many as beams, so
  // that enough are left if half of them end.
  void find_extensions(Sentence& sentence, size_t place) {
    extensions_.clear();
    for (size_t w = 0; w < beam_; ++w) {
      const Live& live = sentence.live[w];
      if (!live.alive) continue;
      const auto row = static_cast<int64_t>(place * beam_ + w);
      const double lse = decoder_.lse(row);
      for (const Candidate& c : proposals_.of(static_cast<size_t>(row))) {
        const double score = live.score + (static_cast<double>(c.logit) - lse);
        if (std::isfinite(score)) extensions_.push_back({w, c.token, score});
      }
    }
    std::ranges::stable_sort(extensions_, std::ranges::greater(), &Extension::score);
    if (extensions_.size() > 2 * beam_) extensions_.resize(2 * beam_);
    for (size_t i = 1; i < extensions_.size(); ++i) {
      const double gap = extensions_[i - 1].score - extensions_[i].score;
      sentence.least_gap = std::min(sentence.least_gap, gap);
    }
  }

  // Looks for candidates of all rows. At the limit only the end is left.
  void propose() {
    requests_.clear();
    for (const Sentence& sentence : active_) {
      for (const Live& live : sentence.live) {
        const auto length = static_cast<int64_t>(live.tokens.size());
        requests_.push_back({live.alive, length >= options_.min_length,
                             prompt_ == 0 && length >= sentence.limit, live.tokens});
      }
    }
    proposals_.find(requests_);
  }

  void extend(Sentence& sentence, size_t place) {
    find_extensions(sentence, place);
    std::vector<const Extension*> chosen;
    for (size_t i = 0; i < extensions_.size() && chosen.size() < beam_; ++i) {
      const Extension& way = extensions_[i];
      if (way.token != data::kEnd || !options_.has_specials) {
        chosen.push_back(&way);
      } else if (i < beam_) {
        end(sentence, way, place);
      }
    }
    put(sentence, chosen, place);
  }

  void end(Sentence& sentence, const Extension& way, size_t place) {
    const Live& parent = sentence.live[way.parent];
    const auto row = static_cast<int64_t>(place * beam_ + way.parent);
    bool forced = false;
    if (static_cast<int64_t>(parent.tokens.size()) >= sentence.limit) {
      top_candidates(decoder_.logits(row), 1, {}, candidates_);
      forced = candidates_[0].token != data::kEnd;
    }
    Hypothesis done{parent.tokens, way.score, 0, !forced, kNoGap, traced(parent, way, place)};
    done.normalised = normalised(way.score, parent.tokens.size() + 1);
    sentence.finished.push_back(std::move(done));
  }

  // The first child of a hypothesis stays in its row; others go to rows of those that have none.
  void put(Sentence& sentence, const std::vector<const Extension*>& chosen, size_t place) {
    std::vector<const Extension*> by_row(beam_, nullptr);
    std::vector<const Extension*> later;
    for (const Extension* way : chosen) {
      if (by_row[way->parent] == nullptr) {
        by_row[way->parent] = way;
      } else {
        later.push_back(way);
      }
    }
    size_t next = 0;
    for (const Extension* way : later) {
      while (by_row[next] != nullptr) ++next;
      by_row[next] = way;
      copies_.push_back({static_cast<int64_t>(place * beam_ + way->parent),
                         static_cast<int64_t>(place * beam_ + next)});
    }
    std::vector<Live> made(beam_);
    for (size_t w = 0; w < beam_; ++w) {
      if (by_row[w] == nullptr) continue;
      const Live& parent = sentence.live[by_row[w]->parent];
      made[w] = {parent.tokens, by_row[w]->score, true, traced(parent, *by_row[w], place)};
      made[w].tokens.push_back(by_row[w]->token);
    }
    sentence.live = std::move(made);
  }

  std::shared_ptr<const StepTrace> traced(const Live& parent, const Extension& way, size_t place) {
    if (!options_.trace) return nullptr;
    const auto row = static_cast<int64_t>(place * beam_ + way.parent);
    auto step = std::make_shared<StepTrace>();
    step->earlier = parent.trace;
    top_candidates(decoder_.logits(row), kTraced, {}, step->top);
    for (Candidate& c : step->top) c.logit -= decoder_.lse(row);
    step->chosen = way.token;
    step->log_probability = static_cast<float>(way.score - parent.score);
    const std::span<const float> weights = decoder_.weights(row);
    step->weights.assign(weights.begin(), weights.end());
    return step;
  }

  // What was cut counts only where too little came to its end.
  void finish(Sentence& sentence) {
    for (Live& live : sentence.live) {
      if (!live.alive || sentence.finished.size() >= static_cast<size_t>(options_.n_best)) continue;
      const double score = normalised(live.score, live.tokens.size());
      sentence.finished.push_back(
          {std::move(live.tokens), live.score, score, false, kNoGap, live.trace});
    }
    std::ranges::stable_sort(sentence.finished, [](const Hypothesis& a, const Hypothesis& b) {
      return a.ended != b.ended ? a.ended : a.normalised > b.normalised;
    });
    const auto wanted = static_cast<size_t>(options_.n_best);
    if (sentence.finished.size() > wanted) sentence.finished.resize(wanted);
    for (Hypothesis& hypothesis : sentence.finished) hypothesis.least_gap = sentence.least_gap;
    found_[sentence.number] = std::move(sentence.finished);
  }

  Decoder& decoder_;
  const SearchOptions& options_;
  const size_t beam_;
  const int64_t context_;
  int64_t prompt_ = 0;            // tokens before the first of ours; 0 behind a source
  std::vector<Sentence> active_;  // in the order of the decoder's sentences
  std::vector<std::vector<Hypothesis>> found_;
  Ids tokens_;  // that each row reads next
  std::vector<RowCopy> copies_;
  std::vector<Extension> extensions_;
  Proposals proposals_;
  std::vector<RowRequest> requests_;
  std::vector<Candidate> candidates_;
};

}  // namespace

Result<std::vector<std::vector<Hypothesis>>> search(Decoder& decoder, std::span<const Ids> sources,
                                                    const SearchOptions& options) {
  WEFT_TRY_STATUS(check(options));
  WEFT_CHECK(options.beam == 1 || decoder.has_scores(), "beams are compared by their scores");
  if (sources.empty()) return std::vector<std::vector<Hypothesis>>();
  return Search(decoder, options, decoder.context()).run(sources);
}

Result<std::vector<Hypothesis>> search_prompt(Decoder& decoder, const Ids& prompt,
                                              const SearchOptions& options) {
  WEFT_TRY_STATUS(check(options));
  WEFT_CHECK(options.beam == 1 || decoder.has_scores(), "beams are compared by their scores");
  return Search(decoder, options, decoder.context()).run_prompt(prompt);
}

}  // namespace weft::decode
