// What the commands of `weft` share: common options, messages, results.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/simt/form.h"
#include "ir/graph/module.h"
#include "ir/support/result.h"
#include "ir/types/dim.h"
#include "passes/pass.h"

namespace weft::cli {

inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kInternal = 3;

// Options that every command takes.
struct Common {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  int threads = 0;  // 0 = all
  uint64_t seed = 1;
  std::string device = "cpu";
  std::string target_cpu = "native";
  simt::KernelForm form = {};
};

// A command: adds itself to the app and, when chosen, leaves its exit code in `exit_code`.
struct Session {
  CLI::App& app;
  Common common;
  int exit_code = 0;
};

// Adds a subcommand with the common options and an example below its help.
CLI::App* add_command(Session& session, const std::string& name, const std::string& summary,
                      const std::string& example);

// Fails if this build has no such device.
Status check_device_exists(const Common& common);

// What the library tells (ir/support/notice.h) goes to stderr like `note`.
void print_notices(const Common& common);

// `run` returns a Status; its failure is printed and becomes exit code 1.
template <class Run>
void on_run(Session& session, CLI::App* command, Run run) {
  command->callback([&session, run]() mutable {
    print_notices(session.common);
    Status status = check_device_exists(session.common);
    if (status.ok()) status = run();
    if (status.ok()) return;
    std::fputs(render(status.diagnostics()).c_str(), stderr);
    session.exit_code = kFailed;
  });
}

// --graph and --dim.
struct GraphOptions {
  std::string graph;
  std::vector<std::string> dims;  // "B=8"
};
void add_graph_options(CLI::App* command, GraphOptions& options);

// --skip, --fast-math and --no-fuse-attention.
struct PassFlags {
  std::vector<std::string> skip;
  bool fast_math = false;
  bool no_fuse_attention = false;

  PipelineOptions pipeline() const;
};
void add_pass_options(CLI::App* command, PassFlags& flags);
void add_rewrite_options(CLI::App* command, PassFlags& flags);  // all but --skip

// The sizes of --dim (their form was checked with the command line). Fails on a symbol that the
// module does not have.
Result<DimBinding> dim_binding(const Module& module, const GraphOptions& options);
// The named graph, or the only one, or @forward.
Result<const Graph*> choose_graph(const Module& module, const std::string& name);

// Remembers the module at work for the reproducer of an internal error.
void remember_for_reproducer(const Module& module);
void install_reproducer(int argc, char** argv);

// Messages go to stderr, and not at all with -q.
void note(const Common& common, const std::string& message);
// Only with -v: a cache that does not work costs time, nothing else.
void note_cache_problem(const Common& common, const std::string& problem);
// Results go to stdout. A failed write (a full disk) is an error.
Status put(const std::string& text);
Status put_json(const nlohmann::json& object);

Status put_text(const Common& common, const std::string& text);  // with --json as {"text": ..}
// Writes a module to a file, or to standard output if `output` is empty.
Status put_module(const Common& common, const Module& module, const std::string& output);

// Makes a folder for results unless it is there.
Status make_folder(const std::string& path);

// "63,082,496"
std::string with_commas(int64_t number);

// The commands, one file each in tools/commands/.
void add_models(Session& session);
void add_compile(Session& session);
void add_run(Session& session);
void add_grad(Session& session);
void add_derive(Session& session);
void add_dump(Session& session);
void add_explain(Session& session);
void add_profile(Session& session);
void add_tune(Session& session);
void add_verify(Session& session);
void add_train(Session& session);
void add_report(Session& session);
void add_translate(Session& session);
void add_eval(Session& session);
void add_generate(Session& session);
void add_devices(Session& session);
void add_bench(Session& session);
void add_docs(Session& session);
void add_completion(Session& session);

}  // namespace weft::cli
