// The other kinds of layers in the table of complexities of "Attention Is All You Need": a
// convolution and a recurrent layer, 512 wide, by length. Recurrent steps are written one by one.
// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/cases.h"
#include "ir/text/text.h"

namespace weft {
namespace {

constexpr int64_t kWidth = 512;
constexpr int64_t kTaps = 3;

std::string convolution(int64_t length) {
  std::string params, body;
  for (int64_t tap = 0; tap < kTaps; ++tap) {
    params += cat("param @w", tap, ": f32[512, 512] = normal(0.03)\n");
    body += cat("  %x", tap, " = slice %p {starts = [", tap, ", 0], limits = [", length + tap,
                ", 512]}\n  %y", tap, " = matmul %x", tap, ", @w", tap, "\n");
  }
  return cat(params, "graph @g(%x: f32[", length, ", 512]) -> (y) {\n",
             "  %p = pad %x {low = [2, 0], high = [0, 0]}\n", body,
             "  %a = add %y0, %y1\n  %y = add %a, %y2\n  return %y\n}\n");
}

std::string recurrence(int64_t length) {
  std::string text =
      cat("param @u: f32[512, 512] = normal(0.03)\nparam @w: f32[512, 512] = normal(0.03)\n",
          "graph @g(%x: f32[", length, ", 512], %h: f32[1, 512]) -> (y) {\n  %z = matmul %x, @w\n");
  std::string last = "%h";
  for (int64_t step = 0; step < length; ++step) {
    text += cat("  %z", step, " = slice %z {starts = [", step, ", 0], limits = [", step + 1,
                ", 512]}\n  %r", step, " = matmul ", last, ", @u\n  %s", step, " = add %r", step,
                ", %z", step, "\n  %h", step, " = tanh %s", step, "\n");
    last = cat("%h", step);
  }
  return text + "  return " + last + "\n}\n";
}

BenchCase case_of(const std::string& name, double flops, const std::string& text) {
  BenchCase result;
  result.name = name;
  result.group = "layers";
  result.flops = flops;
  result.build = [text]() -> Result<BenchModel> {
    BenchModel model;
    WEFT_TRY(model.module, parse("bench.weft", text));
    return model;
  };
  return result;
}

}  // namespace

std::vector<BenchCase> layer_cases() {
  std::vector<BenchCase> cases;
  constexpr double kSquare = 2.0 * kWidth * kWidth;
  for (int64_t length : {512, 1024, 2048, 4096}) {
    cases.push_back(case_of(cat("layer_convolution_s", length),
                            kSquare * static_cast<double>(length * kTaps), convolution(length)));
  }
  for (int64_t length : {32, 64, 128, 256}) {
    cases.push_back(case_of(cat("layer_recurrent_s", length),
                            kSquare * static_cast<double>(length * 2), recurrence(length)));
  }
  return cases;
}

}  // namespace weft
