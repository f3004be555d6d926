// weft translate: lines in, lines out.
// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/translate.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "driver/decode/source_text.h"
#include "driver/devices.h"
#include "tools/cli.h"
#include "tools/decode_flags.h"

namespace weft::cli {
namespace {

using decode::Translated;

constexpr size_t kBatchesAtOnce = 32;  // that are read before the first is translated

struct Options {
  std::string run;
  decode::SearchOptions search;
  int64_t batch = 64;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f", value);
  return text;
}

nlohmann::ordered_json as_json(int64_t line, const std::string& source, const Translated& done) {
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

Status translate_all(const Options& options, const Common& common, decode::DecodeModel& model) {
  decode::InputLines input(STDIN_FILENO);
  const size_t limit =
      ::isatty(STDIN_FILENO) != 0 ? 1 : kBatchesAtOnce * static_cast<size_t>(options.batch);
  std::vector<std::string> lines;
  int64_t number = 1;
  int64_t tokens = 0;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    WEFT_TRY_STATUS(read_lines(input, limit, common, number, lines));
    if (lines.empty()) break;
    WEFT_TRY(std::vector<Translated> done,
             decode::translate(model, lines, options.search, options.batch));
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i, ++number) {
      for (const std::string& warning : done[i].warnings) {
        warn(common, cat("line ", number, " ", warning));
      }
      tokens += done[i].target_tokens;
      if (common.json) {
        WEFT_TRY_STATUS(put_json(as_json(number, lines[i], done[i])));
      } else {
        out += as_text(number, done[i], options.search.n_best);
      }
    }
    WEFT_TRY_STATUS(put(out));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (common.verbose) {
    note(common, cat(number - 1, " lines, ", tokens, " tokens in ", took.count(),
                     " s: ", static_cast<double>(tokens) / took.count(), " tokens/s"));
  }
  return ok();
}

}  // namespace

void add_translate(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "translate", "translates lines of standard input with a trained model",
                  "echo 'I love you' | weft translate run --beam 4");
  command->add_option("run", options->run, "folder of a run that was trained on --src and --tgt")
      ->required();
  add_search_flags(command, options->search);
  command->add_option("--batch", options->batch, "lines at a time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  on_run(session, command, [&session, options]() -> Status {
    Common& common = session.common;
    WEFT_TRY_STATUS(decode::check(options->search));
    WEFT_TRY(std::string notice, choose_device(common.device));
    if (!notice.empty()) note(common, notice);
    WEFT_TRY(std::unique_ptr<decode::DecodeModel> model,
             decode::open_run(options->run, data::TaskKind::translation, open_options(common)));
    return translate_all(*options, common, *model);
  });
}

}  // namespace weft::cli
