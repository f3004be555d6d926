// SPDX-License-Identifier: Apache-2.0
#include "driver/data/makers.h"

#include <algorithm>

#include "driver/data/order.h"
#include "driver/data/random.h"

namespace weft::data {
namespace {

constexpr int64_t kMaxRows = 65536;  // as many as the models' symbol B may be

enum Purpose : uint32_t { kWindowPlaces = 3, kWordDropout = 4, kAugment = 5 };  // order.cc has 1, 2

OrderOptions order_options(const TaskOptions& options, bool training) {
  return {.batch = options.batch > 0 ? std::min(options.batch, kMaxRows) : kMaxRows,
          .max_tokens = options.max_tokens,
          .multiple = options.length_multiple,
          .shuffled = training,
          .seed = options.seed};
}

// Examples that share a batch by their lengths.
class OrderedBatches : public BatchMaker {
 public:
  OrderedBatches(Examples examples, const TaskOptions& options, bool training)
      : examples_(std::move(examples)), options_(options), training_(training) {}

  Result<int64_t> begin_epoch(int64_t epoch) override {
    epoch_ = epoch;
    bool stays = !training_ && !order_.batches.empty();
    if (!stays) {
      order_ = order_by_length(
          examples_.count(), [&](uint32_t example) { return lengths_of(example); },
          order_options(options_, training_), epoch);
    }
    return static_cast<int64_t>(order_.batches.size());
  }

  Status make(int64_t index, Batch& batch) override {
    const PlannedBatch& plan = order_.batches[static_cast<size_t>(index)];
    batch.examples = plan.count;
    batch.source_tokens = 0;
    batch.target_tokens = 0;
    return fill({order_.examples.data() + plan.first, plan.count}, plan.lengths, batch);
  }

 protected:
  virtual Lengths lengths_of(uint32_t example) const = 0;
  virtual Status fill(std::span<const uint32_t> rows, Lengths lengths, Batch& batch) = 0;

  // What is random about an example in this epoch.
  Random random_of(uint32_t example, Purpose purpose) const {
    return {options_.seed, epoch_, purpose, example};
  }
  // Each of the ids becomes unknown with the probability asked for.
  void drop_words(std::span<int32_t> ids, uint32_t example) const {
    if (!training_ || options_.word_dropout == 0) return;
    constexpr double kWords = 4294967296.0;
    Random random = random_of(example, kWordDropout);
    for (int32_t& id : ids) {
      if (random.word() < options_.word_dropout * kWords) id = kUnknown;
    }
  }

  Examples examples_;
  TaskOptions options_;
  bool training_;

 private:
  Order order_;
  int64_t epoch_ = 0;
};

class TranslationBatches final : public OrderedBatches {
 public:
  TranslationBatches(Examples examples, const TaskOptions& options, int64_t vocab, bool training)
      : OrderedBatches(std::move(examples), options, training), vocab_(vocab) {}

 private:
  Lengths lengths_of(uint32_t example) const override {
    auto padded = [&](int64_t field) {
      return static_cast<uint32_t>(padded_length(examples_.length(example, field) + 1, options_));
    };
    return {padded(0), padded(1)};
  }

  // src: ids and end; tgt: begin and ids; labels: ids and end.
  Status fill(std::span<const uint32_t> rows, Lengths lengths, Batch& batch) override {
    auto count = static_cast<int64_t>(rows.size());
    int64_t source = lengths.source;
    int64_t target = lengths.target;
    batch.dims["B"] = count;
    batch.dims["S"] = source;
    batch.dims["T"] = target;
    std::span<int32_t> src = ids_of(batch, "src", {count, source});
    std::span<int32_t> tgt = ids_of(batch, "tgt", {count, target});
    std::span<int32_t> labels = ids_of(batch, "labels", {count, target});
    std::fill(src.begin(), src.end(), kPad);
    std::fill(tgt.begin(), tgt.end(), kPad);
    std::fill(labels.begin(), labels.end(), static_cast<int32_t>(options_.ignore_label));
    for (size_t i = 0; i < rows.size(); ++i) {
      auto from = static_cast<size_t>(examples_.length(rows[i], 0));
      auto to = static_cast<size_t>(examples_.length(rows[i], 1));
      std::span<int32_t> s = src.subspan(i * lengths.source, from + 1);
      std::span<int32_t> t = tgt.subspan(i * lengths.target, to + 1);
      std::span<int32_t> l = labels.subspan(i * lengths.target, to + 1);
      WEFT_TRY_STATUS(examples_.read(rows[i], 0, 0, s.first(from), vocab_));
      drop_words(s.first(from), rows[i]);
      WEFT_TRY_STATUS(examples_.read(rows[i], 1, 0, l.first(to), vocab_));
      std::copy(l.begin(), l.begin() + static_cast<std::ptrdiff_t>(to), t.begin() + 1);
      t.front() = kBegin;
      s.back() = l.back() = kEnd;
      batch.source_tokens += static_cast<int64_t>(from) + 1;
      batch.target_tokens += static_cast<int64_t>(to) + 1;
    }
    return ok();
  }

