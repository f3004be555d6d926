// One-line cases for type inference: operands as text, the outcome as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ir/graph/infer.h"

namespace weft::infer_cases {

using Ints = std::vector<int64_t>;
using Dims = std::vector<Dim>;

inline const Dim B = Dim::symbol("B");
inline const Dim T = Dim::symbol("T");
inline const Dim D = Dim::symbol("D");

// "f32[B, 4]": numbers and symbols only.
inline Type type(std::string text) {
  size_t open = text.find('[');
  Type result;
  result.dtype = *parse_dtype(text.substr(0, open));
  std::istringstream dims(text.substr(open + 1, text.size() - open - 2));
  for (std::string dim; std::getline(dims, dim, ',');) {
    dim.erase(0, dim.find_first_not_of(' '));
    bool number = dim.find_first_not_of("-0123456789") == std::string::npos;
    result.shape.push_back(number ? Dim(std::stoll(dim)) : Dim::symbol(dim));
  }
  return result;
}

// Facts that can be written as a list.
struct Facts {
  std::map<std::string, DimFacts::Bounds> bounds = {};
  std::vector<std::pair<Dim, Dim>> equalities = {};
};

struct Call {
  Op op;
  std::vector<std::string> operands;
  Attrs attrs = {};
  Facts facts = {};
};

inline Result<std::vector<Type>> infer(const Call& call) {
  std::vector<Type> operands;
  for (const std::string& text : call.operands) operands.push_back(type(text));
  WEFT_TRY(Attrs attrs, normalise_attrs(call.op, call.attrs, operands, {}));
  DimFacts facts;
  facts.bounds = call.facts.bounds;
  for (const auto& [left, right] : call.facts.equalities) facts.assert_equal(left, right);
  return infer_types({call.op, operands, attrs, facts, {}, {}});
}

// The result types joined with "; ", or the rendered error.
inline std::string outcome(const Call& call) {
  Result<std::vector<Type>> types = infer(call);
  if (!types.ok()) return render(types.diagnostics());
  std::string text;
  for (const Type& t : *types) text += (text.empty() ? "" : "; ") + t.str();
  return text;
}

inline const double kNan = std::numeric_limits<double>::quiet_NaN();

// Matchers spelt as functions: hundreds of EXPECT_THATs take minutes to compile.
inline testing::AssertionResult gives(const std::string& expected, const Call& call) {
  std::string got = outcome(call);
  if (got == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected " << expected << "\ngot " << got;
}

inline testing::AssertionResult says(const std::string& fragment, const Call& call) {
  std::string got = outcome(call);
  if (got.find(fragment) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected " << fragment << "\ngot " << got;
}

}  // namespace weft::infer_cases

#define EXPECT_TYPES(expected, ...) EXPECT_TRUE(gives(expected, {__VA_ARGS__}))
#define EXPECT_FAILS(fragment, ...) \
  EXPECT_TRUE(says(std::string("error: ") + fragment, {__VA_ARGS__}))
#define EXPECT_HINT(fragment, ...) \
  EXPECT_TRUE(says(std::string("hint: ") + fragment, {__VA_ARGS__}))
