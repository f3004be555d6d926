// Invariants. A failed check is a fault of ours, never of the user's input.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Called when an invariant is broken. Must not return. The default prints the message and the
// context set by `CheckContext`, and leaves with exit code 3.
using CheckHandler = void (*)(std::string_view message);
CheckHandler set_check_handler(CheckHandler handler);  // null: the default; returns the one before

[[noreturn]] void check_failed(std::string_view what, const char* file, int line);

// Names what is being done ("pass simplify", "op matmul") for as long as it lives, so that a
// failed check can say where it happened.
class CheckContext {
 public:
  explicit CheckContext(std::string what);
  ~CheckContext();
  CheckContext(const CheckContext&) = delete;
  CheckContext& operator=(const CheckContext&) = delete;

  // All contexts alive on this thread, outermost first, joined with ", ".
  static std::string describe();

 private:
  std::string what_;
  CheckContext* outer_;
};

}  // namespace weft

// The only two macros for control flow are this one and WEFT_TRY (result.h).
#define WEFT_CHECK(condition, what) \
  (static_cast<bool>(condition) ? void(0) : ::weft::check_failed((what), __FILE__, __LINE__))
