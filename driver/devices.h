// The devices of this machine, and which one a name means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/support/result.h"

namespace weft {

struct Device {
  std::string name;                                        // as --device takes it
  std::string description;                                 // one line
  std::vector<std::pair<std::string, std::string>> facts;  // limits and features
  bool usable = false;
  std::string verdict;  // of the self-test, or why it cannot be used
};

// Every device that Weft knows of, usable or not, each with its self-test run.
std::vector<Device> list_devices();

// Fails if there is no such device. Gives what a user who asked for it must know, as a rule
// nothing: without a code generator `cpu` means the oracle.
Result<std::string> choose_device(const std::string& name);

}  // namespace weft
