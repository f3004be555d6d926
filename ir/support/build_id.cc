// SPDX-License-Identifier: Apache-2.0
#include "ir/support/build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace weft {
namespace {

struct Search {
  uintptr_t address = 0;
  std::string id = {};
};

// The id among the notes of a segment: https://refspecs.linuxbase.org/elf/gabi4+/ch5.pheader.html
std::string id_among(std::string_view notes, size_t alignment) {
  constexpr std::string_view kOwner("GNU\0", 4);  // its end counts
  auto padded = [&](size_t size) { return (size + alignment - 1) / alignment * alignment; };
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    size_t start = padded(sizeof head + head.n_namesz);
    if (start > notes.size() || head.n_descsz > notes.size() - start) break;
    if (head.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof head, head.n_namesz) == kOwner) {
      std::string digits;
      for (char byte : notes.substr(start, head.n_descsz)) {
        char pair[3];
        std::snprintf(pair, sizeof pair, "%02x", static_cast<uint8_t>(byte));
        digits += pair;
      }
      return digits;
    }
    notes.remove_prefix(std::min(notes.size(), start + padded(head.n_descsz)));
  }
  return {};
}

bool holds(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    // Below the start of the segment the difference is larger than any size.
    if (segment.p_type == PT_LOAD &&
        address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

int visit(dl_phdr_info* object, size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!holds(*object, search.address)) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* start = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    search.id = id_among({start, segment.p_memsz}, segment.p_align == 8 ? 8 : 4);
  }
  return 1;
}

}  // namespace

std::string build_id_of(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address)};
  ::dl_iterate_phdr(visit, &search);
  return search.id;
}

}  // namespace weft
