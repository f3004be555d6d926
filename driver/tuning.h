// What tuning found, kept from one process to the next: a small JSON file per kernel and machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "driver/knobs.h"
#include "ir/support/private_folder.h"

namespace weft {

// What a measurement holds for, besides the kernel.
struct TuningMachine {
  std::string cpu = {};  // its model
  std::string target_cpu = "native";
  int threads = 1;
  std::string device = "cpu";  // or a device's, its driver's and its version's names
};
// This one. `threads` as a user gives it: 0 means all cores.
Result<TuningMachine> tuning_machine(const std::string& target_cpu, int threads);
// The same for another device, where the threads of the host are not counted.
TuningMachine tuning_device(const std::string& device);

struct TunedKernel {
  std::string name = {};   // of the kernel, for people
  KnobValues values = {};  // empty: as lowered
  double default_us = 0;   // of a run, all launches together
  double best_us = 0;
  DimBinding dims = {};  // at which it was measured
};

// Several processes may use a folder: an entry is written aside and renamed. One that is damaged,
// or of another machine or version of Weft, is not there, and the next tuning writes it anew.
class Tuning {
 public:
  // Fails if the folder cannot be used.
  static Result<Tuning> open(const std::string& cache_folder, TuningMachine machine);

  // `program` as it was lowered.
  std::optional<TunedKernel> find(const tile::Program& program) const;
  Status keep(const tile::Program& program, const TunedKernel& found) const;

 private:
  Tuning(PrivateFolder folder, TuningMachine machine)
      : folder_(std::move(folder)), machine_(std::move(machine)) {}

  PrivateFolder folder_;
  TuningMachine machine_;
};

// The same for programs that differ only in names, symbols' included, and in what they were given
// for choosable knobs.
std::string tuning_key(const tile::Program& program);

// What was found for a machine. Gives an empty one where nothing was ever tuned.
KnobChooser tuned_knobs(const std::string& cache_folder, const TuningMachine& machine);
KnobChooser tuned_knobs(const std::string& cache_folder, const std::string& target_cpu,
                        int threads);

}  // namespace weft
