// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/safetensors_header.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace weft {
namespace {

constexpr size_t kMaxEntries = 100000;  // what a hostile header can make us keep is bounded by it
constexpr size_t kMaxRank = 32;
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::array<std::string_view, kDTypeCount> kNames = {  // in the order of DType
    "F64", "F32", "F16", "BF16", "I8", "U8", "I32", "U32", "I64", "BOOL"};

std::optional<DType> dtype_named(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// Takes the header apart while it is being parsed, so that no tree of hostile JSON is ever built:
// whatever is not {"name": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}} stops at once.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader header;
  std::string problem;  // set when a function returns false
  size_t place = 0;     // byte in the text, if the JSON itself is wrong

  bool start_object(size_t) override {
    if (in_array_ || depth_ == 2) return unexpected("an object");
    if (++depth_ == 2 && !in_metadata_) return start_entry();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 1) return true;
    if (in_metadata_) {
      in_metadata_ = false;
      return true;
    }
    return end_entry();
  }
  bool key(string_t& key) override {
    if (depth_ == 2) {
      field_ = key;
      bool again = (key == "dtype" && has_dtype_) || (key == "shape" && has_shape_) ||
                   (key == "data_offsets" && has_offsets_);
      return in_metadata_ || !again || refuse(cat(key, " is given twice"));
    }
    tensor_ = key;
    if (!names_.insert(key).second) return refuse("given twice");
    field_.clear();
    in_metadata_ = key == kMetadata;
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ != 2 || in_array_) return unexpected("a string");
    if (in_metadata_) {
      header.metadata[field_] = text;
      return true;
    }
    if (field_ != "dtype") return unexpected("a string");
    std::optional<DType> dtype = dtype_named(text);
    if (!dtype) return refuse(cat("element type ", quoted_name(text), " is not supported"));
    header.entries.back().dtype = *dtype;
    has_dtype_ = true;
    return true;
  }
  bool start_array(size_t) override {
    bool expected = depth_ == 2 && !in_metadata_ && !in_array_;
    if (!expected || (field_ != "shape" && field_ != "data_offsets")) return unexpected("a list");
    in_array_ = true;
    numbers_.clear();
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    SafetensorsEntry& entry = header.entries.back();
    if (field_ == "shape") {
      entry.shape.assign(numbers_.begin(), numbers_.end());
      has_shape_ = true;
      return true;
    }
    if (numbers_.size() != 2) return refuse(cat("data_offsets has ", numbers_.size(), " numbers"));
    entry.begin = static_cast<uint64_t>(numbers_[0]);
    entry.end = static_cast<uint64_t>(numbers_[1]);
    has_offsets_ = true;
    return true;
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (!in_array_) return unexpected("a number");
    if (numbers_.size() == kMaxRank)
      return refuse(cat(field_, " has more than ", kMaxRank, " numbers"));
    if (number > INT64_MAX) return refuse(cat(field_, " holds ", number, ", which is too large"));
    numbers_.push_back(static_cast<int64_t>(number));
    return true;
  }
  bool number_integer(number_integer_t number) override {
    if (!in_array_) return unexpected("a number");
    return refuse(cat(field_, " holds ", number, ", which is negative"));
  }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool null() override { return unexpected("null"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    problem = "the header is not JSON";
    place = position;
    return false;
  }

 private:
  bool start_entry() {
    if (header.entries.size() == kMaxEntries)
      return refuse(cat("more than ", kMaxEntries, " tensors"));
    header.entries.emplace_back().name = tensor_;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return true;
  }
  bool end_entry() {
    if (has_dtype_ && has_shape_ && has_offsets_) return true;
    return refuse(cat(!has_dtype_   ? "dtype"
                      : !has_shape_ ? "shape"
                                    : "data_offsets",
                      " is missing"));
  }
  bool unexpected(const std::string& what) {
    return refuse(cat(what, " where the format has none",
                      field_.empty() ? "" : cat(" (", quoted_name(field_), ")")));
  }
  bool refuse(const std::string& why) {
    problem = tensor_.empty() ? why : cat("tensor ", quoted_name(tensor_), ": ", why);
    return false;
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  bool in_array_ = false;
  std::string tensor_;
  std::string field_;
  std::set<std::string> names_;
  std::vector<int64_t> numbers_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, uint64_t header_start,
                                                   const Loc& loc) {
  HeaderEvents events;
  if (nlohmann::json::sax_parse(json.begin(), json.end(), &events)) return std::move(events.header);
  if (events.place == 0) return error(loc, events.problem);
  return error(loc, events.problem, " at byte ", header_start + events.place - 1);
}

std::string_view safetensors_name(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

std::string quoted_name(const std::string& name) {
  constexpr size_t kMost = 80;
  using Json = nlohmann::json;
  std::string text =
      Json(name.substr(0, kMost)).dump(-1, ' ', true, Json::error_handler_t::replace);
  text.front() = text.back() = '\'';
  return name.size() > kMost ? text + "..." : text;
}

}  // namespace weft
