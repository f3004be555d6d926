// What has to hold of search and caches with a trained translator, on real sentences. Needs
//   WEFT_TRANSLATOR   folder of a run that was trained on --src and --tgt
//   WEFT_SENTENCES    a file of sentences; Multi30k test 2016 of ../shared if left out
// and minutes: slow suite. Figures are printed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "driver/data/text_file.h"
#include "driver/decode/search.h"
#include "driver/decode/source_text.h"
#include "driver/train/checkpoint.h"
#include "driver/train/run_folder.h"
#include "ir/oracle/compare.h"
#include "ir/oracle/oracle.h"
#include "passes/rounding_noise.h"
#include "runtime/files/safetensors.h"
#include "test_paths.h"
#include "tests/support/suite.h"

namespace weft::decode {
namespace {

using Found = std::vector<Hypothesis>;  // the best of each sentence

constexpr double kClose = 1e-4;  // scores that differ by less may change places

std::string asked(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

class Trained : public testing::Test {
 protected:
  void SetUp() override {
    if (suite() != "slow") GTEST_SKIP() << "takes minutes";
    run_ = asked("WEFT_TRANSLATOR");
    const std::string file =
        asked("WEFT_SENTENCES",
              WEFT_SOURCE_DIR "/../shared/data/multi30k/tok/test_2016_flickr.lc.norm.tok.en.gz");
    if (run_.empty()) GTEST_SKIP() << "WEFT_TRANSLATOR names no run";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
    auto opened = open_run(run_, data::TaskKind::translation, {});
    ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
    model_ = std::move(opened).value();
    read_sentences(file);
  }

  void read_sentences(const std::string& file) {
    Result<data::LineReader> lines = data::LineReader::open(file);
    ASSERT_TRUE(lines.ok());
    data::Line line;
    while (lines->next(line).value()) {
      Ids ids = read_source(model_->tokenizer(), line.text, 200)->ids;
      if (ids.empty()) continue;
      ids.push_back(data::kEnd);
      sources_.push_back(std::move(ids));
    }
  }

  Found translate(int64_t beam, size_t batch) {
    SearchOptions options;
    options.beam = beam;
    Decoder decoder(*model_);
    Found found;
    for (size_t first = 0; first < sources_.size(); first += batch) {
      const size_t count = std::min(batch, sources_.size() - first);
      auto some = search(decoder, std::span<const Ids>(sources_).subspan(first, count), options);
      EXPECT_TRUE(some.ok());
      for (auto& best : *some) found.push_back(std::move(best.at(0)));
    }
    return found;
  }

  // The likeliest token, as long as there is room.
  Ids greedy(const Ids& source, size_t limit) {
    Decoder decoder(*model_);
    EXPECT_TRUE(decoder.begin({&source, 1}, 1, static_cast<int64_t>(limit) + 1).ok());
    Ids tokens;
    int32_t last = data::kBegin;
    const std::vector<int32_t> banned = {data::kPad, data::kBegin};
    std::vector<Candidate> top;
    while (tokens.size() < limit) {
      EXPECT_TRUE(decoder.step({&last, 1}).ok());
      top_candidates(decoder.logits(0), 1, banned, top);
      last = top[0].token;
      if (last == data::kEnd) break;
      tokens.push_back(last);
    }
    return tokens;
  }

  std::string run_;
  std::unique_ptr<DecodeModel> model_;
  std::vector<Ids> sources_;
};

double mean_score(const Found& found, double Hypothesis::*score) {
  double sum = 0;
  for (const Hypothesis& one : found) sum += one.*score;
  return sum / static_cast<double>(found.size());
}

TEST_F(Trained, BatchedBeamSearchIsBeamSearch) {
  const Found batched = translate(4, 64);
  const Found single = translate(4, 1);
  size_t other = 0;
  for (size_t i = 0; i < single.size(); ++i) {
    if (batched[i].tokens == single[i].tokens) continue;
    ++other;
    EXPECT_LT(std::min(batched[i].least_gap, single[i].least_gap), kClose) << "sentence " << i;
  }
  std::printf("beam 4: %zu of %zu sentences differ between batches of 64 and of 1\n", other,
              single.size());
}

TEST_F(Trained, ABeamOfOneIsGreedy) {
  const Found found = translate(1, 64);
  size_t other = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t limit = 2 * sources_[i].size() + 10;
    if (greedy(sources_[i], limit) == found[i].tokens) continue;
    ++other;
    EXPECT_LT(found[i].least_gap, kClose) << "sentence " << i;
  }
  std::printf("greedy: %zu of %zu sentences differ from a beam of 1\n", other, found.size());
}

TEST_F(Trained, ALargerBeamFindsNoWorse) {
  const Found narrow = translate(1, 64);
  const Found wide = translate(5, 64);
  size_t falls = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    falls += wide[i].normalised < narrow[i].normalised - 1e-6 ? 1 : 0;
  }
  const double before = mean_score(narrow, &Hypothesis::normalised);
  const double after = mean_score(wide, &Hypothesis::normalised);
  std::printf("mean score / length: beam 1 %.4f, beam 5 %.4f; it falls in %zu of %zu sentences\n",
              before, after, falls, wide.size());
  std::printf("mean score: beam 1 %.4f, beam 5 %.4f\n", mean_score(narrow, &Hypothesis::score),
              mean_score(wide, &Hypothesis::score));
  EXPECT_GE(after, before);
}

// @forward of the run on one device, for one sentence: logits of every position.
class Whole {
 public:
  Whole(const std::string& run, const train::TrainOptions& options, const std::string& device) {
    module_ = train::build_plain(options).value();
    std::erase_if(module_.graphs, [](const Graph& g) { return g.name() != "forward"; });
    weights_ = train::weights_of_run(run).value();
    device_ = train::open_device(module_, {.device = device}).value();
    EXPECT_TRUE(train::load_parameters(weights_, module_.storage, *device_).ok());
  }

