// Products as code: every form of one, on every processor that this machine can be.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <span>

#include "backends/cpu/compile.h"
#include "ir/oracle/tolerance.h"
#include "ir/tile/text.h"
#include "runtime/cpu/code.h"
#include "runtime/cpu/math_table.h"
#include "tests/support/suite.h"

namespace weft::cpu {
namespace {

constexpr const char* kTargets[] = {"generic", "avx2", "avx512"};

struct Case {
  int64_t m, n, k;
  bool lhs_turned = false;
  bool rhs_turned = false;
  int64_t panel = 0;      // columns of the panels that rhs lies in; 0: it does not
  bool any_rows = false;  // their number is known only when the kernel runs
  int64_t batches = 1;    // products of this many pairs of matrices
};

std::string text(const Case& c) {
  const std::string height = c.any_rows ? "M" : std::to_string(c.m);
  auto matrix = [&](const auto& rows, int64_t columns, bool turned) {
    const std::string type = cat("f32[", c.batches, ", ", rows, ", ", columns, "]");
    return turned ? cat(type, " strides [", columns, "*", rows, ", 1, ", rows, "]") : type;
  };
  const int64_t panels = c.panel == 0 ? 0 : (c.n + c.panel - 1) / c.panel;
  const std::string rhs = c.panel == 0 ? matrix(c.k, c.n, c.rhs_turned)
                                       : cat("f32[", panels, ", ", c.k, ", ", c.panel, "]");
  const std::string at =
      c.panel == 0 ? "b, k, n" : cat("n / ", c.panel, ", k, mod(n, ", c.panel, ")");
  return cat("kernel @k {\n  in %x: ", matrix(height, c.k, c.lhs_turned), "\n  in %w: ", rhs,
             "\n  out %y: ", matrix(height, c.n, false),
             "\n  free BM = 96\n  free BN = 256\n  free BK = 512\n  axis b: ", c.batches,
             " by 1\n  axis m: ", height, " by BM\n  axis n: ", c.n, " by BN\n  axis k: ", c.k,
             " by BK\n  grid b, n, m\n  %s = loop k carry %c = 0.0 : f32[m, n] {\n"
             "    yield dot[k](load %x[b, m, k], load %w[",
             at, "], %c)\n  }\n  store %y[b, m, n], %s\n}\n");
}

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> result(static_cast<size_t>(count));
  for (float& number : result) number = draw(random);
  return result;
}

// w[k, n] in panels; NaN beyond the last column, which nothing may read into a result.
std::vector<float> in_panels(const std::vector<float>& w, const Case& c) {
  const int64_t panels = (c.n + c.panel - 1) / c.panel;
  std::vector<float> result(static_cast<size_t>(panels * c.k * c.panel), std::nanf(""));
  for (int64_t k = 0; k < c.k; ++k) {
    for (int64_t n = 0; n < c.n; ++n) {
      const int64_t at = n / c.panel * c.k * c.panel + k * c.panel + n % c.panel;
      result[static_cast<size_t>(at)] = w[static_cast<size_t>(k * c.n + n)];
    }
  }
  return result;
}

// Numbers with nothing behind them: who reads on is stopped by the system.
class GuardedFloats {
 public:
  explicit GuardedFloats(const std::vector<float>& values) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t bytes = values.size() * sizeof(float);
    const size_t before = (bytes + page - 1) / page * page;
    size_ = before + page;
    void* all = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(all, MAP_FAILED);
    all_ = static_cast<std::byte*>(all);
    EXPECT_EQ(::mprotect(all_ + before, page, PROT_NONE), 0);
    data_ = all_ + before - bytes;
    std::memcpy(data_, values.data(), bytes);
  }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;
  ~GuardedFloats() { ::munmap(all_, size_); }

  void* data() const { return data_; }

 private:
  std::byte* all_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A compiled product with its operands, and one thread's memory.
class ProductRun {
 public:
  ProductRun(const Case& c, const CpuTarget& target)
      : c_(c),
        x(numbers(c.batches * c.m * c.k, 1)),
        w(numbers(c.batches * c.k * c.n, 2)),
        y(static_cast<size_t>(c.batches * c.m * c.n), std::numeric_limits<float>::quiet_NaN()) {
    const Result<tile::Program> program = tile::parse("kernel.tile", text(c));
    EXPECT_TRUE(program.ok()) << render(program.diagnostics());
    CompiledPrograms compiled = compile_programs({*program}, target, {}).value();
    kernel_ = compiled.kernels[0];
    code_ = LoadedCode::load(compiled.code).value();
    const auto bytes = static_cast<size_t>(number(kernel_.scratch_bytes));
    scratch_.reset(new (std::align_val_t{kScratchAlignment}) std::byte[bytes]);
    std::memset(scratch_.get(), 0xff, bytes);  // NaN: nothing that is not written may count
    env.scratch = scratch_.get();
    env.math = &math_table();
  }

