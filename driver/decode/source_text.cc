// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/source_text.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver/data/text_file.h"
#include "driver/data/utf8.h"

namespace weft::decode {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr size_t kReadBytes = size_t{1} << 16;

std::string repaired(std::string_view text, size_t& replaced) {
  std::string good;
  while (!text.empty()) {
    const size_t valid = data::valid_utf8_prefix(text);
    good.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    data::append_code_point(good, kReplacement);
    text.remove_prefix(1);
    ++replaced;
  }
  return good;
}

// One character at a time, without those that the tokenizer refuses.
Result<int64_t> encode_known(const data::Tokenizer& tokenizer, std::string_view text, Ids& ids) {
  int64_t unknown = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    data::next_code_point(text, at);
    if (!tokenizer.encode(text.substr(begin, at - begin), ids).ok()) ++unknown;
  }
  return unknown;
}

std::string plural(int64_t count, const char* what) {
  return cat(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace

Result<SourceText> read_source(const data::Tokenizer& tokenizer, std::string_view text,
                               int64_t limit) {
  SourceText source;
  size_t replaced = 0;
  const std::string good = repaired(text, replaced);
  if (replaced > 0) {
    source.warnings.push_back(
        cat("is not UTF-8: ", plural(static_cast<int64_t>(replaced), "byte"), " read as U+FFFD"));
  }
  int64_t unknown = 0;
  if (tokenizer.has_specials()) {
    WEFT_TRY_STATUS(tokenizer.encode(good, source.ids));
    unknown = std::ranges::count(source.ids, data::kUnknown);
    if (unknown > 0) {
      source.warnings.push_back(
          cat("has ", plural(unknown, "token"), " that the model does not know"));
    }
  } else if (!tokenizer.encode(good, source.ids).ok()) {
    source.ids.clear();
    WEFT_TRY(unknown, encode_known(tokenizer, good, source.ids));
    source.warnings.push_back(
        cat("has ", plural(unknown, "character"), " that the model does not know, left out"));
  }
  const auto length = static_cast<int64_t>(source.ids.size());
  if (length > limit) {
    source.warnings.push_back(
        cat("has ", length, " tokens, and the model takes ", limit, ": the rest is left out"));
    source.ids.resize(static_cast<size_t>(limit));
  }
  return source;
}

Result<bool> InputLines::fill() {
  if (end_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t old = buffer_.size();
  buffer_.resize(old + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data() + old, kReadBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(old + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return error({}, "cannot read the input: ", std::strerror(errno));
  end_ = got == 0;
  return !end_;
}

bool InputLines::has_buffered_line() const {
  return buffer_.find('\n', begin_) != std::string::npos || (end_ && begin_ < buffer_.size());
}

Result<bool> InputLines::next(Line& line) {
  line = {};
  for (;;) {
    const size_t found = buffer_.find('\n', begin_);
    const size_t stop = found == std::string::npos ? buffer_.size() : found;
    const size_t room = data::kMaxLineBytes - line.text.size();
    line.text.append(buffer_, begin_, std::min(stop - begin_, room));
    if (stop - begin_ > room) line.cut = true;
    begin_ = stop;
    if (found != std::string::npos) {
      ++begin_;
      break;
    }
    const bool some = !line.text.empty();
    WEFT_TRY(bool more, fill());
    if (!more) {
      if (!some) return false;
      break;
    }
  }
  if (line.text.ends_with('\r')) line.text.pop_back();
  return true;
}

}  // namespace weft::decode
