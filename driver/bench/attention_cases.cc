// Attention by itself: one batch, 8 heads of 64, causal. `sdpa` is the graph below as Weft compiles
// it, `naive` the same with the scores in memory, `window` looks at the last 256 keys only.
// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/cases.h"
#include "driver/differentiate.h"
#include "ir/text/text.h"

namespace weft {
namespace {

constexpr int64_t kHeads = 8;
constexpr int64_t kHeadWidth = 64;
constexpr int64_t kWindow = 256;  // keys of a row
constexpr int64_t kPeerLengths[] = {128, 256, 512, 1024, 2048};
constexpr int64_t kMoreLengths[] = {4096, 8192, 16384};
constexpr int64_t kLongestNaiveBackward = 8192;  // beyond, the scores do not fit in 24 GB

struct Form {
  std::string name;
  int64_t length;
  DType dtype;
  bool backward;
};

std::string mask_text(const Form& form) {
  const std::string sizes = cat("rows = ", form.length, ", cols = ", form.length);
  if (form.name != "window") return cat("  %m = causal_mask {", sizes, "}\n");
  return cat("  %m = window_mask {", sizes, ", before = ", kWindow - 1, ", after = 0}\n");
}

std::string text_of(const Form& form) {
  const std::string t = Type{form.dtype, {1, kHeads, form.length, kHeadWidth}}.str();
  const std::string d(name(form.dtype));
  std::string text = cat("graph @g(%q: ", t, ", %k: ", t, ", %v: ", t);
  if (form.backward) text += ", %g: " + t;
  text += form.backward ? ") -> (loss) {\n" : ") -> (o) {\n";
  text += cat("  %kt = transpose %k {perm = [0, 1, 3, 2]}\n  %s = matmul %q, %kt\n",
              "  %c = constant {value = 0.125, dtype = ", d, "}\n  %z = mul %s, %c\n",
              mask_text(form), "  %no = constant {value = -inf, dtype = ", d,
              "}\n  %w = select %m, %z, %no\n", "  %p = softmax %w\n  %o = matmul %p, %v\n");
  if (!form.backward) return text + "  return %o\n}\n";
  return text + "  %og = mul %o, %g\n  %loss = sum %og {axes = [0, 1, 2, 3]}\n  return %loss\n}\n";
}

Result<BenchModel> build(const Form& form) {
  BenchModel model;
  model.fuse_attention = form.name != "naive";
  WEFT_TRY(model.module, parse("bench.weft", text_of(form)));
  if (!form.backward) return model;
  PipelineOptions pipeline;
  pipeline.pass.fuse_attention = model.fuse_attention;
  WEFT_TRY_STATUS(differentiate(model.module, {"g", "loss", {"q", "k", "v"}, ""}, pipeline));
  std::erase_if(model.module.graphs, [](const Graph& g) { return g.name() != "backward"; });
  return model;
}

// Operations are counted in full for causal attention, as the peers count them.
BenchCase case_of(const Form& form, const std::string& group) {
  BenchCase result;
  result.name = cat("attn_", form.name, form.backward ? "_fwdbwd_s" : "_fwd_s", form.length);
  if (form.dtype != DType::f32) result.name += "_" + std::string(name(form.dtype));
  result.group = group;
  const int64_t keys = form.name == "window" ? std::min(kWindow, form.length) : form.length;
  result.flops = 4.0 * static_cast<double>(kHeads * form.length * keys * kHeadWidth);
  if (form.backward) result.flops *= 3;
  result.build = [form] { return build(form); };
  return result;
}

}  // namespace

std::vector<BenchCase> attention_cases(DType dtype) {
  std::vector<BenchCase> cases;
  auto add = [&](const std::string& form, int64_t length, const std::string& group) {
    cases.push_back(case_of({form, length, dtype, false}, group));
    if (form == "naive" && length > kLongestNaiveBackward) return;
    cases.push_back(case_of({form, length, dtype, true}, group));
  };
  for (const char* form : {"sdpa", "naive"}) {
    for (int64_t length : kPeerLengths) add(form, length, "attn");
    for (int64_t length : kMoreLengths) add(form, length, "attn_long");
  }
  for (int64_t length : kPeerLengths) add("window", length, "attn_window");
  for (int64_t length : kMoreLengths) add("window", length, "attn_window");
  return cases;
}

}  // namespace weft
