// SPDX-License-Identifier: Apache-2.0
#include "tools/cli.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <set>

#include "driver/devices.h"
#include "driver/model_file.h"
#include "ir/support/file.h"
#include "ir/support/notice.h"
#include "ir/text/text.h"

namespace weft::cli {
namespace {

std::string check_dim(const std::string& text) {
  size_t equals = text.find('=');
  int64_t size = 0;
  const char* end = text.data() + text.size();
  bool good = equals != std::string::npos && equals > 0;
  if (good) {
    auto [stop, status] = std::from_chars(text.data() + equals + 1, end, size);
    good = status == std::errc() && stop == end && size >= 0;
  }
  return good ? "" : "'" + text + "' is not NAME=SIZE, for instance B=8";
}

std::string check_seed(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  auto [stop, status] = std::from_chars(text.data(), end, seed);
  bool good = status == std::errc() && stop == end;
  return good ? "" : "'" + text + "' is not a seed: a whole number from 0 on, for instance 1";
}

std::string check_device(const std::string& text) {
  for (const char* family : {"cpu", "oracle", "vulkan", "cuda"}) {
    if (text == family || text.starts_with(std::string(family) + ":")) return "";
  }
  return "'" + text + "' is not a device; `weft devices` lists them";
}

// What an internal error writes down: the command and the module at work.
std::string reproducer_command;
std::string reproducer_module;

void write_reproducer(std::string_view message) {
  std::string path = "weft-reproducer-" + std::to_string(::getpid()) + ".weft";
  std::string text = "// " + std::string(message.substr(0, message.find('\n'))) + "\n// " +
                     reproducer_command + "\n" + reproducer_module;
  std::fprintf(stderr, "error: internal: %.*s\n", static_cast<int>(message.size()), message.data());
  if (write_file(path, text).ok()) {
    std::fprintf(stderr, "a reproducer was written to %s\nhint: please report it, with that file\n",
                 path.c_str());
  }
  std::fflush(stderr);
  std::_Exit(kInternal);
}

}  // namespace

CLI::App* add_command(Session& session, const std::string& name, const std::string& summary,
                      const std::string& example) {
  CLI::App* command = session.app.add_subcommand(name, summary);
  Common& common = session.common;
  command->footer("Example:\n  " + example);
  command->add_flag("--json", common.json, "results as one JSON object a line");
  command->add_flag("-q,--quiet", common.quiet, "no messages");
  command->add_flag("-v,--verbose", common.verbose, "more messages");
  command->add_option("--device", common.device, "cpu, oracle, vulkan[:N], cuda[:N]")
      ->check(check_device)
      ->capture_default_str();
  command->add_option("--threads", common.threads, "threads to use; 0 = one per core")
      ->check(CLI::Range(0, 4096));
  command->add_option("--seed", common.seed, "seed of initial values and random inputs")
      ->check(check_seed)
      ->capture_default_str();
  command->add_option("--target-cpu", common.target_cpu, "vector code for this kind of CPU")
      ->check(CLI::IsMember({"native", "generic", "avx2", "avx512"}))
      ->capture_default_str();
  auto set_mapping = [&common](const std::string& form) {
    common.form.mapping = form == "register" ? simt::Mapping::registers : simt::Mapping::workgroup;
  };
  command
      ->add_option_function<std::string>("--mapping", set_mapping,
                                         "where Vulkan kernels keep tiles: register, workgroup; "
                                         "left away, the device decides")
      ->check(CLI::IsMember({"register", "workgroup"}));
  auto set_matrices = [&common](const std::string& form) {
    common.form.matrices = form == "none" ? simt::Matrices::none : simt::Matrices::as_loops;
  };
  command
      ->add_option_function<std::string>("--matrices", set_matrices,
                                         "none: no matrix units in Vulkan kernels; as-loops: their "
                                         "kernels on any device, slowly; left away, the device "
                                         "decides")
      ->check(CLI::IsMember({"none", "as-loops"}));
  return command;
}

void add_graph_options(CLI::App* command, GraphOptions& options) {
  command->add_option("--graph", options.graph, "one graph of the module, for instance @forward");
  command->add_option("--dim", options.dims, "size of a symbolic dim, for instance B=8")
      ->check(check_dim)
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false);
}

