// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/object.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>

namespace weft::cpu {
namespace {

namespace elf = llvm::ELF;
using llvm::object::ELFObjectFileBase;
using llvm::object::ELFRelocationRef;
using llvm::object::ELFSectionRef;
using llvm::object::ELFSymbolRef;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMaxBytes = uint64_t{64}
                               << 20;  // the shortest branch, on aarch64, reaches 128 MiB

// LLVM's error as ours; a broken object is a fault of the code generator.
template <class T>
Result<T> wrap(llvm::Expected<T> expected) {
  if (expected) return std::move(*expected);
  return error({}, "generated object cannot be read: ", llvm::toString(expected.takeError()));
}

// A place to patch: all numbers are offsets into the blob.
struct Patch {
  uint64_t at = 0;      // the place
  uint64_t target = 0;  // symbol + addend; wraps below zero
};

class Flattener {
 public:
  explicit Flattener(const ELFObjectFileBase& object) : object_(object) {}

  Result<FlatCode> run() {
    WEFT_TRY_STATUS(place_sections());
    for (const SectionRef& section : object_.sections()) {
      WEFT_TRY_STATUS(relocate(section));
    }
    WEFT_TRY_STATUS(collect_entries());
    return std::move(flat_);
  }

 private:
  Status place_sections();
  Status relocate(const SectionRef& section);
  Status apply(const ELFRelocationRef& relocation, uint64_t section_base);
  Status apply_x86(const ELFRelocationRef& relocation, Patch patch);
  Status apply_aarch64(const ELFRelocationRef& relocation, Patch patch);
  Status collect_entries();
  Result<uint64_t> address(const ELFSymbolRef& symbol) const;
  Status put(uint64_t at, uint64_t value, unsigned bytes);
  Status patch_instruction(uint64_t at, uint32_t mask, uint32_t bits);
  Error unsupported(const ELFRelocationRef& relocation) const;

