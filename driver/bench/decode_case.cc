// SPDX-License-Identifier: Apache-2.0
#include "driver/bench/decode_case.h"

#include <algorithm>
#include <chrono>

#include "driver/decode/candidates.h"
#include "driver/decode/decoder.h"
#include "models/zoo.h"

namespace weft {
namespace {

constexpr int64_t kPrompt = 32;
constexpr int64_t kTokens = 64;
constexpr size_t kFewest = 3;

double now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(time).count();
}

int32_t likeliest(const decode::Decoder& decoder) {
  std::vector<decode::Candidate> top;
  decode::top_candidates(decoder.logits(0), 1, {}, top);
  return top.empty() ? 0 : top[0].token;
}

Status generate(decode::Decoder& decoder, const decode::Ids& prompt, DecodeBench& result) {
  const double start = now();
  WEFT_TRY_STATUS(decoder.begin_prompt(prompt, 1, 1, kPrompt + kTokens));
  int32_t token = likeliest(decoder);
  result.prefill_ms.push_back(now() - start);
  for (int64_t i = 0; i < result.steps; ++i) {
    WEFT_TRY_STATUS(decoder.step({&token, 1}));
    token = likeliest(decoder);
  }
  result.generate_ms.push_back(now() - start);
  return ok();
}

}  // namespace

Result<DecodeBench> measure_decode(const BenchRequest& request) {
  DecodeBench result;
  result.prompt = kPrompt;
  result.steps = kTokens - 1;
  const double start = now();
  WEFT_TRY(train::TrainOptions options, train::default_options("gpt2"));
  decode::OpenOptions open;
  open.device = {"cpu", request.target_cpu, request.threads, request.seed};
  WEFT_TRY(std::unique_ptr<decode::DecodeModel> model, decode::make_model(options, open));
  result.compile_ms = now() - start;
  result.threads = model->device->threads();
  result.weight_bytes = 4 * static_cast<double>(parameter_count(model->graphs.module));
  decode::Ids prompt;
  for (int64_t i = 0; i < kPrompt; ++i) {
    prompt.push_back(static_cast<int32_t>(i * 7919 % model->vocab()));
  }
  decode::Decoder decoder(*model);
  DecodeBench warm_up = result;
  WEFT_TRY_STATUS(generate(decoder, prompt, warm_up));
  const double begin = now();
  auto more = [&] {
    const size_t done = result.generate_ms.size();
    return done < static_cast<size_t>(request.repeat) &&
           (done < kFewest || now() - begin < 1e3 * request.budget_seconds);
  };
  while (more()) WEFT_TRY_STATUS(generate(decoder, prompt, result));
  const train::DeviceMemory memory = model->device->memory();
  result.extra_mb =
      (static_cast<double>(memory.storage + memory.arena) - result.weight_bytes) / 1048576;
  return result;
}

}  // namespace weft
