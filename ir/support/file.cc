// SPDX-License-Identifier: Apache-2.0
#include "ir/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "ir/support/descriptor.h"

namespace weft {
namespace {

Error fail(const std::string& path, const std::string& what) {
  Loc loc{std::make_shared<const SourceText>(SourceText{path, ""}), 0, 0, 0};
  return error(loc, what);
}

std::string reason() { return std::strerror(errno); }

// mkstemp makes private files; the finished one gets what the user's umask asks for.
mode_t default_mode() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// Where a write to `path` ends, although nothing need be there yet.
Result<std::string> follow_links(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  std::filesystem::path at = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code failure;
    if (!std::filesystem::is_symlink(at, failure)) return at.string();
    std::filesystem::path target = std::filesystem::read_symlink(at, failure);
    if (failure) return fail(path, "cannot write: " + failure.message());
    at = at.parent_path() / target;  // an absolute target stands alone
  }
  errno = ELOOP;
  return fail(path, "cannot write: " + reason());
}

// Devices such as /dev/null: renaming over one would replace it.
Status write_in_place(const std::string& path, std::string_view bytes) {
  Descriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (device.valid() && write_all(device.get(), bytes)) return ok();
  return fail(path, "cannot write: " + reason());
}

}  // namespace

Result<std::string> read_file(const std::string& path, uint64_t limit) {
  // Non-blocking: opening a pipe that nobody writes must not hang.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return fail(path, "cannot open: " + reason());
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return fail(path, "cannot read: " + reason());
  if (!S_ISREG(status.st_mode)) return fail(path, "not a regular file");
  auto size = static_cast<uint64_t>(status.st_size);
  if (size > limit) {
    return fail(path, cat("file of ", size, " bytes is larger than the limit of ", limit));
  }
  std::string bytes;
  if (!read_all(file.get(), size, bytes)) return fail(path, "cannot read: " + reason());
  return bytes;
}

Status write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    std::fflush(stdout);
    return write_all(STDOUT_FILENO, bytes) ? ok()
                                           : fail("standard output", "cannot write: " + reason());
  }
  WEFT_TRY(std::string target, follow_links(path));
  struct stat status = {};
  const bool there = ::stat(target.c_str(), &status) == 0;
  if (there && !S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
    return write_in_place(target, bytes);
  }
  WEFT_TRY(FileWriter file, FileWriter::create(path));
  WEFT_TRY_STATUS(file.write(bytes));
  return file.commit();
}

Result<FileWriter> FileWriter::create(const std::string& path) {
  WEFT_TRY(std::string target, follow_links(path));
  mode_t mode = default_mode();
  struct stat status = {};
  if (::stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return fail(path, "cannot write: is a directory");
    if (!S_ISREG(status.st_mode)) return fail(path, "cannot write: not a regular file");
    // A rename needs only the folder's permission, but a file is protected by its own.
    if (::access(target.c_str(), W_OK) != 0) return fail(path, "cannot write: " + reason());
    mode = status.st_mode & 0777;
  }
  std::string aside = target + ".XXXXXX";
  Descriptor file(::mkstemp(aside.data()));
  if (!file.valid()) return fail(path, "cannot write: " + reason());
  const bool permitted = ::fchmod(file.get(), mode) == 0;
  FileWriter writer(path, std::move(target), std::move(aside), std::move(file));
  if (!permitted) return fail(path, "cannot write: " + reason());
  return writer;
}

FileWriter::~FileWriter() {
  if (file_.valid()) ::unlink(aside_.c_str());
}

Status FileWriter::write(std::string_view bytes) {
  return write_all(file_.get(), bytes) ? ok() : fail(path_, "cannot write: " + reason());
}

Status FileWriter::commit() {
  bool written =
      ::fsync(file_.get()) == 0 && file_.close() && ::rename(aside_.c_str(), target_.c_str()) == 0;
  if (written) return ok();
  std::string why = reason();
  ::unlink(aside_.c_str());
  return fail(path_, "cannot write: " + why);
}

Status sync_folder(const std::string& path) {
  Descriptor folder(::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (folder.valid() && ::fsync(folder.get()) == 0) return ok();
  return fail(path, "cannot sync the folder: " + reason());
}

}  // namespace weft
