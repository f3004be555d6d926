// SPDX-License-Identifier: Apache-2.0
#include "runtime/storage.h"

#include <algorithm>
#include <cstring>

#include "ir/oracle/elements.h"
#include "ir/oracle/oracle.h"
#include "ir/oracle/sizes.h"
#include "runtime/files/element_bytes.h"

namespace weft {
namespace {

constexpr int64_t kFillPiece = 1 << 14;  // elements at a time; even

int64_t byte_count(DType dtype, const std::vector<int64_t>& shape) {
  return element_count(shape) * byte_size(dtype);
}

}  // namespace

Result<StorageValues> StorageValues::create(LoadedPtr loaded, uint64_t seed) {
  StorageValues values;
  values.loaded_ = std::move(loaded);
  values.seed_ = seed;
  const std::vector<Storage>& storage = values.loaded_->executable().storage;
  values.values_.resize(storage.size());
  for (uint32_t i = 0; i < storage.size(); ++i) {
    bool known =
        std::ranges::all_of(storage[i].type.shape, [](const Dim& d) { return d.is_constant(); });
    if (!known) continue;
    Value& value = values.values_[i];
    WEFT_TRY(value.shape, concrete_shape(storage[i].type, {}, {}, "@" + storage[i].name));
    value.bytes = byte_count(storage[i].type.dtype, value.shape);
    value.sized = true;
  }
  WEFT_TRY_STATUS(values.lay_out_known());
  return values;
}

// All of known size in one piece of memory: blocks first, without gaps inside.
Status StorageValues::lay_out_known() {
  const Executable& executable = loaded_->executable();
  std::vector<int64_t> offsets(values_.size(), -1);
  int64_t end = 0;
  bool fits = true;
  auto append = [&](uint32_t index) {
    offsets[index] = end;
    fits &= !__builtin_add_overflow(end, values_[index].bytes, &end);
    fits &= end <= INT64_MAX - kBufferAlignment;
  };
  for (const StorageBlock& block : executable.blocks) {
    for (const std::string& member : block.members) append(loaded_->storage_of(member));
    if (fits) end = aligned(end);
  }
  for (uint32_t i = 0; i < values_.size() && fits; ++i) {
    if (!values_[i].sized || offsets[i] >= 0) continue;
    append(i);
    if (fits) end = aligned(end);
  }
  if (!fits) return error({}, "parameters and state have more bytes than can be counted");
  WEFT_TRY(Memory memory, Memory::allocate(end, "parameters and state"));
  for (uint32_t i = 0; i < values_.size(); ++i) {
    if (offsets[i] >= 0) values_[i].data = memory.data() + offsets[i];
  }
  bytes_ = end;
  memory_.push_back(std::move(memory));
  return ok();
}

Status StorageValues::prepare(uint32_t index, const std::vector<int64_t>& shape, Pool& pool) {
  Value& value = values_[index];
  const Storage& storage = loaded_->executable().storage[index];
  if (!value.sized) {
    int64_t bytes = byte_count(storage.type.dtype, shape);
    WEFT_TRY(Memory memory, Memory::allocate(bytes, "@" + storage.name));
    value = {.shape = shape, .data = memory.data(), .bytes = bytes, .sized = true};
    bytes_ += bytes;
    memory_.push_back(std::move(memory));
  } else if (value.shape != shape) {
    return error({}, "@", storage.name, " has the shape ", str(value.shape),
                 " since it was first bound, now ", str(shape), " is asked for")
        .hint("keep its sizes, or create another context");
  }
  if (!value.filled) fill(index, pool);
  return ok();
}

void StorageValues::fill(uint32_t index, Pool& pool) {
  const Storage& storage = loaded_->executable().storage[index];
  Value& value = values_[index];
  value.filled = true;
  value.version = ++versions_;
  if (storage.init.kind == Init::zeros && value.zero) return;
  value.zero = false;
  int64_t elements = element_count(value.shape);
  int64_t width = byte_size(storage.type.dtype);
  pool.parallel((elements + kFillPiece - 1) / kFillPiece, [&](int64_t begin, int64_t end, int) {
    for (int64_t first = begin * kFillPiece; first < std::min(end * kFillPiece, elements);
         first += kFillPiece) {
      int64_t count = std::min(kFillPiece, elements - first);
      std::string bytes;
      append_bytes(initial_elements(storage, value.shape, seed_, first, count), storage.type.dtype,
                   bytes);
      std::memcpy(value.data + first * width, bytes.data(), bytes.size());
    }
  });
}

Result<uint32_t> StorageValues::find(std::string_view name) const {
  const std::vector<Storage>& storage = loaded_->executable().storage;
  std::optional<uint32_t> index = loaded_->find_storage(name);
  if (!index) {
    std::vector<std::string> names;
    for (const Storage& item : storage) names.push_back(item.name);
    return error({}, "the executable has no parameter or state @", name)
        .hint(did_you_mean(name, names));
  }
  if (!values_[*index].sized) {
    return error({}, "@", name, " is ", storage[*index].type,
                 ", whose size is not known before a graph is bound")
        .hint("bind a graph that uses it first");
  }
  return *index;
}

Status StorageValues::set(std::string_view name, std::span<const std::byte> bytes) {
  WEFT_TRY(uint32_t index, find(name));
  Value& value = values_[index];
  if (static_cast<size_t>(value.bytes) != bytes.size()) {
    return error({}, "@", name, " is ", loaded_->executable().storage[index].type, " of ",
                 value.bytes, " bytes, got ", bytes.size());
  }
  if (!bytes.empty()) std::memcpy(value.data, bytes.data(), bytes.size());
  value.filled = true;
  value.away = false;
  value.version = ++versions_;
  return ok();
}

void StorageValues::give_back(uint32_t index) {
  Value& value = values_[index];
  value.away = true;
  Memory::give_back(value.data, value.bytes);
}

void StorageValues::come_back(uint32_t index) { values_[index].away = false; }

int64_t StorageValues::bytes_away() const {
  int64_t bytes = 0;
  for (const Value& value : values_) bytes += value.away ? value.bytes : 0;
  return bytes;
}

Result<std::span<const std::byte>> StorageValues::get(std::string_view name, Pool& pool) {
  WEFT_TRY(uint32_t index, find(name));
  if (!values_[index].filled) fill(index, pool);
  WEFT_CHECK(!values_[index].away, "storage is brought back before it is read");
  return std::span<const std::byte>(values_[index].data, static_cast<size_t>(values_[index].bytes));
}

Result<std::vector<int64_t>> StorageValues::shape(std::string_view name) const {
  WEFT_TRY(uint32_t index, find(name));
  return values_[index].shape;
}

void StorageValues::reset(uint64_t seed) {
  seed_ = seed;
  for (Value& value : values_) {
    value.filled = false;
    value.zero = false;
    value.away = false;
  }
}

}  // namespace weft
