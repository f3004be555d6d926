// weft docs: reference pages made from the program itself.
// SPDX-License-Identifier: Apache-2.0
#include "driver/op_docs.h"
#include "tools/cli.h"

namespace weft::cli {

void add_docs(Session& session) {
  CLI::App* command = add_command(session, "docs", "prints the reference of all ops (docs/ops.md)",
                                  "weft docs ops > docs/ops.md");
  auto page =
      std::make_shared<std::string>();  // shared with the callback, which outlives this call
  command->add_option("page", *page, "ops")->required()->check(CLI::IsMember({"ops"}));
  on_run(session, command, [&session, page] { return put_text(session.common, ops_markdown()); });
}

}  // namespace weft::cli
