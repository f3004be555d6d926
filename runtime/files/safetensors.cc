// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ir/support/file.h"
#include "runtime/files/element_bytes.h"
#include "runtime/files/input_file.h"
#include "runtime/files/safetensors_header.h"

namespace weft {
namespace {

constexpr uint64_t kLengthBytes = 8;
// The headers of the largest models take a few megabytes; parsing one takes about four times its
// size, so the 100 MB of the reference implementation would be too generous to hostile files.
constexpr uint64_t kMaxHeaderBytes = 16 << 20;

// The header's own claims about one tensor agree.
Status check_entry(const InputFile& file, const SafetensorsEntry& entry) {
  std::optional<int64_t> count = checked_element_count(entry.shape);
  if (!count) return file.fail("tensor ", quoted_name(entry.name), ": too many elements");
  uint64_t bytes = static_cast<uint64_t>(*count) * static_cast<uint64_t>(byte_size(entry.dtype));
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    return file.fail("tensor ", quoted_name(entry.name), ": data_offsets ", entry.begin, " to ",
                     entry.end, " do not hold the ", bytes, " bytes of its shape");
  }
  return ok();
}

// The tensors follow one another and fill the data.
Status check_coverage(const InputFile& file, const SafetensorsHeader& header) {
  uint64_t at = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != at) {
      return file.fail(
          "tensor ", quoted_name(entry.name), ": data begins at ", entry.begin,
          entry.begin < at ? ", inside of another tensor that ends at " : ", after a gap from ",
          at);
    }
    at = entry.end;
  }
  uint64_t data = file.size() - header.data_start;
  if (at != data) return file.fail("the tensors take ", at, " bytes of data, the file has ", data);
  return ok();
}

Result<SafetensorsHeader> read_header(InputFile& file) {
  WEFT_TRY(std::string prefix, file.read(0, kLengthBytes));
  uint64_t length = 0;
  std::memcpy(&length, prefix.data(), kLengthBytes);
  if (length > file.size() - kLengthBytes) {
    return file.fail("not a safetensors file, or truncated: the header's length is ", length,
                     " bytes, the file has ", file.size());
  }
  if (length > kMaxHeaderBytes) {
    return file.fail("the header has ", length, " bytes; at most ", kMaxHeaderBytes, " are read");
  }
  WEFT_TRY(std::string json, file.read(kLengthBytes, length));
  WEFT_TRY(SafetensorsHeader header, parse_safetensors_header(json, kLengthBytes, file.loc()));
  header.data_start = kLengthBytes + length;
  for (const SafetensorsEntry& entry : header.entries) WEFT_TRY_STATUS(check_entry(file, entry));
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  WEFT_TRY_STATUS(check_coverage(file, header));
  return header;
}

Result<Tensor> read_tensor(InputFile& file, const SafetensorsHeader& header,
                           const SafetensorsEntry& entry) {
  WEFT_TRY(std::string bytes, file.read(header.data_start + entry.begin, entry.end - entry.begin));
  return tensor_from_bytes(entry.dtype, entry.shape, bytes);
}

}  // namespace

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const SafetensorsEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

Result<SafetensorsHeader> read_safetensors_header(const std::string& path) {
  WEFT_TRY(InputFile file, InputFile::open(path));
  return read_header(file);
}

Result<Tensor> read_safetensors_tensor(const std::string& path, const std::string& name) {
  WEFT_TRY(InputFile file, InputFile::open(path));
  WEFT_TRY(SafetensorsHeader header, read_header(file));
  if (const SafetensorsEntry* entry = header.find(name)) return read_tensor(file, header, *entry);
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : header.entries) names.push_back(entry.name);
  return file.fail("no tensor ", quoted_name(name)).hint(did_you_mean(name, names));
}

Result<TensorMap> read_safetensors(const std::string& path) {
  WEFT_TRY(InputFile file, InputFile::open(path));
  WEFT_TRY(SafetensorsHeader header, read_header(file));
  TensorMap tensors;
  for (const SafetensorsEntry& entry : header.entries) {
    WEFT_TRY(tensors[entry.name], read_tensor(file, header, entry));
  }
  return tensors;
}

Status write_safetensors(const std::string& path, const TensorMap& tensors,
                         const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, tensor.dtype, tensor.shape});
  std::string bytes;
  auto bytes_of = [&](const SafetensorsEntry& entry) -> Result<std::span<const std::byte>> {
    bytes.clear();
    append_bytes(tensors.at(entry.name), entry.dtype, bytes);
    return std::as_bytes(std::span(bytes));
  };
  return write_safetensors_bytes(path, entries, bytes_of, metadata);
}

namespace {

std::string header_of(const std::vector<SafetensorsEntry>& entries,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    const auto bytes = static_cast<uint64_t>(element_count(entry.shape) * byte_size(entry.dtype));
    json[entry.name] = {{"dtype", safetensors_name(entry.dtype)},
                        {"shape", entry.shape},
                        {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string header = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  header.resize((header.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  uint64_t length = header.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return prefix + header;
}

}  // namespace

Status write_safetensors_bytes(const std::string& path,
                               const std::vector<SafetensorsEntry>& entries,
                               const TensorBytesFn& bytes_of,
                               const std::map<std::string, std::string>& metadata) {
  WEFT_TRY(FileWriter file, FileWriter::create(path));
  WEFT_TRY_STATUS(file.write(header_of(entries, metadata)));
  for (const SafetensorsEntry& entry : entries) {
    WEFT_TRY(std::span<const std::byte> bytes, bytes_of(entry));
    WEFT_CHECK(
        static_cast<int64_t>(bytes.size()) == element_count(entry.shape) * byte_size(entry.dtype),
        "a tensor has the bytes of its shape");
    WEFT_TRY_STATUS(file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return file.commit();
}

Status read_safetensors_bytes(const std::string& path, const TakeTensorFn& take) {
  WEFT_TRY(InputFile file, InputFile::open(path));
  WEFT_TRY(SafetensorsHeader header, read_header(file));
  for (const SafetensorsEntry& entry : header.entries) {
    WEFT_TRY(std::string bytes,
             file.read(header.data_start + entry.begin, entry.end - entry.begin));
    WEFT_TRY_STATUS(take(entry, std::as_bytes(std::span(bytes))));
  }
  return ok();
}

}  // namespace weft