void add_pass_options(CLI::App* command, PassFlags& flags) {
  command->add_option("--skip", flags.skip, "leave this pass out")->allow_extra_args(false);
  add_rewrite_options(command, flags);
}

void add_rewrite_options(CLI::App* command, PassFlags& flags) {
  command->add_flag("--fast-math", flags.fast_math,
                    "also rules that are wrong for NaN or infinities");
  command->add_flag("--no-fuse-attention", flags.no_fuse_attention,
                    "leave attention as written, with its scores in memory, for comparison");
}

PipelineOptions PassFlags::pipeline() const {
  PipelineOptions options;
  options.skip = skip;
  options.pass.fast_math = fast_math;
  options.pass.fuse_attention = !no_fuse_attention;
  return options;
}

Result<DimBinding> dim_binding(const Module& module, const GraphOptions& options) {
  std::set<std::string> symbols = symbols_of(module);
  DimBinding binding;
  for (const std::string& text : options.dims) {
    size_t equals = text.find('=');
    std::string symbol = text.substr(0, equals);
    int64_t size = 0;
    std::from_chars(text.data() + equals + 1, text.data() + text.size(), size);
    if (symbols.count(symbol) == 0) {
      return error({}, "--dim ", text, ": the module has no dim '", symbol, "'")
          .hint(did_you_mean(symbol, {symbols.begin(), symbols.end()}));
    }
    auto [known, fresh] = binding.emplace(symbol, size);
    if (!fresh && known->second != size) {
      return error({}, "--dim ", symbol, " is given as ", known->second, " and as ", size);
    }
  }
  return binding;
}

Result<const Graph*> choose_graph(const Module& module, const std::string& name) {
  if (module.graphs.empty()) return error({}, "the module has no graph");
  if (name.empty() && module.graphs.size() == 1) return &module.graphs[0];
  if (const Graph* graph = module.find_graph(name.empty() ? "forward" : name)) return graph;
  std::string names;
  for (const Graph& graph : module.graphs) names += (names.empty() ? "@" : ", @") + graph.name();
  if (name.empty())
    return error({}, "the module has several graphs: ", names).hint("name one with --graph");
  return error({}, "the module has no graph '", name, "', only ", names)
      .hint(did_you_mean(name.starts_with('@') ? name.substr(1) : name, module.graph_names()));
}

void remember_for_reproducer(const Module& module) { reproducer_module = print(module); }

void install_reproducer(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) reproducer_command += (i > 0 ? " " : "") + std::string(argv[i]);
  std::replace(reproducer_command.begin(), reproducer_command.end(), '\n', ' ');
  set_check_handler(write_reproducer);
}

void note(const Common& common, const std::string& message) {
  if (!common.quiet) std::fprintf(stderr, "note: %s\n", message.c_str());
}

void print_notices(const Common& common) {
  const NoticeHandler print = [](const std::string& text) {
    std::fprintf(stderr, "note: %s\n", text.c_str());
  };
  set_notice_handler(common.quiet ? nullptr : print);
}

void note_cache_problem(const Common& common, const std::string& problem) {
  if (common.verbose && !problem.empty()) note(common, "kernels are not kept: " + problem);
}

Status put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return error({}, "cannot write to standard output: ", std::strerror(errno));
  }
  return ok();
}

Status put_json(const nlohmann::json& object) {
  return put(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Status put_text(const Common& common, const std::string& text) {
  return common.json ? put_json({{"text", text}}) : put(text);
}

Status put_module(const Common& common, const Module& module, const std::string& output) {
  if (output.empty()) return put_text(common, print(module));
  WEFT_TRY_STATUS(save_model(module, output));
  if (!common.json || output == "-") return ok();
  return put_json({{"module", module.name}, {"output", output}, {"graphs", module.graph_names()}});
}

Status check_device_exists(const Common& common) {
  WEFT_TRY(std::string notice, choose_device(common.device));
  return ok();
}

std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return ok();
  return error({}, path, ": cannot make the folder: ", std::strerror(errno));
}

}  // namespace weft::cli
