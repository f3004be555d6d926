// SPDX-License-Identifier: Apache-2.0
#include "driver/cache_folder.h"

#include <cstdlib>

namespace weft {

std::string user_cache_folder() {
  if (const char* chosen = std::getenv("WEFT_CACHE_DIR")) return chosen;
  // A relative path here is to be ignored: https://specifications.freedesktop.org/basedir-spec
  const char* caches = std::getenv("XDG_CACHE_HOME");
  if (caches != nullptr && caches[0] == '/') return std::string(caches) + "/weft";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/weft";
  return "";
}

std::string kernel_folder(const std::string& cache_folder) {
  return cache_folder.empty() ? "" : cache_folder + "/kernels";
}

std::string executable_folder(const std::string& cache_folder) {
  return cache_folder.empty() ? "" : cache_folder + "/executables";
}

std::string vulkan_folder(const std::string& cache_folder) {
  return cache_folder.empty() ? "" : cache_folder + "/vulkan";
}

std::string tuning_folder(const std::string& cache_folder) {
  return cache_folder.empty() ? "" : cache_folder + "/tuning";
}

}  // namespace weft
