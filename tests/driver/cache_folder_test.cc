// Which folder is the cache.
// SPDX-License-Identifier: Apache-2.0
#include "driver/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace weft {
namespace {

// Sets a variable of the environment, or unsets it, until the end of a test.
class Variable {
 public:
  Variable(const char* name, std::optional<std::string> value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheFolder, IsWhatIsAskedForElseTheUsersOwn) {
  Variable home("HOME", "/users/someone");
  Variable caches("XDG_CACHE_HOME", std::nullopt);
  Variable ours("WEFT_CACHE_DIR", std::nullopt);
  EXPECT_EQ(user_cache_folder(), "/users/someone/.cache/weft");
  {
    Variable elsewhere("XDG_CACHE_HOME", "/var/caches");
    EXPECT_EQ(user_cache_folder(), "/var/caches/weft");
    Variable chosen("WEFT_CACHE_DIR", "mine");
    EXPECT_EQ(user_cache_folder(), "mine");
  }
  Variable relative("XDG_CACHE_HOME", "caches");
  EXPECT_EQ(user_cache_folder(), "/users/someone/.cache/weft");
}

TEST(CacheFolder, MayBeNone) {
  Variable caches("XDG_CACHE_HOME", std::nullopt);
  {
    Variable off("WEFT_CACHE_DIR", "");
    EXPECT_EQ(user_cache_folder(), "");
  }
  Variable unset("WEFT_CACHE_DIR", std::nullopt);
  Variable home("HOME", std::nullopt);
  EXPECT_EQ(user_cache_folder(), "");
  EXPECT_EQ(kernel_folder(""), "");
  EXPECT_EQ(kernel_folder("/a"), "/a/kernels");
}

}  // namespace
}  // namespace weft
