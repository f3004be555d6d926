// The parameters and state of a context.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loaded.h"
#include "runtime/pool.h"
#include "runtime/storage_memory.h"

namespace weft {

// A value begins as its Init says, with the oracle's numbers, when it is first used; until then it
// may be set, and its initial value is never computed. Values of a block lie one after the other.
class StorageValues {
 public:
  static Result<StorageValues> create(LoadedPtr loaded, uint64_t seed,
                                      std::unique_ptr<StorageMemory> memory);

  int64_t bytes() const { return bytes_; }  // of all that have memory

  StoragePlace place(uint32_t index) const { return values_[index].place; }
  // Where the host sees a value, if it does.
  std::byte* data(uint32_t index) const { return memory_->host(values_[index].place); }
  bool filled(uint32_t index) const { return values_[index].filled; }
  // Its initial value; for storage of known size that has no value.
  Status fill(uint32_t index, Pool& pool);
  // Whether it has a value, of this shape.
  bool ready(uint32_t index, const std::vector<int64_t>& shape) const {
    return values_[index].filled && values_[index].shape == shape;
  }
  // Another number for every value that it gets by `prepare`, `set` or `reset`; 0 before the first.
  uint64_t version(uint32_t index) const { return values_[index].version; }
  // The system may have the memory of a value that is kept elsewhere, until `come_back`.
  void give_back(uint32_t index);
  bool is_away(uint32_t index) const { return values_[index].away; }
  void come_back(uint32_t index);
  int64_t bytes_away() const;

  // Gives storage its memory and its initial value, unless it has them. Where the shape depends on
  // symbolic dims, the first one stays; another is an error.
  Status prepare(uint32_t index, const std::vector<int64_t>& shape, Pool& pool);
  // Gives storage whose shape depends on symbolic dims another shape. If only the first axis
  // changes, the rows that both shapes have keep their values, and those that come are unspecified;
  // otherwise the value begins anew. Memory grows, and is kept.
  Status resize(std::string_view name, const std::vector<int64_t>& shape);
  // In the order given; each within the value, from and to apart.
  Status copy_within(std::string_view name, std::span<const StorageCopy> copies, Pool& pool);

  Status set(std::string_view name, std::span<const std::byte> bytes);
  // The memory itself, which must not be away, or what was read of it: it changes as graphs run and
  // as values are set.
  Result<std::span<const std::byte>> get(std::string_view name, Pool& pool);
  Result<uint32_t> find(std::string_view name) const;  // of known size
  Result<std::vector<int64_t>> shape(std::string_view name) const;
  // Every value begins anew.
  void reset(uint64_t seed);

 private:
  struct Value {
    std::vector<int64_t> shape;
    StoragePlace place;
    int64_t bytes = 0;
    bool sized = false;   // shape, place and bytes are known
    bool filled = false;  // has its value
    bool zero = true;     // the memory is as the system gave it
    bool away = false;    // the value is not in the memory
    uint64_t version = 0;
  };

  Status lay_out_known();
  Status fill_elements(uint32_t index, Pool& pool);
  Status replace_memory(uint32_t index, int64_t bytes, int64_t kept);

  LoadedPtr loaded_;
  uint64_t seed_ = 0;
  uint64_t versions_ = 0;  // given so far
  int64_t bytes_ = 0;
  std::vector<Value> values_;
  std::unique_ptr<StorageMemory> memory_;  // its first piece holds all of known size
};

}  // namespace weft
