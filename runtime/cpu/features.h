// What the processor underneath can do, by the names that an Executable lists its needs in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Every feature that generated code may use beyond the baseline of its architecture (x86-64: SSE2;
// aarch64: NEON), as LLVM spells them. Empty on an architecture that has none we use.
std::span<const std::string_view> known_cpu_features();

// False for a name that is not in the list above.
bool host_has_cpu_feature(std::string_view feature);

// Those of `needed` that this host lacks, in their order; none means that the code can run here.
std::vector<std::string> missing_cpu_features(std::span<const std::string> needed);

}  // namespace weft
