// weft translate: lines in, lines out.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "driver/decode/source_text.h"
#include "driver/decode/trace.h"
#include "driver/devices.h"
#include "ir/support/file.h"
#include "tools/cli.h"
#include "tools/decode_flags.h"

namespace weft::cli {
namespace {

using decode::Translated;

constexpr size_t kBatchesAtOnce = 32;  // that are read before the first is translated

struct Options {
  decode::ModelFiles files;
  decode::SearchOptions search;
  int64_t batch = 64;
  bool show_trace = false;
  std::string heatmap;
  std::string times;
};

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f", value);
  return text;
}

// With a trace if there is a tokenizer.
nlohmann::ordered_json as_json(int64_t line, const std::string& source, const Translated& done,
                               const data::Tokenizer* tokenizer) {
  nlohmann::ordered_json json = {{"line", line}, {"source", source}};
  json["translation"] = done.best[0].text;
  json["score"] = done.best[0].hypothesis.score;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const decode::Translation& one : done.best) {
    all.push_back({{"text", one.text},
                   {"score", one.hypothesis.score},
                   {"normalised", one.hypothesis.normalised},
                   {"ended", one.hypothesis.ended}});
  }
  json["n_best"] = std::move(all);
  if (tokenizer != nullptr) {
    json["source_tokens"] = done.source;
    json["trace"] = decode::trace_json(*tokenizer, done);
  }
  if (!done.warnings.empty()) json["warnings"] = done.warnings;
  return json;
}

std::string as_text(int64_t line, const Translated& done, int64_t n_best) {
  if (n_best == 1) return done.best[0].text + "\n";
  std::string text;
  for (const decode::Translation& one : done.best) {
    text += cat(line, "\t", number(one.hypothesis.normalised), "\t", one.text, "\n");
  }
  return text;
}

// What is there, up to as many lines as make some batches; at a terminal, one.
Status read_lines(decode::InputLines& input, size_t limit, const Common& common, int64_t first,
                  std::vector<std::string>& lines) {
  lines.clear();
  while (lines.size() < limit) {
    decode::InputLines::Line line;
    WEFT_TRY(bool more, input.next(line));
    if (!more) break;
    if (line.cut) {
      warn(common, cat("line ", first + static_cast<int64_t>(lines.size()),
                       " has more than a million bytes: the rest is left out"));
    }
    lines.push_back(std::move(line.text));
  }
  return ok();
}

class Translator {
 public:
  Translator(const Options& options, const Common& common, decode::DecodeModel& model,
             double open_ms)
      : options_(options), common_(common), model_(model), open_ms_(open_ms) {
    if (options.search.trace) traced_ = &model.tokenizer();
  }

  Status run() {
    decode::InputLines input(STDIN_FILENO);
    const size_t limit =
        ::isatty(STDIN_FILENO) != 0 ? 1 : kBatchesAtOnce * static_cast<size_t>(options_.batch);
    std::vector<std::string> lines;
    for (;;) {
      WEFT_TRY_STATUS(read_lines(input, limit, common_, number_, lines));
      if (lines.empty()) break;
      const Clock::time_point start = Clock::now();
      WEFT_TRY_STATUS(translate_some(lines));
      took_ms_ += ms_since(start);
    }
    if (common_.verbose) {
      note(common_, cat(number_ - 1, " lines, ", tokens_, " tokens in ", took_ms_ / 1e3,
                        " s: ", static_cast<double>(tokens_) / took_ms_ * 1e3, " tokens/s"));
    }
    if (!options_.times.empty()) WEFT_TRY_STATUS(write_file(options_.times, times()));
    return options_.heatmap.empty() ? ok() : write_file(options_.heatmap, heatmap_.page());
  }

 private:
  // What bench/translate_compare reads. Waiting for input counts nowhere.
  std::string times() const {
    return nlohmann::ordered_json{{"lines", number_ - 1},
                                  {"target_tokens", tokens_},
                                  {"open_ms", open_ms_},
                                  {"translate_ms", took_ms_},
                                  {"threads", model_.device->threads()},
                                  {"batch_ms", batch_ms_}}
               .dump() +
           "\n";
  }

  Status translate_some(const std::vector<std::string>& lines) {
    WEFT_TRY(std::vector<Translated> done,
             decode::translate(model_, lines, options_.search, options_.batch));
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i, ++number_) {
      for (const std::string& warning : done[i].warnings) {
        warn(common_, cat("line ", number_, " ", warning));
      }
      tokens_ += done[i].target_tokens;
      if (done[i].batch_ms > 0) batch_ms_.push_back(done[i].batch_ms);
      if (!options_.heatmap.empty()) heatmap_.add(*traced_, number_, done[i]);
      const data::Tokenizer* shown = options_.show_trace ? traced_ : nullptr;
      if (common_.json) {
        // What a line holds need not be UTF-8.
        out += as_json(number_, lines[i], done[i], shown)
                   .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
               "\n";
        continue;
      }
      out += as_text(number_, done[i], options_.search.n_best);
      if (shown != nullptr) out += decode::trace_text(*shown, done[i]);
    }
    WEFT_TRY_STATUS(put(out));
    std::fflush(stdout);
    return ok();
  }

  const Options& options_;
  const Common& common_;
  decode::DecodeModel& model_;
  const data::Tokenizer* traced_ = nullptr;
  decode::Heatmap heatmap_;
  int64_t number_ = 1;  // of the next line
  int64_t tokens_ = 0;
  double open_ms_ = 0;
  double took_ms_ = 0;
  std::vector<double> batch_ms_;  // one a batch
};

}  // namespace

void add_translate(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "translate", "translates lines of standard input with a trained model",
                  "echo 'I love you' | weft translate run --beam 4");
  add_model_flags(command, options->files, "--src and --tgt");
  add_search_flags(command, options->search);
  command->add_option("--batch", options->batch, "lines at a time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_flag("--trace", options->show_trace,
                    "shows each step's five likeliest tokens, and what it attended to");
  command->add_option("--heatmap", options->heatmap,
                      "HTML file for a drawing of source against target");
  command->add_option("--times", options->times,
                      "JSON file for the times of opening, of translating and of each batch");
  on_run(session, command, [&session, options]() -> Status {
    Common& common = session.common;
    options->search.trace = options->show_trace || !options->heatmap.empty();
    WEFT_TRY_STATUS(decode::check(options->search));
    WEFT_TRY(std::string notice, choose_device(common.device));
    if (!notice.empty()) note(common, notice);
    decode::OpenOptions open = open_options(common);
    open.weights = options->search.trace;
    open.scores = options->search.beam > 1 || options->search.trace || common.json;
    if (options->search.beam == 1) open.beams = 1;
    const Clock::time_point start = Clock::now();
    WEFT_TRY(std::unique_ptr<decode::DecodeModel> model,
             decode::open_model(options->files, data::TaskKind::translation, open));
    for (const std::string& text : model->notes) note(common, text);
    return Translator(*options, common, *model, ms_since(start)).run();
  });
}

}  // namespace weft::cli
