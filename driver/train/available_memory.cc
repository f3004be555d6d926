// SPDX-License-Identifier: Apache-2.0
#include "driver/train/available_memory.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "driver/train/dry_run.h"

namespace weft::train {

int64_t available_bytes() {
  std::ifstream facts("/proc/meminfo");
  std::string name;
  std::string unit;
  for (int64_t kilobytes = 0; facts >> name >> kilobytes; std::getline(facts, unit)) {
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

Status check_memory(const std::string& graph, const DimBinding& dims, int64_t bytes,
                    int64_t available) {
  if (bytes <= available) return ok();
  std::string sizes;
  for (const auto& [symbol, size] : dims) {
    sizes += cat(sizes.empty() ? "" : ", ", symbol, " = ", size);
  }
  return error({}, "@", graph, " takes ", readable_bytes(bytes), " for a batch of ", sizes,
               ", and ", readable_bytes(available), " are free")
      .hint("make batches smaller: --batch or --max-tokens, and more of them a step: --accumulate");
}

}  // namespace weft::train
