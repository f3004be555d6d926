// Whole executables in files: a second start of a model needs no passes either.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/compile.h"

namespace weft {

struct CompiledExecutable {
  Executable executable;
  bool from_cache = false;
  double compile_ms = 0;      // or the time it took to find it
  std::string cache_problem;  // why the cache was not used, or not filled
};

// The executable alone. It comes from the request's cache folder if it is there, and is there
// afterwards. Where knobs were tuned, or where somebody watches the pipeline, nothing is kept.
Result<CompiledExecutable> compile_executable(Module module, const CompileRequest& request);

}  // namespace weft