  int64_t programs() const { return number(kernel_.programs); }

  void programs(int64_t begin, int64_t end) {
    const GuardedFloats lhs(x);
    const GuardedFloats rhs(c_.panel == 0 ? w : in_panels(w, c_));
    const GuardedFloats result(y);
    void* buffers[] = {lhs.data(), rhs.data(), result.data()};
    std::vector<int64_t> args;
    for (const Dim& arg : kernel_.args) args.push_back(number(arg));
    code_->at(kernel_.entry)(buffers, args.data(), begin, end, &env);
    std::memcpy(y.data(), result.data(), y.size() * sizeof(float));
  }

  // Against sums of doubles, as far as the table of tolerances allows.
  void expect_right() const {
    std::vector<double> sums;
    double largest = 1;
    for (int64_t i = 0; i < c_.batches * c_.m; ++i) {
      const int64_t batch = i / c_.m;
      const std::span<const float> lhs =
          std::span(x).subspan(static_cast<size_t>(batch * c_.m * c_.k));
      const std::span<const float> rhs =
          std::span(w).subspan(static_cast<size_t>(batch * c_.k * c_.n));
      for (int64_t column = 0; column < c_.n; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < c_.k; ++k) {
          sum += at(lhs, i % c_.m, k, c_.m, c_.k, c_.lhs_turned) *
                 at(rhs, k, column, c_.k, c_.n, c_.rhs_turned);
        }
        sums.push_back(sum);
        largest = std::max(largest, std::abs(sum));
      }
    }
    const Tolerance most = tolerance(RunBy::device, DType::f32);
    for (size_t i = 0; i < sums.size(); ++i) {
      const double off = most.relative * std::abs(sums[i]) + most.largest * largest + most.absolute;
      ASSERT_NEAR(static_cast<double>(y[i]), sums[i], off) << "at " << i;
    }
  }

 private:
  struct Free {
    void operator()(std::byte* p) const {
      ::operator delete[](p, std::align_val_t{kScratchAlignment});
    }
  };
  int64_t number(const Dim& dim) const { return dim.evaluate({{"M", c_.m}}).value(); }
  static double at(std::span<const float> values, int64_t row, int64_t column, int64_t rows,
                   int64_t columns, bool turned) {
    return static_cast<double>(
        values[static_cast<size_t>(turned ? column * rows + row : row * columns + column)]);
  }

  Case c_;
  Kernel kernel_;
  std::optional<LoadedCode> code_;
  std::unique_ptr<std::byte[], Free> scratch_;

 public:
  KernelEnv env;
  std::vector<float> x, w, y;
};

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (const char* name : kTargets) {
    Result<CpuTarget> target = resolve_cpu_target(name, TargetUse::kRun);
    if (target.ok()) result.push_back(*target);
  }
  return result;
}

// One row to many tiles of them, a single column to several panels with a rest, sums shorter and
// longer than a block, and all ways in which operands may lie.
TEST(CpuProduct, EveryFormIsRight) {
  constexpr int64_t kRows[] = {1, 2, 3, 5, 16, 25, 49, 97, 200};
  constexpr int64_t kColumns[] = {1, 31, 64, 257, 300};
  constexpr int64_t kDepths[] = {1, 17, 129, 600};
  int turn = 0;
  for (const CpuTarget& target : targets()) {
    for (int64_t m : kRows) {
      for (int64_t n : kColumns) {
        // All pairs of rows and columns; depths and ways to lie by turns.
        const int at = turn++;
        if (left_out(static_cast<size_t>(at), 7)) continue;
        const Case c{m, n, kDepths[at % 4], at / 4 % 2 == 1, at / 8 % 2 == 1};
        SCOPED_TRACE(cat(target.name, " ", text(c)));
        ProductRun run(c, target);
        run.programs(0, run.programs());
        run.expect_right();
      }
    }
  }
}

// Panels of one, two and four micro-tiles, and such as no micro-tile fits.
TEST(CpuProduct, PanelsInMemoryGiveTheSameBits) {
  constexpr int64_t kRows[] = {1, 4, 16, 25, 97, 200};
  constexpr int64_t kColumns[] = {31, 64, 257, 300};
  constexpr int64_t kPanels[] = {8, 12, 16, 32, 64};
  constexpr int64_t kDepths[] = {1, 129, 2100};
  int turn = 0;
  for (const CpuTarget& target : targets()) {
    for (int64_t m : kRows) {
      for (int64_t n : kColumns) {
        const int at = turn++;
        if (left_out(static_cast<size_t>(at), 7)) continue;
        const Case plain{m, n, kDepths[at % 3]};
        Case c = plain;
        c.panel = std::min<int64_t>(kPanels[at % 5], n - 1);
        SCOPED_TRACE(cat(target.name, " ", text(c)));
        ProductRun run(c, target);
        run.programs(0, run.programs());
        run.expect_right();
        ProductRun copied(plain, target);
        copied.programs(0, copied.programs());
        if (m <= 3) continue;  // few rows have a form of their own
        EXPECT_EQ(run.y, copied.y);
      }
    }
  }
}

