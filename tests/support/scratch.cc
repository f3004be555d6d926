// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scratch.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace weft {

std::string scratch(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string shared_cache() {
  const char* folder = std::getenv("WEFT_TEST_CACHE");
  return folder == nullptr ? scratch("kernels") : folder;
}

std::string write_scratch(const std::string& name, const std::string& bytes) {
  std::string path = scratch(name);
  std::remove(path.c_str());  // some file systems sync a file that is overwritten
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace weft
