// SPDX-License-Identifier: Apache-2.0
#include "driver/data/examples.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver/data/examples_head.h"
#include "driver/data/text_file.h"

namespace weft::data {

class Examples::Mapping {
 public:
  Mapping(void* data, size_t size) : data_(data), size_(size) {}
  ~Mapping() { ::munmap(data_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  void* data_;
  size_t size_;
};

size_t byte_size(Element element) { return element == Element::u16 ? 2 : 4; }

Element element_for(int64_t vocab) { return vocab <= 0x10000 ? Element::u16 : Element::u32; }

namespace {

// Whether the sizes in the head are those of the file; nothing here may overflow.
bool plausible(const ExamplesHead& head, uint64_t size) {
  constexpr uint64_t kMax = uint64_t{1} << 48;
  if (head.magic != kExamplesMagic || head.element > static_cast<uint32_t>(Element::f32)) {
    return false;
  }
  if (head.fields < 1 || head.fields > kMaxFields || head.count > kMax || head.elements > kMax) {
    return false;
  }
  uint64_t elements = padded(head.elements * byte_size(static_cast<Element>(head.element)));
  return size == sizeof head + elements + (head.count * head.fields + 1) * sizeof(uint64_t);
}

}  // namespace

Result<Examples> Examples::open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return error(file_loc(path), "cannot open: ", std::strerror(errno));
  return map(path, file.get());
}

Result<Examples> Examples::map(const std::string& path, int fd) {
  Examples examples;
  examples.path_ = path;
  struct stat status = {};
  ExamplesHead head;
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    return error(file_loc(path), "not a regular file");
  }
  auto size = static_cast<uint64_t>(status.st_size);
  if (::pread(fd, &head, sizeof head, 0) != sizeof head || !plausible(head, size)) {
    return examples.damaged();
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) {
    return error(file_loc(path), "cannot be mapped: ", std::strerror(errno));
  }
  examples.mapping_ = std::make_shared<const Mapping>(data, size);
  examples.element_ = static_cast<Element>(head.element);
  examples.count_ = static_cast<int64_t>(head.count);
  examples.fields_ = static_cast<int64_t>(head.fields);
  examples.elements_ = head.elements;
  examples.data_ = static_cast<const std::byte*>(data) + sizeof head;
  examples.index_ = examples.data_ + padded(head.elements * byte_size(examples.element_));
  if (!examples.index_is_sound()) return examples.damaged();
  return examples;
}

bool Examples::index_is_sound() const {
  auto end = static_cast<size_t>(count_ * fields_);
  uint64_t before = offset(0);
  for (size_t i = 1; i <= end; ++i) {
    uint64_t here = offset(i);
    if (here < before) return false;
    before = here;
  }
  return before <= elements_;
}

Error Examples::damaged() const {
  return error(file_loc(path_), "is damaged, or not a file of examples that Weft wrote")
      .hint("begin a new run: its files are made from the data again");
}

uint64_t Examples::offset(size_t at) const {
  uint64_t value = 0;
  std::memcpy(&value, index_ + at * sizeof value, sizeof value);
  return value;
}

const std::byte* Examples::locate(int64_t example, int64_t field, int64_t begin,
                                  size_t count) const {
  WEFT_CHECK(example >= 0 && example < count_ && field >= 0 && field < fields_ && begin >= 0,
             "an example that is there");
  size_t at = static_cast<size_t>(example * fields_ + field);
  uint64_t first = offset(at);
  uint64_t end = offset(at + 1);
  if (first > end || end > elements_ || static_cast<uint64_t>(begin) > end - first ||
      count > end - first - static_cast<uint64_t>(begin)) {
    return nullptr;
  }
  return data_ + (first + static_cast<uint64_t>(begin)) * byte_size(element_);
}

namespace {

// Returns whether all ids are below the vocabulary.
template <class Id>
bool widen(const std::byte* bytes, std::span<int32_t> out, int64_t vocab) {
  int64_t highest = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    Id id;
    std::memcpy(&id, bytes + i * sizeof id, sizeof id);
    out[i] = static_cast<int32_t>(id);
    highest = std::max<int64_t>(highest, id);
  }
  return highest < vocab;
}

}  // namespace

Status Examples::read(int64_t example, int64_t field, int64_t begin, std::span<int32_t> out,
                      int64_t vocab) const {
  const std::byte* bytes = locate(example, field, begin, out.size());
  if (bytes == nullptr || element_ == Element::f32) return damaged();
  bool fits = element_ == Element::u16 ? widen<uint16_t>(bytes, out, vocab)
                                       : widen<uint32_t>(bytes, out, vocab);
  return fits ? ok() : Status(damaged());
}

Status Examples::read(int64_t example, int64_t field, int64_t begin, std::span<float> out) const {
  const std::byte* bytes = locate(example, field, begin, out.size());
  if (bytes == nullptr || element_ != Element::f32) return damaged();
  if (!out.empty()) std::memcpy(out.data(), bytes, out.size_bytes());
  return ok();
}

}  // namespace weft::data
