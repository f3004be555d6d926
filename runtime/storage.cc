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

Result<StorageValues> StorageValues::create(LoadedPtr loaded, uint64_t seed,
                                            std::unique_ptr<StorageMemory> memory) {
  StorageValues values;
  values.memory_ = std::move(memory);
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
  const int64_t alignment = memory_->alignment();
  std::vector<bool> placed(values_.size(), false);
  int64_t end = 0;
  bool fits = true;
  auto append = [&](uint32_t index) {
    values_[index].place = {0, end};
    placed[index] = true;
    fits &= !__builtin_add_overflow(end, values_[index].bytes, &end);
    fits &= end <= INT64_MAX - alignment;
  };
  for (const StorageBlock& block : executable.blocks) {
    for (const std::string& member : block.members) append(loaded_->storage_of(member));
    if (fits) end = aligned(end, alignment);
  }
  for (uint32_t i = 0; i < values_.size() && fits; ++i) {
    if (!values_[i].sized || placed[i]) continue;
    append(i);
    if (fits) end = aligned(end, alignment);
  }
  if (!fits) return error({}, "parameters and state have more bytes than can be counted");
  WEFT_TRY([[maybe_unused]] size_t first, memory_->add(end, "parameters and state"));
  bytes_ = end;
  return ok();
}

Status StorageValues::prepare(uint32_t index, const std::vector<int64_t>& shape, Pool& pool) {
  Value& value = values_[index];
  const Storage& storage = loaded_->executable().storage[index];
  if (!value.sized) {
    int64_t bytes = byte_count(storage.type.dtype, shape);
    WEFT_TRY(size_t piece, memory_->add(bytes, "@" + storage.name));
    value = {.shape = shape, .place = {piece, 0}, .bytes = bytes, .sized = true};
    bytes_ += bytes;
  } else if (value.shape != shape) {
    return error({}, "@", storage.name, " has the shape ", str(value.shape),
                 " since it was first bound, now ", str(shape), " is asked for")
        .hint("keep its sizes, or create another context");
  }
  return value.filled ? ok() : fill(index, pool);
}

Status StorageValues::fill(uint32_t index, Pool& pool) {
  const Storage& storage = loaded_->executable().storage[index];
  Value& value = values_[index];
  value.filled = true;
  value.version = ++versions_;
  if (storage.init.kind == Init::zeros) {
    return value.zero ? ok() : memory_->zero(value.place, value.bytes);
  }
  value.zero = false;
  return fill_elements(index, pool);
}

// In pieces that the host computes in place, or aside where it does not see the value.
Status StorageValues::fill_elements(uint32_t index, Pool& pool) {
  const Storage& storage = loaded_->executable().storage[index];
  const Value& value = values_[index];
  const int64_t elements = element_count(value.shape);
  const int64_t width = byte_size(storage.type.dtype);
  std::byte* const seen = memory_->host(value.place);
  std::vector<std::byte> aside;
  const int64_t part = seen == nullptr ? 64 * kFillPiece : std::max<int64_t>(elements, 1);
  for (int64_t start = 0; start < elements; start += part) {
    const int64_t stop = std::min(start + part, elements);
    if (seen == nullptr) aside.resize(static_cast<size_t>((stop - start) * width));
    std::byte* const to = seen == nullptr ? aside.data() : seen + start * width;
    pool.parallel((stop - start + kFillPiece - 1) / kFillPiece,
                  [&](int64_t begin, int64_t end, int) {
                    for (int64_t first = start + begin * kFillPiece;
                         first < std::min(start + end * kFillPiece, stop); first += kFillPiece) {
                      std::string bytes;
                      append_bytes(initial_elements(storage, value.shape, seed_, first,
                                                    std::min(kFillPiece, stop - first)),
                                   storage.type.dtype, bytes);
                      std::memcpy(to + (first - start) * width, bytes.data(), bytes.size());
                    }
                  });
    if (seen != nullptr) continue;
    WEFT_TRY_STATUS(memory_->write({value.place.piece, value.place.offset + start * width}, aside));
  }
  return ok();
}

