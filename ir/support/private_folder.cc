// SPDX-License-Identifier: Apache-2.0
#include "ir/support/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

namespace weft {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

Error fail(const std::string& what, const std::string& why) { return error({}, what, ": ", why); }

// A failure shows when the folder is opened.
void make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), kFolderMode);
  }
  ::mkdir(path.c_str(), kFolderMode);
}

// Where a file is written before it gets its name; differs between threads, processes, machines.
std::string aside_of(const std::string& name) {
  uint64_t random = 0;
  if (::getentropy(&random, sizeof random) != 0) random = static_cast<uint64_t>(::getpid());
  char digits[20];
  std::snprintf(digits, sizeof digits, ".%016" PRIx64, random);
  return name + digits;
}

struct Entry {
  std::string name;
  timespec changed = {};
  uint64_t bytes = 0;

  bool older_than(const Entry& other) const {
    if (changed.tv_sec != other.changed.tv_sec) return changed.tv_sec < other.changed.tv_sec;
    return changed.tv_nsec < other.changed.tv_nsec;
  }
};

std::vector<Entry> list_files(int folder, std::string_view part) {
  std::vector<Entry> entries;
  int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = fd < 0 ? nullptr : ::fdopendir(fd);  // closes the descriptor in the end
  if (listing == nullptr) return entries;
  while (const dirent* item = ::readdir(listing)) {
    std::string_view name = item->d_name;
    struct stat status = {};
    if (name.find(part) != std::string_view::npos &&
        ::fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode)) {
      entries.push_back({std::string(name), status.st_mtim, static_cast<uint64_t>(status.st_size)});
    }
  }
  ::closedir(listing);
  return entries;
}

}  // namespace

Result<PrivateFolder> PrivateFolder::open(const std::string& path) {
  make_folders(path);
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (!folder.valid() || ::fstat(folder.get(), &status) != 0) {
    return fail(path, std::strerror(errno));
  }
  if (status.st_uid != ::geteuid()) return fail(path, "the folder belongs to another user");
  if ((status.st_mode & kWritableByOthers) != 0) {
    return fail(path, "other users may write to the folder").hint("chmod go-w " + path);
  }
  return PrivateFolder(std::move(folder));
}

std::optional<std::string> PrivateFolder::read(const std::string& name, uint64_t limit) const {
  // Non-blocking: opening a pipe that nobody writes must not hang.
  Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) > limit) {
    return std::nullopt;
  }
  std::string bytes;
  if (!read_all(file.get(), static_cast<size_t>(status.st_size), bytes)) return std::nullopt;
  ::futimens(file.get(), nullptr);
  return bytes;
}

Status PrivateFolder::write(const std::string& name, std::string_view bytes) const {
  int folder = folder_.get();
  std::string aside = aside_of(name);
  Descriptor file(
      ::openat(folder, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!file.valid()) return fail(name, std::strerror(errno));
  if (write_all(file.get(), bytes) && file.close() &&
      ::renameat(folder, aside.c_str(), folder, name.c_str()) == 0) {
    return ok();
  }
  std::string why = std::strerror(errno);
  ::unlinkat(folder, aside.c_str(), 0);
  return fail(name, why);
}

void PrivateFolder::trim(std::string_view part, uint64_t limit) const {
  std::vector<Entry> entries = list_files(folder_.get(), part);
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  if (total <= limit) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.older_than(b); });
  for (const Entry& entry : entries) {
    if (total <= limit / 4 * 3) return;
    if (::unlinkat(folder_.get(), entry.name.c_str(), 0) == 0) total -= entry.bytes;
  }
}

}  // namespace weft
