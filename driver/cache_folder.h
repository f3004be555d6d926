// Where things are kept from one process to the next: compiled kernels, what tuning found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

// $WEFT_CACHE_DIR, or weft in the user's cache folder. Empty if that variable is, or if there is no
// such folder: then nothing is kept.
std::string user_cache_folder();

// The part of a cache folder for compiled kernels; empty for an empty one.
std::string kernel_folder(const std::string& cache_folder);
// The part for whole executables.
std::string executable_folder(const std::string& cache_folder);
// The part for what Vulkan drivers compile, and what was found out about them.
std::string vulkan_folder(const std::string& cache_folder);
// The same for what tuning found.
std::string tuning_folder(const std::string& cache_folder);

}  // namespace weft
