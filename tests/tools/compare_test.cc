// bench/compare, with sides that print made-up results.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>

#include "test_paths.h"
#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kWeft = R"(#!/bin/sh
if [ "$2" = roofline ]; then
  echo '{"case":"roofline_fma","median_ms":1,"gflops":100,"gb_per_s":0}'
  echo '{"case":"roofline_triad","median_ms":1,"gflops":0,"gb_per_s":20}'
else
  echo '{"case":"train_tiny","median_ms":10,"gflops":50}'
  echo '{"case":"train_tiny_drop0.3","median_ms":10,"gflops":50}'
fi
)";
constexpr const char* kPeer = R"(#!/bin/sh
echo '{"case":"train_tiny","median_ms":25}'
echo '{"case":"train_tiny_drop0.3","median_ms":15}'
)";

class CompareTest : public CliTest {
 protected:
  std::string program(const std::string& name, const std::string& text) const {
    const std::string file = write(name, text);
    ::chmod(file.c_str(), 0755);
    return file;
  }
  // Two rounds of train_tiny on one thread.
  Outcome compare(const std::string& arguments) const {
    const std::string command = "python3 '" WEFT_SOURCE_DIR "/bench/compare' --weft '" +
                                program("weft", kWeft) +
                                "' --cases train_tiny --threads 1 --rounds 2 " + arguments + " >'" +
                                path("out") + "' 2>'" + path("err") + "' </dev/null";
    const int status = std::system(command.c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.out = slurp(path("out"));
    outcome.err = slurp(path("err"));
    return outcome;
  }
};

TEST_F(CompareTest, RatiosAndVerdictsFollowFromTheTimes) {
  const Outcome outcome = compare("--peer torch=" + program("peer", kPeer));
  EXPECT_EQ(outcome.code, 1) << outcome.err;  // a target is missed
  EXPECT_THAT(outcome.out, HasSubstr("FMA 100.0"));
  EXPECT_THAT(outcome.out, HasSubstr("50%"));
  EXPECT_THAT(outcome.out, HasSubstr("2.50 (2.50..2.50), at least 1.80; in 2 of 2 rounds"));
  EXPECT_THAT(outcome.out, HasSubstr("missed   train_tiny_drop0.3 against torch"));
  EXPECT_THAT(outcome.out, HasSubstr("in 0 of 2 rounds"));
}

TEST_F(CompareTest, APeerThatFailsIsNamedAndNothingIsReached) {
  const Outcome outcome = compare("--peer torch=false");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("note: torch, train_tiny, 1 thread: exit code 1"));
  EXPECT_THAT(outcome.out, HasSubstr("open     train_tiny against torch"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("reached")));
}

TEST_F(CompareTest, WhatIsNoResultIsToldWithItsText) {
  const Outcome outcome = compare("--peer torch=" + program("peer", "#!/bin/sh\necho 12 ms\n"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("printed what is no result: '12 ms'"));
}

TEST_F(CompareTest, WrongUsageIsSaid) {
  EXPECT_EQ(compare("--rounds none").code, 2);
  EXPECT_EQ(compare("--peer torch").code, 2);
}

}  // namespace
}  // namespace weft
