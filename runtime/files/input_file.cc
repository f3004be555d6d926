// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/input_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

namespace weft {

Result<InputFile> InputFile::open(const std::string& path) {
  InputFile file;
  file.loc_.source = std::make_shared<SourceText>(SourceText{path, {}});
  std::error_code failure;
  std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) return file.fail("no such file");
  if (!std::filesystem::is_regular_file(status)) return file.fail("not a regular file");
  file.size_ = std::filesystem::file_size(path, failure);
  if (failure) return file.fail("cannot be read: ", failure.message());
  file.stream_.open(path, std::ios::binary);
  if (!file.stream_) return file.fail("cannot be opened: ", std::strerror(errno));
  return file;
}

Result<std::string> InputFile::read(uint64_t offset, uint64_t count) {
  if (offset > size_ || count > size_ - offset) {
    return fail("truncated: ", count, " bytes expected at byte ", offset, ", the file has ", size_);
  }
  std::string bytes;
  try {  // a sparse file may claim more than there is
    bytes.resize(count);
  } catch (const std::bad_alloc&) {
    return fail(count, " bytes at byte ", offset, " do not fit into memory");
  }
  stream_.seekg(static_cast<std::streamoff>(offset));
  stream_.read(bytes.data(), static_cast<std::streamsize>(count));
  if (!stream_) return fail("cannot be read at byte ", offset);
  return bytes;
}

}  // namespace weft
