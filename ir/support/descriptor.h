// A file descriptor that closes itself; whole reads and writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  bool close();  // false if the system says that something was not written

 private:
  int fd_;
};

// Both set errno when they fail. What ends before `size` bytes is no failure of read_all.
bool write_all(int fd, std::string_view bytes);
bool read_all(int fd, size_t size, std::string& bytes);

}  // namespace weft
