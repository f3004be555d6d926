// The oracle's ops with a body.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/oracle/elements.h"
#include "ir/oracle/run.h"
#include "ir/oracle/sizes.h"

namespace weft {
namespace {

// Rows may take no memory, so there can be more chunks of them than anyone can wait for.
constexpr int64_t kMaxChunks = int64_t{1} << 20;

EvalResult run_body(const EvalArgs& args, const std::vector<const Tensor*>& inputs,
                    const DimBinding& dims, int64_t live_bytes) {
  const Graph& body = *args.node.body;
  std::vector<const Tensor*> given(body.nodes().size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) given[body.inputs()[i].node] = inputs[i];
  WEFT_TRY(RunResult result, run_graph(body, given, dims, live_bytes, args.rounding));
  return std::move(result.outputs);
}

// `size` rows of a tensor from row `base` on.
Tensor take_rows(const Tensor& from, int64_t base, int64_t size) {
  Sizes shape = from.shape;
  shape[0] = size;
  Tensor rows = Tensor::zeros(from.dtype, std::move(shape));
  by_storage(from, [&](auto zero) {
    const auto& numbers = elements<decltype(zero)>(from);
    auto& out = elements<decltype(zero)>(rows);
    auto first = numbers.begin() + (size == 0 ? 0 : base * (rows.size() / size));
    std::copy_n(first, rows.size(), out.begin());
  });
  return rows;
}

void put_rows(Tensor& into, int64_t base, const Tensor& rows) {
  by_storage(into, [&](auto zero) {
    const auto& numbers = elements<decltype(zero)>(rows);
    auto& out = elements<decltype(zero)>(into);
    std::ranges::copy(numbers, out.begin() + base * (rows.size() / rows.shape[0]));
  });
}

void add_to(Tensor& sum, const Tensor& part) {
  by_storage(sum, [&](auto zero) {
    using T = decltype(zero);
    auto& out = elements<T>(sum);
    const auto& numbers = elements<T>(part);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = settle(sum.dtype,
                      static_cast<Arithmetic<T>>(out[i]) + static_cast<Arithmetic<T>>(numbers[i]));
    }
  });
}

// The chunks of one node, one after the other.
class Chunks {
 public:
  explicit Chunks(const EvalArgs& args)
      : args_(args), symbol_(args.node.attrs.text("symbol")), dims_(args.dims) {}

  EvalResult run() {
    const int64_t rows = args_.concrete_dim("rows");
    const int64_t chunk = args_.node.attrs.integer("chunk");
    if (rows < 0) return args_.fail("rows is ", rows);
    if (rows / chunk >= kMaxChunks) {
      return args_.fail(rows, " rows in chunks of ", chunk, " are more chunks than the oracle's ",
                        kMaxChunks);
    }
    for (size_t i = 0; i < args_.node.types.size(); ++i) results_.push_back(args_.make_result(i));
    for (int64_t base = 0; base < rows; base += chunk) {
      WEFT_TRY_STATUS(run_chunk(base, std::min(chunk, rows - base)));
    }
    return std::move(results_);
  }

 private:
  Status run_chunk(int64_t base, int64_t size) {
    dims_[symbol_] = size;
    const std::vector<int64_t>& sliced_in = args_.node.attrs.ints("sliced_in");
    const std::vector<int64_t>& sliced_out = args_.node.attrs.ints("sliced_out");
    std::vector<Tensor> slices(args_.operands.size());
    std::vector<const Tensor*> inputs;
    int64_t live = args_.live_bytes;
    for (const Tensor& result : results_) live += result.size() * kElementBytes;
    for (size_t i = 0; i < slices.size(); ++i) {
      if (sliced_in[i] == 1) slices[i] = take_rows(args_.operand(i), base, size);
      live += slices[i].size() * kElementBytes;
      inputs.push_back(sliced_in[i] == 1 ? &slices[i] : args_.operands[i]);
    }
    WEFT_TRY(std::vector<Tensor> parts, run_body(args_, inputs, dims_, live));
    for (size_t i = 0; i < parts.size(); ++i) {
      if (sliced_out[i] == 1) {
        put_rows(results_[i], base, parts[i]);
      } else {
        add_to(results_[i], parts[i]);
      }
    }
    return ok();
  }

  const EvalArgs& args_;
  const std::string& symbol_;
  DimBinding dims_;
  std::vector<Tensor> results_;
};

}  // namespace

EvalResult eval_region(const EvalArgs& args) {
  std::vector<const Tensor*> inputs(args.operands.begin(), args.operands.end());
  return run_body(args, inputs, args.dims, args.live_bytes);
}

EvalResult eval_chunked(const EvalArgs& args) { return Chunks(args).run(); }

}  // namespace weft
