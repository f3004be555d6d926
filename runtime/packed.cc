// SPDX-License-Identifier: Apache-2.0
#include "runtime/packed.h"

namespace weft {

Result<PackedValues> PackedValues::create(LoadedPtr loaded) {
  PackedValues values;
  const Executable& executable = loaded->executable();
  int64_t end = 0;
  for (const PackedStorage& packed : executable.packed) {
    Copy copy;
    copy.storage = loaded->storage_of(packed.storage);
    copy.offset = packed.offset * byte_size(packed.dtype);
    copy.bytes = packed.elements * byte_size(packed.dtype);
    copy.make = launch_of(executable.kernels[packed.program], packed.program);
    if (packed.back) copy.back = launch_of(executable.kernels[*packed.back], *packed.back);
    copy.place = end;
    if (__builtin_add_overflow(end, copy.bytes, &end) || end > INT64_MAX - kBufferAlignment) {
      return error({}, "copies of parameters have more bytes than can be counted");
    }
    end = aligned(end);
    values.copies_.push_back(std::move(copy));
  }
  values.all_bytes_ = end;
  values.loaded_ = std::move(loaded);
  return values;
}

// check_executable has seen that all of them are numbers.
CopyLaunch PackedValues::launch_of(const Kernel& kernel, uint32_t number) {
  CopyLaunch launch{number, kernel.programs.constant(), kernel.scratch_bytes.constant()};
  for (const Dim& arg : kernel.args) launch.args.push_back(arg.constant());
  return launch;
}

Status PackedValues::prepare(uint32_t index, StorageValues& storage, const Launch& launch) {
  Copy& copy = copies_[index];
  WEFT_TRY_STATUS(restore(copy.storage, storage, launch));  // another copy may have replaced it
  if (memory_.data() == nullptr) {
    WEFT_TRY(memory_, Memory::allocate(all_bytes_, "parameters as kernels read them"));
  }
  WEFT_TRY_STATUS(launch(copy.make, storage.data(copy.storage) + copy.offset, data(index)));
  copy.version = storage.version(copy.storage);
  if (copy.back) storage.give_back(copy.storage);
  return ok();
}

Status PackedValues::restore(uint32_t storage_index, StorageValues& storage, const Launch& launch) {
  if (!storage.is_away(storage_index)) return ok();
  for (uint32_t i = 0; i < copies_.size(); ++i) {
    const Copy& copy = copies_[i];
    if (copy.storage != storage_index || !copy.back || !ready(i, storage)) continue;
    WEFT_TRY_STATUS(launch(*copy.back, data(i), storage.data(storage_index)));
    storage.come_back(storage_index);
    return ok();
  }
  WEFT_CHECK(false, "memory is given back only where a copy has the value");
}

int64_t PackedValues::bytes() const {
  int64_t total = 0;
  for (const Copy& copy : copies_) total += copy.version > 0 ? copy.bytes : 0;
  return total;
}

}  // namespace weft
