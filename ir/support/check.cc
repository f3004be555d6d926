// SPDX-License-Identifier: Apache-2.0
#include "ir/support/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

void print_and_exit(std::string_view message) {
  std::fprintf(stderr, "error: internal: %.*s\n", static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::_Exit(3);
}

std::atomic<CheckHandler> check_handler{print_and_exit};
thread_local CheckContext* innermost_context = nullptr;

}  // namespace

CheckHandler set_check_handler(CheckHandler handler) {
  return check_handler.exchange(handler != nullptr ? handler : print_and_exit);
}

void check_failed(std::string_view what, const char* file, int line) {
  std::string_view path(file);
  if (size_t slash = path.rfind('/'); slash != std::string_view::npos)
    path.remove_prefix(slash + 1);
  std::string message = std::string(what) + " (" + std::string(path) + ":" + std::to_string(line);
  if (std::string context = CheckContext::describe(); !context.empty())
    message += ", in " + context;
  message += ")";
  check_handler.load()(message);
  std::abort();  // a handler must not return
}

CheckContext::CheckContext(std::string what) : what_(std::move(what)), outer_(innermost_context) {
  innermost_context = this;
}

CheckContext::~CheckContext() { innermost_context = outer_; }

std::string CheckContext::describe() {
  std::string all;
  for (const CheckContext* c = innermost_context; c != nullptr; c = c->outer_) {
    all = all.empty() ? c->what_ : c->what_ + ", " + all;
  }
  return all;
}

}  // namespace weft
