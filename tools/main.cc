// The command line of Weft.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <new>

#include "tools/cli.h"

namespace {

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
  weft::cli::add_dump(session);
  weft::cli::add_verify(session);
  weft::cli::add_devices(session);
  weft::cli::add_bench(session);
  weft::cli::add_docs(session);
  weft::cli::add_completion(session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "error: %s\nhint: run with --help for usage\n", e.what());
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
    std::fputs("error: out of memory\n", stderr);
    return weft::cli::kFailed;
  } catch (const std::exception& e) {  // of a library: ours has none
    weft::check_failed(e.what(), __FILE__, __LINE__);
  }
}
