// Tokenised examples in a file that is mapped into memory, so that they may be larger than it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/support/descriptor.h"
#include "ir/support/result.h"

namespace weft::data {

enum class Element : uint32_t { u16, u32, f32 };
size_t byte_size(Element element);
// The smallest that holds the ids of a vocabulary.
Element element_for(int64_t vocab);

// Each example has the same number of fields (source and target; text and label); each field is a
// list of elements of any length. The file: a head of 64 bytes, the elements, and for each field
// where it begins, as u64, little-endian.
class Examples {
 public:
  // Fails on a file that is not whole.
  static Result<Examples> open(const std::string& path);

  int64_t count() const { return count_; }
  int64_t fields() const { return fields_; }
  Element element() const { return element_; }
  int64_t length(int64_t example, int64_t field) const {
    size_t at = static_cast<size_t>(example * fields_ + field);
    return static_cast<int64_t>(offset(at + 1) - offset(at));
  }
  // Elements [begin, begin + out.size()) of a field, converted to the type of `out`. Ids have to be
  // below `vocab`. Fails on what a damaged file would give.
  Status read(int64_t example, int64_t field, int64_t begin, std::span<int32_t> out,
              int64_t vocab) const;
  Status read(int64_t example, int64_t field, int64_t begin, std::span<float> out) const;

 private:
  friend class ExampleWriter;
  class Mapping;

  static Result<Examples> map(const std::string& path, int fd);
  bool index_is_sound() const;  // fields begin where, or after where, the one before does
  uint64_t offset(size_t at) const;
  // The bytes of such elements; null if the field does not have them.
  const std::byte* locate(int64_t example, int64_t field, int64_t begin, size_t count) const;
  Error damaged() const;

  std::string path_;
  std::shared_ptr<const Mapping> mapping_;  // shared, so that streams may copy this
  Element element_ = Element::u16;
  int64_t count_ = 0;
  int64_t fields_ = 0;
  uint64_t elements_ = 0;
  const std::byte* data_ = nullptr;
  const std::byte* index_ = nullptr;
};

// Writes such a file aside; it gets its name only when it is whole. Memory in use does not grow
// with the examples.
class ExampleWriter {
 public:
  // An empty path: a file without a name in the folder for temporary files, gone with its Examples.
  static Result<ExampleWriter> create(const std::string& path, int64_t fields, Element element);
  ExampleWriter(ExampleWriter&& other) noexcept;
  ExampleWriter& operator=(ExampleWriter&&) = delete;
  ~ExampleWriter();

  // Appends to the field that is being written.
  Status append(std::span<const int32_t> ids);
  Status append(std::span<const float> values);
  Status end_field();  // the next begins, of the next example if all were written
  Result<Examples> finish();

 private:
  ExampleWriter(std::string path, std::string aside, Descriptor file, Descriptor index)
      : path_(std::move(path)),
        aside_(std::move(aside)),
        file_(std::move(file)),
        index_(std::move(index)) {}

  Status put(std::string& buffer, const Descriptor& file, const void* bytes, size_t size);
  Status flush(std::string& buffer, const Descriptor& file);
  Status copy_index();
  Error failed() const;  // with errno

  std::string path_;
  std::string aside_;  // empty: nothing to remove
  Descriptor file_;
  Descriptor index_;  // a nameless file, appended to the other at the end
  std::string elements_buffer_;
  std::string index_buffer_;
  Element element_ = Element::u16;
  int64_t fields_ = 1;
  uint64_t elements_ = 0;
  uint64_t ended_fields_ = 0;
};

}  // namespace weft::data
