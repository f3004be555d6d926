// Options of the commands that decode.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/decode/search.h"
#include "tools/cli.h"

namespace weft::cli {

void add_search_flags(CLI::App* command, decode::SearchOptions& options);
// MODEL, --weights and --tokenizer.
void add_model_flags(CLI::App* command, decode::ModelFiles& files, const char* trained_on);
// On stderr, unless -q.
void warn(const Common& common, const std::string& text);
decode::OpenOptions open_options(const Common& common);

}  // namespace weft::cli
