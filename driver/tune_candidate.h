// A graph compiled with some choice of knobs, to be measured against another. Private to tune.cc.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "driver/execute.h"
#include "ir/tile/program.h"

namespace weft {

using Samples = std::vector<std::vector<double>>;  // by program, then by run; microseconds

class Candidate {
 public:
  Candidate(Executor executor, PreparedRun prepared, std::vector<tile::Program> programs)
      : executor_(std::move(executor)),
        prepared_(std::move(prepared)),
        nanoseconds_(prepared_.bound->steps.size()),
        programs_(std::move(programs)) {}

  const std::vector<tile::Program>& programs() const { return programs_; }
  void restart(uint64_t seed) { executor_.context().reset_storage(seed); }
  Status run() { return executor_.run(prepared_); }
  Status run(Samples& samples);

  // Of outputs and storage after as many runs of both: the same bits, or within what a device may
  // differ from the oracle by.
  Result<bool> same_bits(Candidate& other);
  Result<bool> is_close(Candidate& other);

 private:
  Executor executor_;
  PreparedRun prepared_;
  std::vector<int64_t> nanoseconds_;  // of a run, by step
  std::vector<tile::Program> programs_;
};

}  // namespace weft
