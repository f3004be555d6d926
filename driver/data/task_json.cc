// SPDX-License-Identifier: Apache-2.0
#include "driver/data/task_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "driver/data/text_file.h"

namespace weft::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKinds[] = {"translation", "language_model", "text_classification",
                                  "image_classification"};

// One list of fields serves both ways: a Writer puts each into JSON, a Reader takes each out.
struct Writer {
  Json json = Json::object();

  template <class T>
  void operator()(const char* key, const T& value) {
    json[key] = value;
  }
  void operator()(const char* key, const TaskKind& kind) {
    json[key] = kKinds[static_cast<int>(kind)];
  }
  void operator()(const char* key, const TokenizerKind& kind) { json[key] = name(kind); }
  void operator()(const char* key, const Augment& augment) { json[key] = to_text(augment); }
  void operator()(const char* key, const TaskFiles& files);
  void operator()(const char* key, const SplitFacts& facts);
  template <class T>
  void later(const char* key, const T& value) {
    (*this)(key, value);
  }
};

struct Reader {
  const Json& json;
  std::string wrong;  // the first key that is missing or of another type

  const Json* find(const char* key) {
    auto found = json.is_object() ? json.find(key) : json.end();
    if (found == json.end()) {
      if (wrong.empty()) wrong = key;
      return nullptr;
    }
    return &*found;
  }
  template <class T>
  bool fits(const Json& item) {
    if constexpr (std::is_same_v<T, bool>) return item.is_boolean();
    if constexpr (std::is_same_v<T, std::string>) return item.is_string();
    if constexpr (std::is_same_v<T, double>) return item.is_number();
    if constexpr (std::is_same_v<T, uint64_t>) return item.is_number_unsigned();
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (!item.is_array()) return false;
      for (const Json& text : item) {
        if (!text.is_string()) return false;
      }
      return true;
    }
    return item.is_number_integer();
  }
  template <class T>
  void operator()(const char* key, T& value) {
    const Json* item = find(key);
    if (item == nullptr) return;
    if (fits<T>(*item)) {
      value = item->get<T>();
    } else if (wrong.empty()) {
      wrong = key;
    }
  }
  void operator()(const char* key, TaskKind& kind) {
    std::string text;
    (*this)(key, text);
    auto found = std::find(std::begin(kKinds), std::end(kKinds), text);
    if (found != std::end(kKinds)) {
      kind = static_cast<TaskKind>(found - std::begin(kKinds));
    } else if (wrong.empty()) {
      wrong = key;
    }
  }
  void operator()(const char* key, TokenizerKind& kind) {
    std::string text;
    (*this)(key, text);
    std::optional<TokenizerKind> found = parse_tokenizer_kind(text);
    if (found) {
      kind = *found;
    } else if (wrong.empty()) {
      wrong = key;
    }
  }
  void operator()(const char* key, Augment& augment) {
    std::string text;
    (*this)(key, text);
    Result<Augment> found = parse_augment(text);
    if (found.ok()) {
      augment = *found;
    } else if (wrong.empty()) {
      wrong = key;
    }
  }
  void operator()(const char* key, TaskFiles& files);
  void operator()(const char* key, SplitFacts& facts);
  // What runs of earlier versions have not: it stays at its default, which is what they did.
  template <class T>
  void later(const char* key, T& value) {
    if (json.is_object() && json.contains(key)) (*this)(key, value);
  }
};

template <class Visitor, class Files>
void visit_files(Visitor& visit, Files& files) {
  visit("source", files.source);
  visit("target", files.target);
  visit("text", files.text);
  visit("table", files.table);
}

template <class Visitor, class Options>
void visit_options(Visitor& visit, Options& options) {
  visit("kind", options.kind);
  visit("train", options.train);
  visit("valid", options.valid);
  visit("tokenizer", options.tokenizer);
  visit("vocab", options.vocab);
  visit("exact_vocab", options.exact_vocab);
  visit("label_column", options.label_column);
  visit("text_column", options.text_column);
  visit("image_height", options.image_height);
  visit("image_width", options.image_width);
  visit("image_channels", options.image_channels);
  visit("batch", options.batch);
  visit("max_tokens", options.max_tokens);
  visit("context", options.context);
  visit("max_length", options.max_length);
  visit("length_multiple", options.length_multiple);
  visit("ignore_label", options.ignore_label);
  visit("seed", options.seed);
  visit.later("word_dropout", options.word_dropout);
  visit.later("augment", options.augment);
}

