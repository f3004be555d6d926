// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weft {
namespace {

// Beyond this many buffers only one order is tried: each costs their number squared.
constexpr size_t kFewBuffers = 2000;

int64_t machine_bytes() {
  long pages = ::sysconf(_SC_PHYS_PAGES);
  long page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? int64_t{pages} * page : INT64_MAX;
}

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Places one buffer after the other into the lowest gap that fits between those already placed that
// are alive at the same time.
class Placer {
 public:
  Placer(std::span<const Lifetime> lifetimes, int64_t alignment)
      : lifetimes_(lifetimes),
        alignment_(alignment),
        layout_{std::vector<int64_t>(lifetimes.size(), 0), 0} {
    placed_.reserve(lifetimes.size());
  }

  template <class Order>
  ArenaLayout run(const Order& order) {
    for (const auto& item : order) place(item.index);
    return std::move(layout_);
  }

 private:
  struct Placed {
    int64_t begin;
    int64_t end;
    Lifetime lifetime;
  };

  void place(uint32_t index) {
    const Lifetime& lifetime = lifetimes_[index];
    int64_t size = aligned(lifetime.bytes, alignment_);
    if (size == 0) return;
    int64_t offset = 0;
    for (const Placed& other : placed_) {  // sorted by begin
      if (!alive_together(lifetime, other.lifetime)) continue;
      if (other.begin - offset >= size) break;
      offset = std::max(offset, other.end);
    }
    Placed entry{offset, offset + size, lifetime};
    auto after = std::ranges::upper_bound(placed_, entry.begin, {}, &Placed::begin);
    placed_.insert(after, entry);
    layout_.offsets[index] = offset;
    layout_.bytes = std::max(layout_.bytes, entry.end);
  }

  std::span<const Lifetime> lifetimes_;
  int64_t alignment_;
  ArenaLayout layout_;
  std::vector<Placed> placed_;
};

// None is best for all: long-lived buffers first leaves the rest one smooth ground, large ones
// first fills the gaps with small ones. The buffer with the least number comes first.
using Rank = int64_t (*)(const Lifetime& lifetime);
constexpr Rank kOrders[] = {
    [](const Lifetime& a) { return -a.bytes; },
    [](const Lifetime& a) { return int64_t{a.first} - int64_t{a.last}; },
    [](const Lifetime& a) { return int64_t{a.first}; },
    [](const Lifetime& a) { return -int64_t{a.last}; },
};

struct Ranked {
  int64_t rank;
  int64_t bytes;
  uint32_t first;
  uint32_t index;
};

std::vector<Ranked> ordered(std::span<const Lifetime> lifetimes, Rank rank) {
  std::vector<Ranked> order;
  order.reserve(lifetimes.size());
  for (const Lifetime& lifetime : lifetimes) {
    const auto index = static_cast<uint32_t>(order.size());
    order.push_back({rank(lifetime), lifetime.bytes, lifetime.first, index});
  }
  std::ranges::sort(order, [](const Ranked& a, const Ranked& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.first != b.first ? a.first < b.first : a.index < b.index;
  });
  return order;
}

Status check_sum(std::span<const Lifetime> lifetimes, int64_t alignment) {
  int64_t sum = 0;
  for (const Lifetime& lifetime : lifetimes) {
    if (__builtin_add_overflow(sum, lifetime.bytes, &sum) ||
        __builtin_add_overflow(sum, alignment, &sum)) {
      return error({}, "the buffers of the arena have more bytes than can be counted");
    }
  }
  return ok();
}

std::byte* map(int64_t bytes) {
  void* data = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

// Beginning where a huge page can. That it gives them is only advice to the system: one without is
// as right, and slower.
std::byte* map_huge(int64_t bytes) {
  std::byte* all = map(bytes + kHugePage);
  if (all == nullptr) return map(bytes);
  const auto over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(all) % kHugePage);
  const int64_t before = over == 0 ? 0 : kHugePage - over;
  // The parts that are not needed, in whole pages: munmap takes no others.
  const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  const int64_t used = before + (bytes + page - 1) / page * page;
  if (before > 0) ::munmap(all, static_cast<size_t>(before));
  const int64_t after = (bytes + kHugePage + page - 1) / page * page - used;
  if (after > 0) ::munmap(all + used, static_cast<size_t>(after));
  ::madvise(all + before, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  return all + before;
}

}  // namespace

int64_t aligned(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

Result<Memory> Memory::allocate(int64_t bytes, const std::string& what) {
  Memory memory;
  if (bytes == 0) return memory;
  if (bytes > machine_bytes()) {
    return error({}, what, ": ", bytes, " bytes are needed, this machine has ", machine_bytes())
        .hint("bind smaller sizes, for example B=1, or take a smaller model");
  }
  memory.data_ = bytes >= kHugePage ? map_huge(bytes) : map(bytes);
  if (memory.data_ == nullptr) {
    return error({}, what, ": the system does not give ", bytes, " bytes: ", std::strerror(errno))
        .hint("bind smaller sizes, for example B=1, or take a smaller model");
  }
  memory.bytes_ = bytes;
  return memory;
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(bytes_));
}

void Memory::give_back(std::byte* data, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const auto end =
      (reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes)) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

int64_t least_bytes(std::span<const Lifetime> lifetimes, int64_t alignment) {
  std::vector<std::pair<uint64_t, int64_t>> changes;  // by step; what dies makes room first
  changes.reserve(2 * lifetimes.size());
  for (const Lifetime& lifetime : lifetimes) {
    changes.emplace_back(lifetime.first, aligned(lifetime.bytes, alignment));
    changes.emplace_back(uint64_t{lifetime.last} + 1, -aligned(lifetime.bytes, alignment));
  }
  std::ranges::sort(changes);
  int64_t alive = 0;
  int64_t most = 0;
  for (const auto& [step, change] : changes) {
    alive += change;
    most = std::max(most, alive);
  }
  return most;
}

Result<ArenaLayout> lay_out(std::span<const Lifetime> lifetimes, int64_t alignment) {
  WEFT_TRY_STATUS(check_sum(lifetimes, alignment));
  int64_t least = least_bytes(lifetimes, alignment);
  ArenaLayout best;
  bool found = false;
  for (Rank rank : kOrders) {
    ArenaLayout layout = Placer(lifetimes, alignment).run(ordered(lifetimes, rank));
    if (!found || layout.bytes < best.bytes) best = std::move(layout);
    found = true;
    if (best.bytes == least || lifetimes.size() > kFewBuffers) break;
  }
  return best;
}

}  // namespace weft