  const ELFObjectFileBase& object_;
  std::map<uint64_t, uint64_t> base_;  // of each section that is in the blob, by its index
  FlatCode flat_;
};

Status Flattener::place_sections() {
  for (const SectionRef& section : object_.sections()) {
    const ELFSectionRef details(section);
    // Unwinding is never asked for: no exception crosses generated code.
    if ((details.getFlags() & elf::SHF_ALLOC) == 0 || section.getSize() == 0) continue;
    WEFT_TRY(llvm::StringRef name, wrap(section.getName()));
    if (name == ".eh_frame") continue;
    // .data.rel.ro is written by a dynamic linker only, and what it would write is refused below.
    if ((details.getFlags() & elf::SHF_WRITE) != 0 && !name.starts_with(".data.rel.ro")) {
      return error({}, "generated code has data that can be written, in section ", name.str());
    }
    const uint64_t alignment = section.getAlignment().value();
    if (alignment > kPage) {
      return error({}, "section ", name.str(), " is aligned to ", alignment, ", above ", kPage);
    }
    const uint64_t base = (flat_.code.size() + alignment - 1) / alignment * alignment;
    WEFT_TRY(llvm::StringRef bytes, wrap(section.getContents()));
    flat_.code.resize(base + bytes.size());
    std::memcpy(flat_.code.data() + base, bytes.data(), bytes.size());
    base_[section.getIndex()] = base;
  }
  if (flat_.code.size() > kMaxBytes) {
    return error({}, "generated code has ", flat_.code.size(), " bytes, more than ", kMaxBytes);
  }
  return ok();
}

Result<uint64_t> Flattener::address(const ELFSymbolRef& symbol) const {
  WEFT_TRY(const llvm::object::section_iterator section, wrap(symbol.getSection()));
  WEFT_TRY(const llvm::StringRef name, wrap(symbol.getName()));
  if (section == object_.section_end()) {
    return error({}, "generated code refers to '", name.str(), "', which is not a part of it");
  }
  const auto base = base_.find(section->getIndex());
  if (base == base_.end()) {
    return error({}, "generated code refers to '", name.str(), "' in a section that is left out");
  }
  WEFT_TRY(const uint64_t offset, wrap(symbol.getValue()));
  return base->second + offset;
}

Status Flattener::relocate(const SectionRef& section) {
  WEFT_TRY(const llvm::object::section_iterator patched, wrap(section.getRelocatedSection()));
  if (patched == object_.section_end()) return ok();
  const auto base = base_.find(patched->getIndex());
  if (base == base_.end()) return ok();
  for (const ELFRelocationRef relocation : section.relocations()) {
    WEFT_TRY_STATUS(apply(relocation, base->second));
  }
  return ok();
}

Status Flattener::apply(const ELFRelocationRef& relocation, uint64_t section_base) {
  WEFT_TRY(const int64_t addend, wrap(relocation.getAddend()));
  const llvm::object::symbol_iterator symbol = relocation.getSymbol();
  if (symbol == object_.symbol_end()) return unsupported(relocation);
  WEFT_TRY(const uint64_t target, address(*symbol));
  const Patch patch = {section_base + relocation.getOffset(),
                       target + static_cast<uint64_t>(addend)};
  return object_.getEMachine() == elf::EM_X86_64 ? apply_x86(relocation, patch)
                                                 : apply_aarch64(relocation, patch);
}

Status Flattener::apply_x86(const ELFRelocationRef& relocation, Patch patch) {
  switch (relocation.getType()) {
    case elf::R_X86_64_PC32:
    case elf::R_X86_64_PLT32: return put(patch.at, patch.target - patch.at, 4);
    case elf::R_X86_64_PC64: return put(patch.at, patch.target - patch.at, 8);
    default: return unsupported(relocation);
  }
}

// ELF for the Arm 64-bit architecture, section 5.7: https://github.com/ARM-software/abi-aa
Status Flattener::apply_aarch64(const ELFRelocationRef& relocation, Patch patch) {
  const uint64_t distance = patch.target - patch.at;
  const auto low12 = static_cast<uint32_t>(patch.target % kPage);
  constexpr uint32_t kAdrMask = 0x60ffffe0, kImm12Mask = 0xfff << 10, kImm26Mask = 0x3ffffff;
  auto adr_bits = [](uint64_t value) {
    return static_cast<uint32_t>((value & 3) << 29 | (value >> 2 & 0x7ffff) << 5);
  };
  switch (relocation.getType()) {
    case elf::R_AARCH64_PREL32: return put(patch.at, distance, 4);
    case elf::R_AARCH64_PREL64: return put(patch.at, distance, 8);
    case elf::R_AARCH64_CALL26:
    case elf::R_AARCH64_JUMP26:
      return patch_instruction(patch.at, kImm26Mask,
                               static_cast<uint32_t>(distance >> 2) & kImm26Mask);
    case elf::R_AARCH64_ADR_PREL_LO21:
      return patch_instruction(patch.at, kAdrMask, adr_bits(distance));
    case elf::R_AARCH64_ADR_PREL_PG_HI21:
      return patch_instruction(patch.at, kAdrMask,
                               adr_bits(patch.target / kPage - patch.at / kPage));
    case elf::R_AARCH64_ADD_ABS_LO12_NC:
    case elf::R_AARCH64_LDST8_ABS_LO12_NC:
      return patch_instruction(patch.at, kImm12Mask, low12 << 10);
    case elf::R_AARCH64_LDST16_ABS_LO12_NC:
      return patch_instruction(patch.at, kImm12Mask, low12 >> 1 << 10);
    case elf::R_AARCH64_LDST32_ABS_LO12_NC:
      return patch_instruction(patch.at, kImm12Mask, low12 >> 2 << 10);
    case elf::R_AARCH64_LDST64_ABS_LO12_NC:
      return patch_instruction(patch.at, kImm12Mask, low12 >> 3 << 10);
    case elf::R_AARCH64_LDST128_ABS_LO12_NC:
      return patch_instruction(patch.at, kImm12Mask, low12 >> 4 << 10);
    default: return unsupported(relocation);
  }
}

Status Flattener::put(uint64_t at, uint64_t value, unsigned bytes) {
  WEFT_CHECK(at <= flat_.code.size() && bytes <= flat_.code.size() - at,
             "a relocation lies inside its section");
  std::memcpy(flat_.code.data() + at, &value, bytes);  // both architectures are little-endian
  return ok();
}

Status Flattener::patch_instruction(uint64_t at, uint32_t mask, uint32_t bits) {
  WEFT_CHECK(at <= flat_.code.size() && sizeof(uint32_t) <= flat_.code.size() - at,
             "a relocation lies inside its section");
  uint32_t instruction = 0;
  std::memcpy(&instruction, flat_.code.data() + at, sizeof(instruction));
  return put(at, (instruction & ~mask) | bits, sizeof(instruction));
}

Error Flattener::unsupported(const ELFRelocationRef& relocation) const {
  llvm::SmallString<32> kind;
  relocation.getTypeName(kind);
  std::string name = "no symbol";
  const llvm::object::symbol_iterator symbol = relocation.getSymbol();
  if (symbol != object_.symbol_end()) {
    if (llvm::Expected<llvm::StringRef> found = symbol->getName()) {
      name = cat("'", found->str(), "'");
    } else {
      llvm::consumeError(found.takeError());
    }
  }
  return error({}, "generated code needs a linker for ", name, " (", kind.str().str(), ")");
}

Status Flattener::collect_entries() {
  for (const ELFSymbolRef symbol : object_.symbols()) {
    WEFT_TRY(const uint32_t flags, wrap(symbol.getFlags()));
    const bool wanted = symbol.getELFType() == elf::STT_FUNC && (flags & SymbolRef::SF_Global) != 0;
    if (!wanted || (flags & SymbolRef::SF_Undefined) != 0) continue;
    WEFT_TRY(const llvm::StringRef name, wrap(symbol.getName()));
    WEFT_TRY(flat_.entries[name.str()], address(symbol));
  }
  return ok();
}

}  // namespace

Result<FlatCode> flatten_object(std::string_view object) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "object");
  WEFT_TRY(const std::unique_ptr<llvm::object::ObjectFile> file,
           wrap(llvm::object::ObjectFile::createObjectFile(buffer)));
  const auto* elf_file = llvm::dyn_cast<ELFObjectFileBase>(file.get());
  if (elf_file == nullptr ||
      (elf_file->getEMachine() != elf::EM_X86_64 && elf_file->getEMachine() != elf::EM_AARCH64)) {
    return error({}, "generated object is not ELF for x86-64 or aarch64");
  }
  return Flattener(*elf_file).run();
}

}  // namespace weft::cpu
