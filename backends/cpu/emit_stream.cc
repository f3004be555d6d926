// Stores of what nothing reads again: past the caches, which keep something else.
// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IntrinsicsX86.h>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

namespace {

// Smaller results stay in the caches, where whoever asked for them finds them.
constexpr int64_t kLargeBytes = 4 << 20;

}  // namespace

// True if every vector of the store begins at a multiple of its size, as these stores must.
bool KernelEmitter::may_stream(const tile::Stmt& stmt, int lanes) const {
  const tile::Buffer& buffer = program_.buffers[stmt.ref.buffer];
  const int64_t vector = target_.vector_bits / 8 / byte_size(buffer.dtype);
  if (!stmt.stream || lanes % vector != 0) return false;
  if (!target_.triple.starts_with("x86_64")) return false;
  auto whole = [&](const Dim& step) { return step.is_constant() && step.constant() % vector == 0; };
  for (size_t d = 0; d < stmt.ref.at.size(); ++d) {
    const tile::Index& at = stmt.ref.at[d];
    if (!whole(at.offset * buffer.strides[d])) return false;
    for (const tile::Index::Term& term : at.terms) {
      if (term.kind != tile::Index::Term::axis) return false;
      if (whole(term.scale * buffer.strides[d])) continue;
      // The axis with the lanes: its tiles begin at multiples of their extents, a whole one at 0.
      const tile::Axis& axis = program_.axes[term.axis_id];
      const bool unit = (term.scale * buffer.strides[d]).is_constant(1);
      if (!unit || term.axis_id != lane_axis_) return false;
      if (program_.size_of(axis.extent).value_or(0) % vector != 0) return false;
      if (axis.inner && program_.size_of(*axis.inner).value_or(0) % vector != 0) return false;
    }
  }
  return true;
}

llvm::Value* KernelEmitter::worth_streaming(tile::BufferId id) {
  auto [entry, fresh] = streams_.try_emplace(id, nullptr);
  if (!fresh) return entry->second;
  const tile::Buffer& buffer = program_.buffers[id];
  Dim bytes = byte_size(buffer.dtype);
  for (const Dim& size : buffer.dims) bytes = bytes * size;
  llvm::Value* size = dim(bytes);
  IR::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(entry_end_);
  llvm::Value* address = ir_.CreatePtrToInt(buffer_addresses_[id], ir_.getInt64Ty());
  llvm::Value* over = ir_.CreateAnd(address, i64(target_.vector_bits / 8 - 1));
  llvm::Value* large = ir_.CreateICmpSGE(size, i64(kLargeBytes));
  entry->second = ir_.CreateAnd(ir_.CreateICmpEQ(over, i64(0)), large);
  return entry->second;
}

void KernelEmitter::stream_at(const tile::Stmt& stmt, const Lane& at, llvm::Value* value) {
  const DType dtype = program_.buffers[stmt.ref.buffer].dtype;
  llvm::Value* buffer = buffer_addresses_[stmt.ref.buffer];
  llvm::Value* stream = worth_streaming(stmt.ref.buffer);
  if_then(stream, [&] {
    const llvm::Align whole(static_cast<uint64_t>(target_.vector_bits / 8));
    llvm::StoreInst* store = ir_.CreateAlignedStore(
        narrow(value, dtype), element_address(buffer, at.first, dtype), whole);
    auto* one = llvm::ConstantAsMetadata::get(ir_.getInt32(1));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, one));
  });
  if_then(ir_.CreateNot(stream), [&] { store_at(dtype, buffer, at, value, nullptr); });
}

// Such stores may be late: other threads must not be told of the results before them.
void KernelEmitter::finish_streams() {
  if (!streams_.empty()) ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
}

}  // namespace weft::cpu
