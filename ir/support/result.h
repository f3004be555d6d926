// Result<T>: a value, or the diagnostics that say why there is none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "ir/support/check.h"
#include "ir/support/diagnostic.h"

namespace weft {

// What `error(...)` returns: one diagnostic under construction, or several collected ones.
// Converts to any Result.
class [[nodiscard]] Error {
 public:
  explicit Error(Diagnostic diagnostic) { diagnostics_.push_back(std::move(diagnostic)); }
  explicit Error(Diagnostics diagnostics) : diagnostics_(std::move(diagnostics)) {
    WEFT_CHECK(!diagnostics_.empty(), "an error carries at least one diagnostic");
  }

  Error note(Loc loc, std::string message) && {
    diagnostics_.back().notes.push_back({std::move(loc), std::move(message)});
    return std::move(*this);
  }
  Error hint(std::string hint) && {
    diagnostics_.back().hint = std::move(hint);
    return std::move(*this);
  }
  const Diagnostics& diagnostics() const { return diagnostics_; }
  Diagnostics take() && { return std::move(diagnostics_); }

 private:
  Diagnostics diagnostics_;
};

template <class... Parts>
Error error(const Loc& loc, const Parts&... parts) {
  return Error(Diagnostic{loc, cat(parts...), {}, {}});
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                     // NOLINT: implicit by design
  Result(Error&& error) : diagnostics_(std::move(error).take()) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& value() & {
    WEFT_CHECK(ok(), "value() of a failed result: " + render(diagnostics_));
    return *value_;
  }
  const T& value() const& {
    WEFT_CHECK(ok(), "value() of a failed result: " + render(diagnostics_));
    return *value_;
  }
  T&& value() && {
    WEFT_CHECK(ok(), "value() of a failed result: " + render(diagnostics_));
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Diagnostics& diagnostics() const { return diagnostics_; }
  Error take_error() && { return Error(std::move(diagnostics_)); }

 private:
  std::optional<T> value_;
  Diagnostics diagnostics_;
};

struct Ok {};
using Status = Result<Ok>;
inline Status ok() { return Ok{}; }

}  // namespace weft

#define WEFT_CONCAT_(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_(a, b)
#define WEFT_TRY_(tmp, declaration, expression)      \
  auto tmp = (expression);                           \
  if (!tmp.ok()) return std::move(tmp).take_error(); \
  declaration = std::move(tmp).value()

// WEFT_TRY(auto g, parse(text)); returns the error from the enclosing function if there is one.
#define WEFT_TRY(declaration, expression) \
  WEFT_TRY_(WEFT_CONCAT(weft_try_, __LINE__), declaration, expression)
// The same for a Status, whose value nobody wants.
#define WEFT_TRY_STATUS(expression)                         \
  if (auto WEFT_CONCAT(weft_try_, __LINE__) = (expression); \
      !WEFT_CONCAT(weft_try_, __LINE__).ok())               \
  return std::move(WEFT_CONCAT(weft_try_, __LINE__)).take_error()
