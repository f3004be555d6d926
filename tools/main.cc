// The command line of Weft.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "tools/cli.h"
#include "tools/refused_bytes.h"

namespace {

// Why the command line is wrong, and what to type instead.
std::string usage_error(const CLI::App& app, const CLI::ParseError& failure, int argc,
                        char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  bool unknown = !word.empty() && word[0] != '-' && std::ranges::find(names, word) == names.end();
  std::string message = unknown ? "there is no command '" + word + "'" : failure.what();
  std::string hint = unknown ? weft::did_you_mean(word, names) : "";
  if (hint.empty()) hint = "run with --help for usage";
  return weft::render(weft::Diagnostic{{}, std::move(message), {}, std::move(hint)});
}

int run(int argc, char** argv) {
  CLI::App app("Weft compiles compute graphs for Transformers.", "weft");
  app.set_version_flag("--version", WEFT_VERSION);
  app.require_subcommand(1);
  app.footer("`weft COMMAND --help` shows a command's options and an example.");
  weft::cli::Session session{app, {}, 0};
  weft::cli::add_models(session);
  weft::cli::add_compile(session);
  weft::cli::add_run(session);
  weft::cli::add_grad(session);
  weft::cli::add_derive(session);
  weft::cli::add_dump(session);
  weft::cli::add_explain(session);
  weft::cli::add_profile(session);
  weft::cli::add_tune(session);
  weft::cli::add_verify(session);
  weft::cli::add_train(session);
  weft::cli::add_report(session);
  weft::cli::add_translate(session);
  weft::cli::add_eval(session);
  weft::cli::add_generate(session);
  weft::cli::add_devices(session);
  weft::cli::add_bench(session);
  weft::cli::add_docs(session);
  weft::cli::add_completion(session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fputs(usage_error(app, e, argc, argv).c_str(), stderr);
    return weft::cli::kWrongUsage;
  }
  return session.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  weft::cli::install_reproducer(argc, argv);
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "error: the host is out of memory: %zu bytes were asked for in one piece\n"
                 "hint: smaller sizes, for example --dim B=1, or a smaller --batch\n",
                 weft::cli::refused_bytes());
    return weft::cli::kFailed;
  } catch (const std::exception& e) {  // of a library: ours has none
    weft::check_failed(e.what(), __FILE__, __LINE__);
  }
}
