// Which form kernels take, where that is not left to the device. A fact of what is compiled: keys
// of what is kept have it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weft::simt {

// Where tiles lie: drivers that run on a CPU want registers, GPUs workgroup memory.
enum class Mapping : uint8_t { by_device, registers, workgroup };

// Whether products use the device's matrix units (cooperative matrices), where it has them.
// `as_loops` is for tests: the same kernels on any device, a fragment being a small array in
// workgroup memory.
enum class Matrices : uint8_t { by_device, none, as_loops };

struct KernelForm {
  Mapping mapping = Mapping::by_device;
  Matrices matrices = Matrices::by_device;
};

// "mapping workgroup, matrices none"
inline std::string str(const KernelForm& form) {
  constexpr const char* kMappings[] = {"by device", "register", "workgroup"};
  constexpr const char* kMatrices[] = {"by device", "none", "as loops"};
  return std::string("mapping ") + kMappings[static_cast<int>(form.mapping)] + ", matrices " +
         kMatrices[static_cast<int>(form.matrices)];
}

}  // namespace weft::simt