// One row of a kernel for any number of them: several panels at once, also where fewer are left.
TEST(CpuProduct, OneRowOfAnyNumberGivesTheSameBits) {
  size_t turn = 0;
  for (const CpuTarget& target : targets()) {
    for (int64_t panel : {16, 64}) {
      for (int64_t n : {16, 70, 96, 400}) {
        for (int64_t m : {1, 2, 7}) {
          if (left_out(turn++, 5)) continue;
          Case c{m, n, 129, false, false, panel};
          SCOPED_TRACE(cat(target.name, " ", text(c)));
          ProductRun known(c, target);
          known.programs(0, known.programs());
          c.any_rows = true;
          ProductRun any(c, target);
          any.programs(0, any.programs());
          any.expect_right();
          if (m <= 3) continue;  // known before, so few have a form of their own
          EXPECT_EQ(any.y, known.y);
        }
      }
    }
  }
}

TEST(CpuProduct, SharesOfALaunchGiveTheSameBits) {
  for (bool turned : {false, true}) {
    ProductRun whole({200, 600, 300, turned, turned}, targets().back());
    whole.programs(0, whole.programs());
    ProductRun parts({200, 600, 300, turned, turned}, targets().back());
    // Forwards from the middle, then the first half backwards: panels come and go.
    const int64_t half = parts.programs() / 2;
    for (int64_t i = half; i < parts.programs(); ++i) parts.programs(i, i + 1);
    for (int64_t i = half; i > 0; --i) parts.programs(i - 1, i);
    EXPECT_EQ(whole.y, parts.y);
  }
}

// Of a turned lhs the copies of all rows stay for the columns that follow, if there is room.
TEST(CpuProduct, CopiesThatStayGiveTheSameBits) {
  constexpr Case kCases[] = {{.m = 200, .n = 700, .k = 129},
                             {.m = 97, .n = 600, .k = 1100},
                             {.m = 100, .n = 530, .k = 40, .batches = 3},
                             {.m = 100, .n = 600, .k = 0},
                             {.m = 3000, .n = 520, .k = 900}};  // more than there is room for
  for (const CpuTarget& target : targets()) {
    for (const Case& plain : kCases) {
      if (left_out(static_cast<size_t>(&plain - kCases), 4)) continue;
      Case turned = plain;
      turned.lhs_turned = true;
      SCOPED_TRACE(cat(target.name, " ", text(turned)));
      ProductRun in_place(plain, target);
      in_place.programs(0, in_place.programs());
      ProductRun run(turned, target);
      for (int64_t i = 0; i < std::ssize(run.x); ++i) {
        const int64_t batch = i / (plain.m * plain.k);
        const int64_t row = i / plain.k % plain.m;
        const int64_t there = (batch * plain.k + i % plain.k) * plain.m + row;
        run.x[static_cast<size_t>(there)] = in_place.x[static_cast<size_t>(i)];
      }
      run.programs(0, run.programs());
      EXPECT_TRUE(run.y == in_place.y);
      if (plain.m < 1000) run.expect_right();
    }
  }
}

// Panels of a rhs that lies along k are turned a square at a time, with rests along k and n.
TEST(CpuProduct, TurnedPanelsGiveTheSameBits) {
  size_t turn = 0;
  for (const CpuTarget& target : targets()) {
    for (int64_t n : {31, 64, 257, 300}) {
      for (int64_t k : {1, 4, 15, 16, 17, 129, 1100}) {
        if (left_out(turn++, 3)) continue;
        Case c{49, n, k};
        SCOPED_TRACE(cat(target.name, " ", text(c)));
        ProductRun plain(c, target);
        plain.programs(0, plain.programs());
        c.rhs_turned = true;
        ProductRun turned(c, target);
        for (int64_t i = 0; i < n * k; ++i) {
          turned.w[static_cast<size_t>(i % n * k + i / n)] = plain.w[static_cast<size_t>(i)];
        }
        turned.programs(0, turned.programs());
        EXPECT_EQ(turned.y, plain.y);
      }
    }
  }
}

// What a thread copied in one launch is not what the next one reads.
TEST(CpuProduct, TheNextLaunchCopiesAgain) {
  for (const CpuTarget& target : targets()) {
    for (const Case& c : {Case{100, 100, 50}, Case{100, 600, 50, /*lhs_turned=*/true}}) {
      ProductRun run(c, target);
      run.programs(0, run.programs());
      run.x = numbers(c.m * c.k, 4);
      run.w = numbers(c.k * c.n, 3);
      ++run.env.launch;
      run.programs(0, run.programs());
      run.expect_right();
    }
  }
}

}  // namespace
}  // namespace weft::cpu
