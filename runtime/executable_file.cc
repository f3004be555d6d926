// SPDX-License-Identifier: Apache-2.0
#include "runtime/executable_file.h"

#include <cstring>

#include "ir/support/file.h"
#include "ir/support/hash.h"
#include "runtime/weftx/payload.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "WEFTEXEC";
constexpr std::string_view kVersion = WEFT_VERSION;

struct Head {
  char magic[8] = {};
  uint32_t format = kExecutableFormat;
  char version[36] = {};
  uint64_t payload_bytes = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(Head) == kExecutableHeadBytes);
static_assert(kVersion.size() < sizeof(Head::version));

uint64_t checksum_of(const Head& head, std::string_view payload) {
  std::string_view start(reinterpret_cast<const char*>(&head), offsetof(Head, checksum));
  return checksum(payload, checksum(start));
}

Status check_head(const Head& head, std::string_view payload, const Loc& loc) {
  if (head.format != kExecutableFormat) {
    return error(loc, "executable of format version ", head.format, "; this build reads version ",
                 kExecutableFormat)
        .hint("compile the model anew");
  }
  std::string version(head.version, ::strnlen(head.version, sizeof head.version));
  if (version != kVersion) {
    return error(loc, "executable of weft '", version, "'; this is weft ", kVersion)
        .hint("compile the model anew");
  }
  if (head.payload_bytes != payload.size()) {
    return error(loc, "the executable is cut short or damaged: ", payload.size(),
                 " bytes behind the head instead of ", head.payload_bytes);
  }
  if (head.checksum != checksum_of(head, payload)) {
    return error(loc, "the executable is damaged: the checksum is wrong")
        .hint("compile the model anew, or copy the file again");
  }
  return ok();
}

}  // namespace

std::string_view build_version() { return kVersion; }

std::string write_executable(const Executable& executable) {
  std::string payload = weftx::write_payload(executable);
  Head head;
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  std::memcpy(head.version, kVersion.data(), kVersion.size());
  head.payload_bytes = payload.size();
  head.checksum = checksum_of(head, payload);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + payload;
}

bool looks_executable(std::string_view bytes) { return bytes.starts_with(kMagic); }

Result<Executable> read_executable(const std::string& file, std::string_view bytes) {
  Loc loc{std::make_shared<const SourceText>(SourceText{file, ""}), 0, 0, 0};
  if (!looks_executable(bytes)) return error(loc, "not an executable: the magic is missing");
  if (bytes.size() < sizeof(Head)) {
    return error(loc, "the executable is cut short: ", bytes.size(), " bytes");
  }
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  std::string_view payload = bytes.substr(sizeof head);
  WEFT_TRY_STATUS(check_head(head, payload, loc));
  return weftx::read_payload(file, payload);
}

Status save_executable(const std::string& path, const Executable& executable) {
  std::string bytes = write_executable(executable);
  if (bytes.size() > kMaxExecutableBytes) {
    return error({}, "the executable has ", bytes.size(), " bytes, more than the limit of ",
                 kMaxExecutableBytes);
  }
  return write_file(path, bytes);
}

Result<LoadedPtr> load_executable(const std::string& path) {
  WEFT_TRY(std::string bytes, read_file(path, kMaxExecutableBytes));
  WEFT_TRY(Executable executable, read_executable(path, bytes));
  Loc loc{std::make_shared<const SourceText>(SourceText{path, ""}), 0, 0, 0};
  return LoadedExecutable::load(std::move(executable), loc);
}

}  // namespace weft
