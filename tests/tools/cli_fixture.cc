// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/cli_fixture.h"

#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/support/check.h"
#include "test_paths.h"

namespace weft {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void CliTest::SetUp() {
  folder_ = ::testing::TempDir() + "weft_cli_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder_);
  ::setenv("WEFT_CACHE_DIR", "", 1);  // not the user's
}

void CliTest::TearDown() { std::filesystem::remove_all(folder_); }

std::string CliTest::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path(name), std::ios::binary) << bytes;
  return path(name);
}

Outcome CliTest::weft(const std::string& arguments, const std::string& input) const {
  std::string command = "cd '" + folder_ + "' && exec '" WEFT_BINARY "' " + arguments + " >'" +
                        path(".out") + "' 2>'" + path(".err") + "' <'" + input + "'";
  auto start = std::chrono::steady_clock::now();
  pid_t child = ::fork();
  WEFT_CHECK(child >= 0, "cannot start a process");
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  rusage usage = {};
  ::wait4(child, &status, 0, &usage);
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = slurp(path(".out"));
  outcome.err = slurp(path(".err"));
  outcome.peak_kb = usage.ru_maxrss;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

std::optional<std::string> CliTest::on_terminal(const std::string& arguments,
                                                const std::string& awaited, int seconds) const {
  int terminal = -1;
  pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child < 0) return {};  // to kill -1 would be to kill every process
  if (child == 0) {
    std::string command = "cd '" + folder_ + "' && exec '" WEFT_BINARY "' " + arguments;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::string told;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (told.find(awaited) == std::string::npos && std::chrono::steady_clock::now() < end) {
    pollfd ready{terminal, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    char bytes[4096];
    ssize_t count = ::read(terminal, bytes, sizeof(bytes));
    if (count <= 0) break;  // it has ended
    told.append(bytes, static_cast<size_t>(count));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(terminal);
  return told;
}

}  // namespace weft
