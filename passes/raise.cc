// SPDX-License-Identifier: Apache-2.0
#include "passes/raise.h"

namespace weft {

Result<bool> raise(Module& module, const PassOptions& options) {
  WEFT_TRY(bool changed, raise_softmax(module, options));
  if (!options.fuse_attention) return changed;
  WEFT_TRY(bool raised, raise_attention(module, options));
  return changed || raised;
}

}  // namespace weft