// A larger piece for a value, of which the first bytes stay.
Status StorageValues::replace_memory(uint32_t index, int64_t bytes, int64_t kept) {
  Value& value = values_[index];
  const std::string what = "@" + loaded_->executable().storage[index].name;
  if (!value.sized) {
    WEFT_TRY(value.place.piece, memory_->add(bytes, what));
    bytes_ += bytes;
  } else {
    const int64_t before = memory_->bytes(value.place.piece);
    WEFT_TRY_STATUS(memory_->replace(value.place.piece, bytes, kept, what));
    bytes_ += bytes - before;
  }
  value.zero = true;
  value.sized = true;
  return ok();
}

Status StorageValues::resize(std::string_view name, const std::vector<int64_t>& shape) {
  std::optional<uint32_t> found = loaded_->find_storage(name);
  if (!found) {
    WEFT_TRY(uint32_t unknown, find(name));  // fails, and says what there is
    found = unknown;
  }
  const Type& type = loaded_->executable().storage[*found].type;
  Value& value = values_[*found];
  const bool fixed = std::ranges::all_of(type.shape, [](const Dim& d) { return d.is_constant(); });
  if (fixed || shape.size() != type.shape.size()) {
    return error({}, "@", name, " is ", type, " and cannot have the shape ", str(shape));
  }
  if (value.sized && value.shape == shape) return ok();
  const bool rows_only = value.filled && !shape.empty() &&
                         std::equal(shape.begin() + 1, shape.end(), value.shape.begin() + 1);
  const int64_t bytes = byte_count(type.dtype, shape);
  const int64_t kept = rows_only ? std::min(bytes, value.bytes) : 0;
  if (!value.sized || bytes > memory_->bytes(value.place.piece)) {
    WEFT_TRY_STATUS(replace_memory(*found, bytes, kept));
  } else {
    value.zero = false;
  }
  value.shape = shape;
  value.bytes = bytes;
  value.filled = rows_only;
  return ok();
}

Status StorageValues::copy_within(std::string_view name, std::span<const StorageCopy> copies,
                                  Pool& pool) {
  WEFT_TRY(uint32_t index, find(name));
  if (!values_[index].filled) WEFT_TRY_STATUS(fill(index, pool));
  Value& value = values_[index];
  for (const StorageCopy& copy : copies) {
    const int64_t least = std::min(copy.from, copy.to);
    const int64_t most = std::max(copy.from, copy.to);
    if (least < 0 || copy.bytes < 0 || most > value.bytes - copy.bytes ||
        most - least < copy.bytes) {
      return error({}, "a copy of ", copy.bytes, " bytes from ", copy.from, " to ", copy.to,
                   " is not within @", name, " of ", value.bytes, " bytes, or overlaps itself");
    }
  }
  WEFT_TRY_STATUS(memory_->copy(value.place, copies));
  value.version = ++versions_;
  return ok();
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
  WEFT_TRY_STATUS(memory_->write(value.place, bytes));
  value.filled = true;
  value.away = false;
  value.version = ++versions_;
  return ok();
}

void StorageValues::give_back(uint32_t index) {
  Value& value = values_[index];
  value.away = true;
  memory_->give_back(value.place, value.bytes);
}

void StorageValues::come_back(uint32_t index) { values_[index].away = false; }

int64_t StorageValues::bytes_away() const {
  int64_t bytes = 0;
  for (const Value& value : values_) bytes += value.away ? value.bytes : 0;
  return bytes;
}

Result<std::span<const std::byte>> StorageValues::get(std::string_view name, Pool& pool) {
  WEFT_TRY(uint32_t index, find(name));
  if (!values_[index].filled) WEFT_TRY_STATUS(fill(index, pool));
  WEFT_CHECK(!values_[index].away, "storage is brought back before it is read");
  return memory_->read(values_[index].place, values_[index].bytes);
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
