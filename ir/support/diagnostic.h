// Diagnostics: what went wrong, where, and what to do about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A file as it was read, kept for printing the offending line.
struct SourceText {
  std::string name;
  std::string text;
};

// A place in a source text. `source` is shared because nodes and diagnostics outlive the parser.
struct Loc {
  std::shared_ptr<const SourceText> source;
  uint32_t line = 0;    // from 1; 0 = the file as a whole
  uint32_t column = 0;  // from 1, in bytes
  uint32_t length = 0;  // bytes to underline

  bool known() const { return source != nullptr; }
};

struct Note {
  Loc loc;
  std::string message;
};

struct Diagnostic {
  Loc loc;
  std::string message;  // lower case, one sentence, no full stop
  std::vector<Note> notes;
  std::string hint;  // something to type or do; may be empty
};

using Diagnostics = std::vector<Diagnostic>;

// file:line:column: error: message, the line with the place underlined, notes, hint.
std::string render(const Diagnostic& diagnostic);
std::string render(const Diagnostics& diagnostics);

// Joins anything printable: cat("expected ", 2, " operands").
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// The candidate closest to `name` by edit distance, or empty if none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);
// A hint "did you mean 'x'?", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft
