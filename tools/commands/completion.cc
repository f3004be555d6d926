// weft completion: scripts for shells, made from the command line's own description.
// SPDX-License-Identifier: Apache-2.0
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Words {
  std::string name;
  std::string summary;
  std::vector<std::string> options;
};

std::vector<Words> commands(const CLI::App& app) {
  std::vector<Words> result;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    Words words{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) words.options.push_back("--" + name);
    }
    result.push_back(std::move(words));
  }
  return result;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string bash(const std::vector<Words>& all) {
  std::string names;
  std::string cases;
  for (const Words& words : all) {
    names += (names.empty() ? "" : " ") + words.name;
    cases += "    " + words.name + ") options=\"" + joined(words.options) + "\" ;;\n";
  }
  return "_weft() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} options=\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         "\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _weft weft\n";
}

std::string zsh(const std::vector<Words>& all) {
  return "#compdef weft\nautoload -U +X bashcompinit && bashcompinit\n" + bash(all);
}

std::string fish(const std::vector<Words>& all) {
  std::string out;
  for (const Words& words : all) {
    out += "complete -c weft -n __fish_use_subcommand -f -a " + words.name + " -d '" +
           words.summary + "'\n";
    for (const std::string& option : words.options) {
      out += "complete -c weft -n '__fish_seen_subcommand_from " + words.name + "' -l " +
             option.substr(2) + "\n";
    }
  }
  return out;
}

}  // namespace

void add_completion(Session& session) {
  CLI::App* command = add_command(session, "completion", "prints a completion script for a shell",
                                  "source <(weft completion bash)");
  auto shell =
      std::make_shared<std::string>();  // shared with the callback, which outlives this call
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  on_run(session, command, [&session, shell] {
    std::vector<Words> all = commands(session.app);
    std::string script = *shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all);
    return put_text(session.common, script);
  });
}

}  // namespace weft::cli
