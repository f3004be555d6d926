// What must hold in the kernels of an executable for a device that runs SPIR-V.
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>

#include "runtime/loaded.h"

namespace weft {
namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr uint64_t kSpirvHead = 20;  // bytes
constexpr size_t kMaxBindings = 256;
constexpr uint32_t kMaxParts = 64;
constexpr uint32_t kLeastPartBits = 8;
constexpr uint32_t kMostPartBits = 30;

class KernelChecker {
 public:
  KernelChecker(const Executable& executable, const Kernel& kernel, const Loc& loc)
      : executable_(executable), kernel_(kernel), loc_(loc) {}

  Status run() const {
    WEFT_TRY_STATUS(check_words());
    if (kernel_.workgroup == 0) return fail("has workgroups of no invocations");
    if (kernel_.bindings.size() > kMaxBindings) {
      return fail("has ", kernel_.bindings.size(), " bindings");
    }
    for (const Binding& binding : kernel_.bindings) {
      WEFT_TRY_STATUS(check_binding(binding));
    }
    return ok();
  }

 private:
  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(loc_, "the executable is damaged: kernel ", kernel_.name, " ", parts...);
  }

  Status check_words() const {
    const uint64_t size = executable_.code.size();
    if (kernel_.entry % 4 != 0 || kernel_.bytes % 4 != 0 || kernel_.bytes < kSpirvHead ||
        kernel_.entry > size || kernel_.bytes > size - kernel_.entry) {
      return fail("has bytes ", kernel_.entry, " to ", kernel_.entry + kernel_.bytes, " of ", size,
                  " bytes of code");
    }
    uint32_t magic = 0;
    std::memcpy(&magic, executable_.code.data() + kernel_.entry, sizeof magic);
    if (magic != kSpirvMagic) return fail("is no SPIR-V");
    return ok();
  }

  Status check_binding(const Binding& binding) const {
    if (binding.buffer >= kernel_.buffers) {
      return fail("binds buffer ", binding.buffer, " of ", kernel_.buffers);
    }
    if (binding.width > 4 || !std::has_single_bit(binding.width)) {
      return fail("has texels of ", int{binding.width}, " components");
    }
    // Parts begin where every device lets descriptors begin.
    const bool whole = binding.parts == 1 && binding.part_bits == 0;
    if (!whole && (binding.parts < 2 || binding.parts > kMaxParts ||
                   binding.part_bits < kLeastPartBits || binding.part_bits > kMostPartBits)) {
      return fail("has a buffer in ", binding.parts, " parts of 2^", binding.part_bits);
    }
    if (binding.view == Binding::texel && binding.writes) {
      return fail("writes to a texel buffer");
    }
    return ok();
  }

  const Executable& executable_;
  const Kernel& kernel_;
  const Loc& loc_;
};

}  // namespace

Status check_simt_kernels(const Executable& executable, const Loc& loc) {
  if (!executable.packed.empty()) {
    return error(loc, "the executable has copies of parameters in another order, which device '",
                 executable.device, "' does not make");
  }
  for (const Kernel& kernel : executable.kernels) {
    WEFT_TRY_STATUS(KernelChecker(executable, kernel, loc).run());
  }
  for (size_t i = 0; i < executable.portable.size(); ++i) {
    const Kernel& kernel = executable.portable[i];
    WEFT_TRY_STATUS(KernelChecker(executable, kernel, loc).run());
    if (executable.portable.size() == executable.kernels.size() &&
        kernel.buffers == executable.kernels[i].buffers) {
      continue;
    }
    return error(loc, "the executable is damaged: its portable kernels are not those it has");
  }
  return ok();
}

}  // namespace weft
