// weft report: the page of a training run.
// SPDX-License-Identifier: Apache-2.0
#include "driver/report/report.h"

#include "driver/devices.h"
#include "ir/support/file.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string run;
  std::string output = "report.html";
  std::string sentence;
  std::string target;
};

Status report(const Options& options, bool has_sentence, bool has_target, const Common& common) {
  report::ReportOptions request;
  request.run = options.run;
  if (has_sentence) request.sentence = options.sentence;
  if (has_target) request.target = options.target;
  request.device = {common.device, common.target_cpu, common.threads, common.seed, common.form};
  WEFT_TRY(nlohmann::ordered_json data, report::gather(request));
  for (const auto& text : data["notes"]) note(common, text.get<std::string>());
  WEFT_TRY_STATUS(write_file(options.output, report::page(data)));
  if (options.output == "-") return ok();
  if (!common.json) return put(options.output + "\n");
  return put_json({{"report", options.output},
                   {"lines", data["lines"].size()},
                   {"warnings", data["warnings"].size()},
                   {"notes", data["notes"]}});
}

}  // namespace

void add_report(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this
  CLI::App* command =
      add_command(session, "report", "learning curves and attention of a run, as one web page",
                  "weft report run -o report.html --sentence \"I love you\"");
  command->add_option("run", options->run, "the folder of a run of weft train")->required();
  command->add_option("-o,--output", options->output, "the page")->capture_default_str();
  CLI::Option* sentence = command->add_option(
      "--sentence", options->sentence, "show the attention of this text; else of validation data");
  CLI::Option* target =
      command->add_option("--target", options->target, "its translation; else decoded greedily")
          ->needs(sentence);
  on_run(session, command, [&session, options, sentence, target]() -> Status {
    WEFT_TRY(std::string notice, choose_device(session.common.device));
    if (!notice.empty()) note(session.common, notice);
    return report(*options, sentence->count() > 0, target->count() > 0, session.common);
  });
}

}  // namespace weft::cli
