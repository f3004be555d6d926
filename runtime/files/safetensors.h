// Safetensors files: named tensors. Eight bytes of header length, a JSON header, the data; see
// https://github.com/huggingface/safetensors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/oracle/oracle.h"

namespace weft {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes of the data, from its start
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the data
  std::map<std::string, std::string> metadata;
  uint64_t data_start = 0;  // byte of the file

  const SafetensorsEntry* find(std::string_view name) const;
};

// Reads the header alone. It is checked in full: known element types, sizes that agree with the
// bytes, data without gaps, overlaps or bytes that belong to nothing.
Result<SafetensorsHeader> read_safetensors_header(const std::string& path);

Result<Tensor> read_safetensors_tensor(const std::string& path, const std::string& name);
Result<TensorMap> read_safetensors(const std::string& path);

// Whole or not at all. Floats are rounded to their tensor's type.
Status write_safetensors(const std::string& path, const TensorMap& tensors,
                         const std::map<std::string, std::string>& metadata = {});

// The same without numbers in between, one tensor in memory at a time.
// `bytes_of` gives the elements of each, which are copied before the next is asked for; the
// entries' `begin` and `end` are not looked at.
using TensorBytesFn = std::function<Result<std::span<const std::byte>>(const SafetensorsEntry&)>;
Status write_safetensors_bytes(const std::string& path,
                               const std::vector<SafetensorsEntry>& entries,
                               const TensorBytesFn& bytes_of,
                               const std::map<std::string, std::string>& metadata = {});
// `take` gets each tensor in the order of the data, and may refuse it.
using TakeTensorFn = std::function<Status(const SafetensorsEntry&, std::span<const std::byte>)>;
Status read_safetensors_bytes(const std::string& path, const TakeTensorFn& take);

}  // namespace weft
