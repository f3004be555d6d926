// SPDX-License-Identifier: Apache-2.0
#include "ir/support/diagnostic.h"

#include <algorithm>

namespace weft {
namespace {

constexpr size_t kMaxShownLine = 160;

// A terminal must not be driven by the bytes of a hostile file: controls become spaces, one per
// byte, so that columns stay where they were.
std::string printable(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    auto byte = [&](size_t at) { return static_cast<unsigned char>(out[at]); };
    bool high = byte(i) == 0xc2 && i + 1 < out.size() && byte(i + 1) >= 0x80 && byte(i + 1) <= 0x9f;
    if (high) out[i + 1] = ' ';  // U+0080 to U+009F in UTF-8
    if (high || byte(i) < 0x20 || byte(i) == 0x7f) out[i] = ' ';
  }
  return out;
}

std::string place(const Loc& loc) {
  if (!loc.known()) return "";
  std::string file = printable(loc.source->name);
  if (loc.line == 0) return file + ": ";
  return cat(file, ":", loc.line, ":", loc.column, ": ");
}

std::string_view line_of(const SourceText& source, uint32_t line) {
  std::string_view rest = source.text;
  for (uint32_t i = 1; i < line; ++i) {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

// The line with the place underlined; a long line is cut to a window around the place.
std::string snippet(const Loc& loc) {
  if (!loc.known() || loc.line == 0) return "";
  std::string_view line = line_of(*loc.source, loc.line);
  if (line.empty()) return "";
  size_t at = std::min<size_t>(loc.column > 0 ? loc.column - 1 : 0, line.size());
  size_t begin = at > kMaxShownLine / 2 && line.size() > kMaxShownLine ? at - kMaxShownLine / 2 : 0;
  std::string shown = printable(line.substr(begin, kMaxShownLine));
  size_t indent = std::min(shown.find_first_not_of(' '), at - begin);
  if (indent == std::string::npos) indent = 0;
  size_t width = std::min<size_t>(std::max<uint32_t>(loc.length, 1), shown.size() - (at - begin));
  std::string out =
      "  " + shown.substr(indent) + "\n  " + std::string(at - begin - indent, ' ') + "^";
  if (width > 1) out += std::string(width - 1, '~');
  return out + "\n";
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string out = place(diagnostic.loc) + "error: " + printable(diagnostic.message) + "\n";
  out += snippet(diagnostic.loc);
  for (const Note& note : diagnostic.notes) {
    out += place(note.loc) + "note: " + printable(note.message) + "\n" + snippet(note.loc);
  }
  if (!diagnostic.hint.empty()) out += "hint: " + printable(diagnostic.hint) + "\n";
  return out;
}

std::string render(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += render(d);
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > 64) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t shorter = std::min(name.size(), candidate.size());
    if (std::max(name.size(), candidate.size()) - shorter >= best_distance) continue;
    size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

}  // namespace weft
