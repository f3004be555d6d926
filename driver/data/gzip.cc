// Opening files for reading, through zlib where they are gzipped.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "driver/data/text_file.h"
#include "ir/support/descriptor.h"

#ifdef WEFT_HAS_ZLIB
#include <zlib.h>
#endif

namespace weft::data {
namespace {

Error fail(const std::string& path, const std::string& what) { return error(file_loc(path), what); }

class PlainBytes final : public ByteSource {
 public:
  PlainBytes(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  Result<size_t> read(char* bytes, size_t size) override {
    for (;;) {
      ssize_t count = ::read(file_.get(), bytes, size);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) return fail(path_, cat("cannot be read: ", std::strerror(errno)));
    }
  }

 private:
  std::string path_;
  Descriptor file_;
};

#ifdef WEFT_HAS_ZLIB

class GzipBytes final : public ByteSource {
 public:
  GzipBytes(std::string path, gzFile file) : path_(std::move(path)), file_(file) {}
  ~GzipBytes() override { ::gzclose_r(file_); }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;

  Result<size_t> read(char* bytes, size_t size) override {
    int count = ::gzread(file_, bytes, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* message = ::gzerror(file_, &code);
    if (code == Z_BUF_ERROR) return fail(path_, "the gzip data is cut short");
    if (count < 0 || code != Z_OK) return fail(path_, cat("damaged gzip data: ", message));
    return static_cast<size_t>(count);
  }

 private:
  std::string path_;
  gzFile file_;
};

Result<std::unique_ptr<ByteSource>> open_gzip(const std::string& path, const Descriptor& file) {
  int own = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);  // gzclose closes its own
  gzFile opened = own < 0 ? nullptr : ::gzdopen(own, "rb");
  if (opened == nullptr) {
    if (own >= 0) ::close(own);
    return fail(path, "cannot be opened: not enough memory");
  }
  ::gzbuffer(opened, 1u << 17);
  return std::unique_ptr<ByteSource>(std::make_unique<GzipBytes>(path, opened));
}

#else

Result<std::unique_ptr<ByteSource>> open_gzip(const std::string& path, const Descriptor&) {
  return error(file_loc(path), "is gzipped, and this build has no zlib")
      .hint(cat("unpack it: gunzip -k ", path, ", or build with zlib1g-dev installed"));
}

#endif

}  // namespace

bool have_gzip() {
#ifdef WEFT_HAS_ZLIB
  return true;
#else
  return false;
#endif
}

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  // Non-blocking: opening a pipe that nobody writes must not hang.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) {
    return fail(path,
                errno == ENOENT ? "no such file" : cat("cannot open: ", std::strerror(errno)));
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) {
    return fail(path, cat("cannot be read: ", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) return fail(path, "is a folder, expected a file");
  if (!S_ISREG(status.st_mode)) {
    return error(file_loc(path), "not a regular file: it has to be read more than once")
        .hint("write it to a file first");
  }
  char magic[2] = {};
  if (::pread(file.get(), magic, sizeof magic, 0) == sizeof magic && magic[0] == '\x1f' &&
      magic[1] == '\x8b') {
    return open_gzip(path, file);
  }
  return std::unique_ptr<ByteSource>(std::make_unique<PlainBytes>(path, std::move(file)));
}

}  // namespace weft::data