  int64_t vocab_;
};

// The label of a classified example, which is its second field.
template <class Number>
Result<int32_t> label_of(const Examples& examples, uint32_t row, int64_t classes) {
  Number value = 0;
  std::span<Number> out(&value, 1);
  if constexpr (std::is_same_v<Number, float>) {
    WEFT_TRY_STATUS(examples.read(row, 1, 0, out));
  } else {
    WEFT_TRY_STATUS(examples.read(row, 1, 0, out, classes));
  }
  if (!(value >= 0 && value < static_cast<Number>(classes))) {
    return error({}, "label ", value, " of example ", row, " is not one of ", classes);
  }
  return static_cast<int32_t>(value);
}

class TextBatches final : public OrderedBatches {
 public:
  TextBatches(Examples examples, const TaskOptions& options, int64_t vocab, int64_t classes,
              bool training)
      : OrderedBatches(std::move(examples), options, training), vocab_(vocab), classes_(classes) {}

 private:
  Lengths lengths_of(uint32_t example) const override {
    return {0, static_cast<uint32_t>(padded_length(examples_.length(example, 0), options_))};
  }

  Status fill(std::span<const uint32_t> rows, Lengths lengths, Batch& batch) override {
    auto count = static_cast<int64_t>(rows.size());
    batch.dims["B"] = count;
    batch.dims["T"] = lengths.target;
    std::span<int32_t> tokens = ids_of(batch, "tokens", {count, lengths.target});
    std::span<int32_t> labels = ids_of(batch, "labels", {count});
    std::fill(tokens.begin(), tokens.end(), kPad);
    for (size_t i = 0; i < rows.size(); ++i) {
      auto length = static_cast<size_t>(examples_.length(rows[i], 0));
      std::span<int32_t> row = tokens.subspan(i * lengths.target, length);
      WEFT_TRY_STATUS(examples_.read(rows[i], 0, 0, row, vocab_));
      drop_words(row, rows[i]);
      WEFT_TRY(labels[i], label_of<int32_t>(examples_, rows[i], classes_));
      batch.source_tokens += static_cast<int64_t>(length);
    }
    batch.target_tokens = count;
    return ok();
  }

  int64_t vocab_;
  int64_t classes_;
};

class ImageBatches final : public OrderedBatches {
 public:
  ImageBatches(Examples examples, const TaskOptions& options, PixelScale scale, int64_t classes,
               bool training)
      : OrderedBatches(std::move(examples), options, training), scale_(scale), classes_(classes) {}

 private:
  Lengths lengths_of(uint32_t) const override { return {}; }

  Status fill(std::span<const uint32_t> rows, Lengths, Batch& batch) override {
    auto count = static_cast<int64_t>(rows.size());
    int64_t height = options_.image_height;
    int64_t width = options_.image_width;
    int64_t channels = options_.image_channels;
    auto size = static_cast<size_t>(height * width * channels);
    batch.dims["B"] = count;
    std::span<float> image = floats_of(batch, "image", {count, height, width, channels});
    std::span<int32_t> labels = ids_of(batch, "labels", {count});
    for (size_t i = 0; i < rows.size(); ++i) {
      std::span<float> pixels = image.subspan(i * size, size);
      WEFT_TRY_STATUS(read_image(rows[i], pixels));
      for (float& pixel : pixels) {
        pixel = static_cast<float>((static_cast<double>(pixel) - scale_.mean) * scale_.scale);
      }
      WEFT_TRY(labels[i], label_of<float>(examples_, rows[i], classes_));
    }
    batch.target_tokens = count;
    return ok();
  }