  // What is left of the difference of a step's logits once rounding is allowed for, in the whole
  // graph: the table alone is for one op.
  std::optional<Difference> beyond_rounding(const Ids& source, const Ids& target, size_t step,
                                            std::span<const float> got) const {
    auto tensor = [](const Ids& ids) {
      Tensor made = Tensor::zeros(DType::i32, {1, static_cast<int64_t>(ids.size())});
      std::ranges::copy(ids, made.integers.begin());
      return made;
    };
    const TensorMap inputs = {{"src", tensor(source)}, {"tgt", tensor(target)}};
    const TensorMap storage = read_safetensors(weights_).value();
    const Graph& graph = module_.graphs[0];
    const DimBinding dims = bind_dims(module_, graph, inputs, storage).value();
    const OracleResult expected = run_oracle(module_, graph, inputs, storage, dims).value();
    OracleResult actual = expected;
    std::ranges::copy(got, actual.outputs.at("logits").reals.begin() +
                               static_cast<std::ptrdiff_t>(step * got.size()));
    return compare_but_for_rounding({module_, graph, inputs, storage, dims}, expected, actual,
                                    RunBy::device)
        .value();
  }

  train::HostTensor logits(const Ids& source, const Ids& target) {
    auto tensor = [](const Ids& ids) {
      train::HostTensor made{DType::i32, {1, static_cast<int64_t>(ids.size())}, {}};
      const auto bytes = std::as_bytes(std::span(ids));
      made.bytes.assign(bytes.begin(), bytes.end());
      return made;
    };
    const train::HostTensors inputs = {{"src", tensor(source)}, {"tgt", tensor(target)}};
    const DimBinding dims = {{"B", 1},
                             {"S", static_cast<int64_t>(source.size())},
                             {"T", static_cast<int64_t>(target.size())}};
    train::HostTensors outputs;
    EXPECT_TRUE(device_->run("forward", inputs, {}, dims, outputs).ok());
    return outputs.at("logits");
  }

 private:
  Module module_;
  std::string weights_;
  std::unique_ptr<train::TrainDevice> device_;
};

// Logits of every step against those of the whole graph, in tolerances of the table.
TEST_F(Trained, CachesGiveWhatTheWholeForwardGives) {
  double largest = 0;
  int rounded = 0;  // steps that are within the rounding of the graph, not within that of one op
  Found found = translate(1, 64);
  for (const auto& [device, every] :
       {std::pair("cpu", size_t{5}), std::pair("oracle", size_t{200})}) {
    Whole whole(run_, model_->options, device);
    for (size_t i = 0; i < found.size(); i += every) {
      Ids target = {data::kBegin};
      target.insert(target.end(), found[i].tokens.begin(), found[i].tokens.end());
      const train::HostTensor expected = whole.logits(sources_[i], target);
      Decoder decoder(*model_);
      ASSERT_TRUE(decoder.begin({&sources_[i], 1}, 1, static_cast<int64_t>(target.size())).ok());
      for (size_t step = 0; step < target.size(); ++step) {
        ASSERT_TRUE(decoder.step({&target[step], 1}).ok());
        const std::span<const float> got = decoder.logits(0);
        Tensor a = Tensor::zeros(DType::f32, {static_cast<int64_t>(got.size())});
        Tensor b = a;
        for (size_t v = 0; v < got.size(); ++v) {
          a.reals[v] = train::real_at(expected, step * got.size() + v);
          b.reals[v] = static_cast<double>(got[v]);
          largest = std::max(largest, std::abs(a.reals[v] - b.reals[v]));
        }
        std::optional<Difference> difference = compare(a, b, tolerance(RunBy::device, DType::f32));
        if (difference) {
          ++rounded;
          difference = whole.beyond_rounding(sources_[i], target, step, got);
        }
        ASSERT_FALSE(difference) << device << " " << i << " " << step << ": " << difference->str();
      }
    }
  }
  std::printf(
      "logits with caches differ from the whole forward's by at most %.2g; in %d steps by\n"
      "more than one op may, and by no more than rounding does in the whole graph\n",
      largest, rounded);
}

}  // namespace
}  // namespace weft::decode