template <class Visitor, class Facts>
void visit_split(Visitor& visit, Facts& facts) {
  visit("examples", facts.examples);
  visit("source_tokens", facts.source_tokens);
  visit("target_tokens", facts.target_tokens);
  visit("left_out", facts.left_out);
  visit("cut", facts.cut);
  visit("longest", facts.longest);
  visit("batches", facts.batches);
}

template <class Visitor, class Facts>
void visit_facts(Visitor& visit, Facts& facts) {
  visit("vocab", facts.vocab);
  visit("classes", facts.classes);
  visit("longest", facts.longest);
  visit("train", facts.train);
  visit("valid", facts.valid);
}

template <class Visitor, class Scale>
void visit_pixels(Visitor& visit, Scale& scale) {
  visit("mean", scale.mean);
  visit("scale", scale.scale);
}

void Writer::operator()(const char* key, const TaskFiles& files) {
  Writer inner;
  visit_files(inner, files);
  json[key] = inner.json;
}

void Writer::operator()(const char* key, const SplitFacts& facts) {
  Writer inner;
  visit_split(inner, facts);
  json[key] = inner.json;
}

void Reader::operator()(const char* key, TaskFiles& files) {
  const Json* item = find(key);
  if (item == nullptr) return;
  Reader inner{*item, {}};
  visit_files(inner, files);
  if (wrong.empty() && !inner.wrong.empty()) wrong = cat(key, ".", inner.wrong);
}

void Reader::operator()(const char* key, SplitFacts& facts) {
  const Json* item = find(key);
  if (item == nullptr) return;
  Reader inner{*item, {}};
  visit_split(inner, facts);
  if (wrong.empty() && !inner.wrong.empty()) wrong = cat(key, ".", inner.wrong);
}

Json json_of(const TaskOptions& options) {
  Writer write;
  visit_options(write, options);
  return write.json;
}

std::string shown(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);  // paths may be any bytes
}

}  // namespace

std::string to_json(const TaskOptions& options) { return shown(json_of(options), 1); }

Result<TaskOptions> parse_task_options(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  Reader read{json, {}};
  TaskOptions options;
  visit_options(read, options);
  if (read.wrong.empty()) return options;
  return error({}, "options of the data: '", read.wrong, "' is missing or of another type");
}

std::string to_json(const TaskRecord& record) {
  Writer facts;
  visit_facts(facts, record.facts);
  Writer pixels;
  visit_pixels(pixels, record.pixels);
  Json json{{"version", 1},
            {"options", json_of(record.options)},
            {"tokenizer_digest", record.tokenizer_digest},
            {"facts", facts.json},
            {"pixels", pixels.json}};
  return shown(json, 1) + "\n";
}

Result<TaskRecord> parse_task_record(const std::string& path, const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  TaskRecord record;
  std::string wrong;
  auto read_part = [&](const char* key, auto visit) {
    if (!wrong.empty()) return;
    if (!json.is_object() || !json.contains(key)) {
      wrong = key;
      return;
    }
    Reader read{json[key], {}};
    visit(read);
    if (!read.wrong.empty()) wrong = cat(key, ".", read.wrong);
  };
  read_part("options", [&](Reader& read) { visit_options(read, record.options); });
  read_part("facts", [&](Reader& read) { visit_facts(read, record.facts); });
  read_part("pixels", [&](Reader& read) { visit_pixels(read, record.pixels); });
  if (wrong.empty()) {
    Reader read{json, {}};
    read("tokenizer_digest", record.tokenizer_digest);
    wrong = read.wrong;
  }
  if (wrong.empty()) return record;
  return error(file_loc(path), "'", wrong, "' is missing or of another type")
      .hint("begin a new run: the file is damaged, or of another version of Weft");
}

std::string first_difference(const TaskOptions& there, const TaskOptions& asked) {
  Json a = json_of(there);
  Json b = json_of(asked);
  for (const auto& [key, value] : a.items()) {
    if (value != b[key]) return cat(key, " is ", shown(value), ", not ", shown(b[key]));
  }
  return "";
}

}  // namespace weft::data
