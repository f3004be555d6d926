// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/attention.h"

#include "ir/support/check.h"

namespace weft {
namespace {

std::optional<size_t>* slot_of(AttentionExtras& extras, DType dtype) {
  if (is_float(dtype)) return &extras.bias;
  if (dtype == DType::boolean) return &extras.mask;
  if (contains(kIndex, dtype)) return &extras.lengths;
  return dtype == DType::u32 ? &extras.rng : nullptr;
}

}  // namespace

std::optional<AttentionExtras> attention_extras(Op op, std::span<const DType> operands) {
  AttentionExtras extras;
  for (size_t i = info(op).required; i < operands.size(); ++i) {
    std::optional<size_t>* slot = slot_of(extras, operands[i]);
    if (slot == nullptr || *slot) return std::nullopt;
    *slot = i;
  }
  // In the table's order: each one's place is behind those of the kinds before it.
  size_t last = 0;
  for (const std::optional<size_t>& place :
       {extras.bias, extras.mask, extras.lengths, extras.rng}) {
    if (!place) continue;
    if (*place < last) return std::nullopt;
    last = *place;
  }
  return extras;
}

AttentionExtras attention_extras(const Graph& graph, Op op, const std::vector<Value>& operands) {
  std::vector<DType> dtypes;
  for (Value operand : operands) dtypes.push_back(graph.type(operand).dtype);
  std::optional<AttentionExtras> extras = attention_extras(op, dtypes);
  WEFT_CHECK(extras.has_value(), "the operands of attention were checked");
  return *extras;
}

std::optional<int64_t> window_limit(const Attrs& attrs, std::string_view side) {
  constexpr int64_t kBeyondAll = int64_t{1} << 30;  // so that kernels may count in 32 bits
  int64_t limit = attrs.integer(side);
  return limit < 0 || limit >= kBeyondAll ? std::nullopt : std::optional(limit);
}

}  // namespace weft