  Status read_image(uint32_t row, std::span<float> pixels) {
    if (!training_ || !options_.augment.any()) return examples_.read(row, 0, 0, pixels);
    plain_.resize(pixels.size());
    WEFT_TRY_STATUS(examples_.read(row, 0, 0, plain_));
    augment_image(plain_, {options_.image_height, options_.image_width, options_.image_channels},
                  options_.augment, random_of(row, kAugment), pixels);
    return ok();
  }

  PixelScale scale_;
  int64_t classes_;
  std::vector<float> plain_;  // an image before it is changed
};

// Windows of a text: at random places, or side by side.
class WindowBatches final : public BatchMaker {
 public:
  WindowBatches(Examples examples, const TaskOptions& options, int64_t vocab, bool training)
      : examples_(std::move(examples)), options_(options), vocab_(vocab), training_(training) {
    places_ = examples_.length(0, 0) - options.context;
    WEFT_CHECK(places_ > 0, "a text of at least one window");
    windows_ = (examples_.length(0, 0) - 1) / options.context;
    rows_ = options.batch > 0 ? options.batch : options.max_tokens / options.context;
    rows_ = std::clamp<int64_t>(rows_, 1, kMaxRows);
  }

  Result<int64_t> begin_epoch(int64_t epoch) override {
    epoch_ = epoch;
    return training_ ? std::max<int64_t>(1, windows_ / rows_) : (windows_ + rows_ - 1) / rows_;
  }

  Status make(int64_t index, Batch& batch) override {
    Random random(options_.seed, epoch_, kWindowPlaces, static_cast<uint32_t>(index));
    int64_t context = options_.context;
    int64_t rows = training_ ? rows_ : std::min(rows_, windows_ - index * rows_);
    batch.dims["B"] = rows;
    batch.dims["T"] = context;
    std::span<int32_t> tokens = ids_of(batch, "tokens", {rows, context});
    std::span<int32_t> labels = ids_of(batch, "labels", {rows, context});
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at = training_ ? static_cast<int64_t>(random.below(static_cast<uint64_t>(places_)))
                             : (index * rows_ + row) * context;
      auto begin = static_cast<size_t>(row * context);
      auto size = static_cast<size_t>(context);
      WEFT_TRY_STATUS(examples_.read(0, 0, at, tokens.subspan(begin, size), vocab_));
      WEFT_TRY_STATUS(examples_.read(0, 0, at + 1, labels.subspan(begin, size), vocab_));
    }
    batch.examples = rows;
    batch.source_tokens = batch.target_tokens = rows * context;
    return ok();
  }

 private:
  Examples examples_;
  TaskOptions options_;
  int64_t vocab_;
  bool training_;
  int64_t places_ = 0;   // where a window, and the label behind it, may begin
  int64_t windows_ = 0;  // side by side
  int64_t rows_ = 1;
  int64_t epoch_ = 0;
};

}  // namespace

int64_t padded_length(int64_t length, const TaskOptions& options) {
  int64_t multiple = options.length_multiple;
  return std::max(length,
                  std::min((length + multiple - 1) / multiple * multiple, options.max_length));
}

std::unique_ptr<BatchMaker> translation_batches(Examples examples, const TaskOptions& options,
                                                int64_t vocab, bool training) {
  return std::make_unique<TranslationBatches>(std::move(examples), options, vocab, training);
}

std::unique_ptr<BatchMaker> language_model_batches(Examples examples, const TaskOptions& options,
                                                   int64_t vocab, bool training) {
  return std::make_unique<WindowBatches>(std::move(examples), options, vocab, training);
}

std::unique_ptr<BatchMaker> text_batches(Examples examples, const TaskOptions& options,
                                         int64_t vocab, int64_t classes, bool training) {
  return std::make_unique<TextBatches>(std::move(examples), options, vocab, classes, training);
}

std::unique_ptr<BatchMaker> image_batches(Examples examples, const TaskOptions& options,
                                          PixelScale scale, int64_t classes, bool training) {
  return std::make_unique<ImageBatches>(std::move(examples), options, scale, classes, training);
}

}  // namespace weft::data
