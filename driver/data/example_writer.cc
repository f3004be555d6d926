// Writing files of examples.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "driver/data/examples.h"
#include "driver/data/examples_head.h"
#include "driver/data/text_file.h"

namespace weft::data {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

// A new file beside `path`; its name replaces `aside`.
Descriptor make_file(const std::string& path, std::string& aside) {
  aside = path + ".XXXXXX";
  return Descriptor(::mkostemp(aside.data(), O_CLOEXEC));
}

mode_t default_mode() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Result<ExampleWriter> ExampleWriter::create(const std::string& path, int64_t fields,
                                            Element element) {
  std::string place = path;
  if (path.empty()) {
    std::error_code failure;
    place = (std::filesystem::temp_directory_path(failure) / "weft-examples").string();
    if (failure) return error({}, "there is no folder for temporary files: ", failure.message());
  }
  std::string aside;
  std::string nameless;
  Descriptor file = make_file(place, aside);
  Descriptor index = make_file(place, nameless);
  int reason = errno;
  if (index.valid()) ::unlink(nameless.c_str());
  if (file.valid() && (path.empty() || !index.valid())) {
    ::unlink(aside.c_str());
    aside.clear();
  }
  if (!file.valid() || !index.valid()) {
    return error(file_loc(place), "cannot write: ", std::strerror(reason));
  }
  ExampleWriter writer(place, aside, std::move(file), std::move(index));
  writer.element_ = element;
  writer.fields_ = fields;
  ExamplesHead room;
  WEFT_TRY_STATUS(writer.put(writer.elements_buffer_, writer.file_, &room, sizeof room));
  uint64_t first = 0;
  WEFT_TRY_STATUS(writer.put(writer.index_buffer_, writer.index_, &first, sizeof first));
  return writer;
}

ExampleWriter::ExampleWriter(ExampleWriter&& other) noexcept
    : path_(std::move(other.path_)),
      aside_(std::exchange(other.aside_, {})),
      file_(std::move(other.file_)),
      index_(std::move(other.index_)),
      elements_buffer_(std::move(other.elements_buffer_)),
      index_buffer_(std::move(other.index_buffer_)),
      element_(other.element_),
      fields_(other.fields_),
      elements_(other.elements_),
      ended_fields_(other.ended_fields_) {}

ExampleWriter::~ExampleWriter() {
  if (!aside_.empty()) ::unlink(aside_.c_str());
}

Error ExampleWriter::failed() const {
  return error(file_loc(path_), "cannot write: ", std::strerror(errno));
}

Status ExampleWriter::put(std::string& buffer, const Descriptor& file, const void* bytes,
                          size_t size) {
  buffer.append(static_cast<const char*>(bytes), size);
  return buffer.size() < kBufferBytes ? ok() : flush(buffer, file);
}

Status ExampleWriter::flush(std::string& buffer, const Descriptor& file) {
  if (!write_all(file.get(), buffer)) return failed();
  buffer.clear();
  return ok();
}

Status ExampleWriter::append(std::span<const int32_t> ids) {
  elements_ += ids.size();
  if (element_ == Element::u32) {
    return put(elements_buffer_, file_, ids.data(), ids.size_bytes());
  }
  for (int32_t id : ids) {
    auto narrow = static_cast<uint16_t>(id);
    elements_buffer_.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
  return elements_buffer_.size() < kBufferBytes ? ok() : flush(elements_buffer_, file_);
}

Status ExampleWriter::append(std::span<const float> values) {
  elements_ += values.size();
  return put(elements_buffer_, file_, values.data(), values.size_bytes());
}

Status ExampleWriter::end_field() {
  ++ended_fields_;
  return put(index_buffer_, index_, &elements_, sizeof elements_);
}

Status ExampleWriter::copy_index() {
  WEFT_TRY_STATUS(flush(index_buffer_, index_));
  if (::lseek(index_.get(), 0, SEEK_SET) != 0) return failed();
  std::string bytes;
  do {
    bytes.clear();
    if (!read_all(index_.get(), kBufferBytes, bytes)) return failed();
    if (!write_all(file_.get(), bytes)) return failed();
  } while (!bytes.empty());
  return ok();
}

Result<Examples> ExampleWriter::finish() {
  uint64_t bytes = elements_ * byte_size(element_);
  elements_buffer_.append(padded(bytes) - bytes, '\0');
  WEFT_TRY_STATUS(flush(elements_buffer_, file_));
  WEFT_TRY_STATUS(copy_index());
  ExamplesHead head;
  head.magic = kExamplesMagic;
  head.element = static_cast<uint32_t>(element_);
  head.fields = static_cast<uint64_t>(fields_);
  head.count = ended_fields_ / head.fields;
  head.elements = elements_;
  if (::pwrite(file_.get(), &head, sizeof head, 0) != sizeof head) return failed();
  if (!aside_.empty()) {
    if (::fchmod(file_.get(), default_mode()) != 0 || ::fsync(file_.get()) != 0 ||
        ::rename(aside_.c_str(), path_.c_str()) != 0) {
      return failed();
    }
    aside_.clear();
  }
  return Examples::map(path_, file_.get());
}

}  // namespace weft::data
