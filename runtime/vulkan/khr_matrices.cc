// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/khr_matrices.h"

#include <cstring>
#include <functional>
#include <map>
#include <string_view>

#include "ir/support/check.h"

namespace weft {
namespace {

// Numbers of SPIR-V 1.6, of SPV_NV_cooperative_matrix (revision 1) and of
// SPV_KHR_cooperative_matrix (revision 10): https://registry.khronos.org/SPIR-V
constexpr uint32_t kHeaderWords = 5;
constexpr uint32_t kBound = 3;  // the word of the header that is above all ids
constexpr uint32_t kDecorationSpecId = 1;
constexpr uint32_t kCapabilityNv = 5357;
constexpr uint32_t kCapabilityKhr = 6022;
enum Op : uint32_t {
  kExtension = 10,
  kCapability = 17,
  kTypeInt = 21,
  kConstantTrue = 41,
  kConstantFalse = 42,
  kConstant = 43,
  kSpecConstant = 50,
  kDecorate = 71,
  kTypeNv = 5358,
  kLoadNv = 5359,
  kStoreNv = 5360,
  kMulAddNv = 5361,
  kLengthNv = 5362,
  kTypeKhr = 4456,
  kLoadKhr = 4457,
  kStoreKhr = 4458,
  kMulAddKhr = 4459,
  kLengthKhr = 4460,
};

using Words = std::span<const uint32_t>;

void for_each_instruction(Words words, const std::function<void(uint32_t op, Words)>& fn) {
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t count = words[at] >> 16;
    WEFT_CHECK(count > 0 && at + count <= words.size(), "whole instructions of SPIR-V");
    fn(words[at] & 0xffff, words.subspan(at, count));
    at += count;
  }
}

class Rewriter {
 public:
  explicit Rewriter(Words words) : in_(words), out_(words.begin(), words.begin() + kHeaderWords) {}

  std::vector<uint32_t> run() {
    for_each_instruction(in_, [this](uint32_t op, Words words) { learn(op, words); });
    if (!found_) return {in_.begin(), in_.end()};
    for_each_instruction(in_, [this](uint32_t op, Words words) { rewrite(op, words); });
    return std::move(out_);
  }

 private:
  void learn(uint32_t op, Words words) {
    if (op == kDecorate && words[2] == kDecorationSpecId) spec_[words[1]] = words[3];
    if (op == kConstantTrue || op == kConstantFalse) columns_first_[words[2]] = op == kConstantTrue;
    found_ |= op == kTypeNv;
  }

  void add(uint32_t op, std::initializer_list<uint32_t> operands, Words rest = {}) {
    out_.push_back(static_cast<uint32_t>(1 + operands.size() + rest.size()) << 16 | op);
    out_.insert(out_.end(), operands);
    out_.insert(out_.end(), rest.begin(), rest.end());
  }

  // Constants 0, 1 and 2: uses of types and layouts in memory. Every scope is a constant of the
  // same type, so that it comes before the first matrix.
  void add_numbers(uint32_t type) {
    for (uint32_t i = 0; i < 3; ++i) {
      numbers_[i] = out_[kBound]++;
      add(kConstant, {type, numbers_[i], i});
    }
  }

  uint32_t use_of(uint32_t rows) const {
    auto found = spec_.find(rows);
    WEFT_CHECK(found != spec_.end() && found->second <= kRowsC,
               "a matrix is sized by its specialisation constants");
    return numbers_[found->second / 2];
  }

  uint32_t layout_of(uint32_t columns_first) const {
    return numbers_[columns_first_.at(columns_first) ? 1 : 0];
  }

  void rewrite(uint32_t op, Words w) {
    switch (op) {
      case kCapability: return add(op, {w[1] == kCapabilityNv ? kCapabilityKhr : w[1]});
      case kExtension: return extension(w);
      case kTypeInt:
        out_.insert(out_.end(), w.begin(), w.end());
        if (w[2] == 32 && w[3] == 0) add_numbers(w[1]);
        return;
      case kTypeNv:
        WEFT_CHECK(numbers_[0] != 0, "u32 is declared before a matrix");
        return add(kTypeKhr, {w[1], w[2], w[3], w[4], w[5], use_of(w[4])});
      // Result type, result, pointer, stride, column major, memory operands.
      case kLoadNv: return add(kLoadKhr, {w[1], w[2], w[3], layout_of(w[5]), w[4]}, w.subspan(6));
      // Pointer, object, stride, column major, memory operands.
      case kStoreNv: return add(kStoreKhr, {w[1], w[2], layout_of(w[4]), w[3]}, w.subspan(5));
      case kMulAddNv: return add(kMulAddKhr, {}, w.subspan(1));
      case kLengthNv: return add(kLengthKhr, {}, w.subspan(1));
      default: out_.insert(out_.end(), w.begin(), w.end());
    }
  }

  void extension(Words w) {
    constexpr std::string_view kNv = "SPV_NV_cooperative_matrix";
    constexpr std::string_view kKhr = "SPV_KHR_cooperative_matrix";
    const std::string_view name(reinterpret_cast<const char*>(w.data() + 1));
    if (name != kNv) return out_.insert(out_.end(), w.begin(), w.end()), void();
    uint32_t text[kKhr.size() / 4 + 1] = {};
    std::memcpy(text, kKhr.data(), kKhr.size());
    add(kExtension, {}, text);
  }

  Words in_;
  std::vector<uint32_t> out_;
  std::map<uint32_t, uint32_t> spec_;  // numbers of specialisation constants, by their ids
  std::map<uint32_t, bool> columns_first_;
  uint32_t numbers_[3] = {};
  bool found_ = false;
};

}  // namespace

std::vector<uint32_t> khr_matrices(std::span<const uint32_t> words) {
  return Rewriter(words).run();
}

std::vector<uint32_t> with_matrix_sizes(std::span<const uint32_t> words, uint32_t m, uint32_t n,
                                        uint32_t k) {
  const uint32_t sizes[] = {m, k, k, n, m, n};  // in the order of MatrixConstant
  std::vector<uint32_t> result(words.begin(), words.end());
  std::map<uint32_t, uint32_t> spec;
  for_each_instruction(words, [&](uint32_t op, Words w) {
    if (op == kDecorate && w[2] == kDecorationSpecId) spec[w[1]] = w[3];
    if (op != kSpecConstant || !spec.contains(w[2]) || spec[w[2]] > kColumnsC) return;
    result[static_cast<size_t>(w.data() - words.data()) + 3] = sizes[spec[w[2]]];
  });
  return result;
}

}  // namespace weft
