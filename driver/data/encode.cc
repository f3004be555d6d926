// Tokenising files into examples.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "driver/data/makers.h"
#include "driver/data/prepare.h"
#include "driver/data/text_file.h"

namespace weft::data {
namespace {

using Ids = std::vector<int32_t>;

// Errors of a tokenizer know the character, but not the place.
Status with_place(Status status, const RowReader& rows) {
  if (status.ok()) return status;
  Diagnostics diagnostics = status.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    if (!diagnostic.loc.known()) diagnostic.loc = rows.loc();
  }
  return Error(std::move(diagnostics));
}

// The state of one pass over the rows.
class Encoder {
 public:
  Encoder(const EncodeOptions& how, RowReader& rows, ExampleWriter& writer, Encoded& out)
      : how_(how), options_(how.options), rows_(rows), writer_(writer), out_(out) {
    for (size_t i = 0; i < how.classes.size(); ++i) {
      labels_[how.classes[i]] = static_cast<int32_t>(i);
    }
    limit_ = options_.max_length;
    if (options_.max_tokens > 0) limit_ = std::min(limit_, options_.max_tokens);
  }

  Status add(const Row& row) {
    switch (options_.kind) {
      case TaskKind::translation: return add_pair(row);
      case TaskKind::language_model: return add_piece(row);
      case TaskKind::text_classification: return add_text(row);
      case TaskKind::image_classification: return add_image(row);
    }
    return ok();
  }

 private:
  Status tokenise(std::string_view text, Ids& ids) {
    ids.clear();
    return with_place(how_.tokenizer->encode(text, ids), rows_);
  }

  Status field(const Ids& ids) {
    WEFT_TRY_STATUS(writer_.append(std::span<const int32_t>(ids)));
    return writer_.end_field();
  }

  void note_length(int64_t length) {
    out_.facts.longest = std::max(out_.facts.longest, padded_length(length, options_));
  }

  // Both sides get an end, or a begin, in a batch.
  Status add_pair(const Row& row) {
    WEFT_TRY_STATUS(tokenise(row.text, ids_));
    WEFT_TRY_STATUS(tokenise(row.target, target_));
    auto room = static_cast<size_t>(limit_ - 1);
    bool fits = ids_.size() <= room && target_.size() <= room;
    if (how_.training && (!fits || ids_.empty() || target_.empty())) {
      ++out_.facts.left_out;
      return ok();
    }
    if (!fits) ++out_.facts.cut;
    ids_.resize(std::min(ids_.size(), room));
    target_.resize(std::min(target_.size(), room));
    auto source = static_cast<int64_t>(ids_.size()) + 1;
    auto target = static_cast<int64_t>(target_.size()) + 1;
    note_length(source);
    note_length(target);
    out_.facts.source_tokens += source;
    out_.facts.target_tokens += target;
    ++out_.facts.examples;
    WEFT_TRY_STATUS(field(ids_));
    return field(target_);
  }

  Status add_piece(const Row& row) {
    WEFT_TRY_STATUS(tokenise(row.text, ids_));
    out_.facts.source_tokens += static_cast<int64_t>(ids_.size());
    return writer_.append(std::span<const int32_t>(ids_));
  }

  Result<int32_t> label_of(const Row& row) const {
    auto found = labels_.find(std::string(row.label));
    if (found != labels_.end()) return found->second;
    return error(rows_.loc(), "the label '", row.label, "' is not one of the ", labels_.size(),
                 " that the training data has")
        .hint(did_you_mean(row.label, how_.classes));
  }

  Status add_text(const Row& row) {
    WEFT_TRY(int32_t label, label_of(row));
    WEFT_TRY_STATUS(tokenise(row.text, ids_));
    if (ids_.empty()) ids_.push_back(kUnknown);  // attention needs something to look at
    if (ids_.size() > static_cast<size_t>(limit_)) {
      ++out_.facts.cut;
      ids_.resize(static_cast<size_t>(limit_));
    }
    note_length(static_cast<int64_t>(ids_.size()));
    out_.facts.source_tokens += static_cast<int64_t>(ids_.size());
    ++out_.facts.target_tokens;
    ++out_.facts.examples;
    WEFT_TRY_STATUS(field(ids_));
    return field({label});
  }

  Status add_image(const Row& row) {
    WEFT_TRY(int32_t label, label_of(row));
    for (float pixel : row.pixels) {
      double value = pixel;
      out_.pixels.sum += value;
      out_.pixels.squares += value * value;
    }
    out_.pixels.count += static_cast<double>(row.pixels.size());
    ++out_.facts.target_tokens;
    ++out_.facts.examples;
    WEFT_TRY_STATUS(writer_.append(row.pixels));
    WEFT_TRY_STATUS(writer_.end_field());
    auto number = static_cast<float>(label);
    WEFT_TRY_STATUS(writer_.append(std::span<const float>(&number, 1)));
    return writer_.end_field();
  }

  const EncodeOptions& how_;
  const TaskOptions& options_;
  RowReader& rows_;
  ExampleWriter& writer_;
  Encoded& out_;
  std::unordered_map<std::string, int32_t> labels_;
  int64_t limit_ = 0;  // of a sequence
  Ids ids_;
  Ids target_;
};

Element element_of(const EncodeOptions& how) {
  if (how.tokenizer == nullptr) return Element::f32;
  auto classes = static_cast<int64_t>(how.classes.size());
  return element_for(std::max(how.tokenizer->vocab(), classes));
}

// A text is one example; it has to hold a window, and the label behind it.
Status end_text(const TaskOptions& options, const TaskFiles& files, ExampleWriter& writer,
                SplitFacts& facts, bool training) {
  WEFT_TRY_STATUS(writer.end_field());
  if (facts.source_tokens <= options.context) {
    return error(file_loc(files.text), "the ", training ? "training" : "validation", " text has ",
                 facts.source_tokens, " tokens, a window needs ", options.context + 1)
        .hint("give more text, or a smaller --context");
  }
  facts.examples = (facts.source_tokens - 1) / options.context;
  facts.target_tokens = facts.examples * options.context;
  facts.longest = options.context;
  return ok();
}

}  // namespace

Result<Encoded> encode(const EncodeOptions& how, const TaskFiles& files, Part part,
                       const std::string& path) {
  const TaskOptions& options = how.options;
  bool text = options.kind == TaskKind::language_model;
  WEFT_TRY(auto rows, open_rows(options, files, part));
  WEFT_TRY(ExampleWriter writer, ExampleWriter::create(path, text ? 1 : 2, element_of(how)));
  Encoded out;
  Encoder encoder(how, *rows, writer, out);
  for (Row row;;) {
    WEFT_TRY(bool more, rows->next(row));
    if (!more) break;
    WEFT_TRY_STATUS(encoder.add(row));
  }
  if (text) WEFT_TRY_STATUS(end_text(options, files, writer, out.facts, how.training));
  if (out.facts.examples == 0) {
    return error(file_loc(main_file(options.kind, files)), "nothing is left to ",
                 how.training ? "train on" : "validate on", ": ", out.facts.left_out,
                 " pairs have an empty side, or one of more than ", options.max_length, " tokens");
  }
  if (out.facts.examples > UINT32_MAX) {
    return error(file_loc(main_file(options.kind, files)), "has ", out.facts.examples,
                 " examples, more than 4294967295");
  }
  WEFT_TRY(out.examples, writer.finish());
  return out;
}

}  // namespace weft::data
