// Reading and writing whole files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/support/descriptor.h"
#include "ir/support/result.h"

namespace weft {

inline constexpr uint64_t kMaxModuleBytes = uint64_t{256} << 20;

// Fails on folders, devices and files larger than `limit`, before reading.
Result<std::string> read_file(const std::string& path, uint64_t limit);
// Writes aside, syncs, renames: the file is whole or as it was. One that exists keeps its
// permission bits, a link its target. "-" is standard output.
Status write_file(const std::string& path, std::string_view bytes);

// The same piece by piece: what is written stays aside until `commit`, and goes without one.
class FileWriter {
 public:
  // Fails where nothing can be written, and on what is not a regular file.
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&&) = default;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status write(std::string_view bytes);
  Status commit();

 private:
  FileWriter(std::string path, std::string target, std::string aside, Descriptor file)
      : path_(std::move(path)),
        target_(std::move(target)),
        aside_(std::move(aside)),
        file_(std::move(file)) {}

  std::string path_;    // as the user wrote it
  std::string target_;  // behind links
  std::string aside_;
  Descriptor file_;  // not valid after commit
};

// Waits until names in a folder are on the disk: a rename in it is safe from a loss of power.
Status sync_folder(const std::string& path);

}  // namespace weft
