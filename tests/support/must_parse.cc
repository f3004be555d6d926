// SPDX-License-Identifier: Apache-2.0
#include "tests/support/must_parse.h"

#include <gtest/gtest.h>

#include "ir/text/text.h"

namespace weft::test {

Module must_parse(const std::string& text) {
  Result<Module> module = parse("test.weft", text);
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return module.ok() ? std::move(module).value() : Module{};
}

}  // namespace weft::test
