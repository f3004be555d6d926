// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/sizes.h"

#include <cmath>
#include <iomanip>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

std::string gibibytes(double bytes) {
  std::ostringstream out;
  out << std::setprecision(3) << std::round(bytes / (1 << 30) * 1000) / 1000 << " GiB";
  return out.str();
}

}  // namespace

Error unbound_symbol(const Loc& loc, const std::string& what, const std::string& symbol) {
  return error(loc, what, ": the size of ", symbol, " is not known")
      .hint(cat("give it: --dim ", symbol, "=16"));
}

Result<std::vector<int64_t>> concrete_shape(const Type& type, const DimBinding& dims,
                                            const Loc& loc, const std::string& what) {
  std::vector<int64_t> shape;
  for (const Dim& dim : type.shape) {
    std::optional<int64_t> size = dim.evaluate(dims);
    if (!size) {
      std::set<std::string> symbols;
      dim.collect_symbols(symbols);
      for (const std::string& symbol : symbols) {
        if (!dims.contains(symbol)) return unbound_symbol(loc, what, symbol);
      }
      return error(loc, what, ": the size ", dim, " of ", type, " cannot be computed");
    }
    if (*size < 0) return error(loc, what, ": the size ", dim, " of ", type, " is ", *size);
    shape.push_back(*size);
  }
  if (!checked_element_count(shape)) {
    return error(loc, what, ": ", type, " has too many elements (", str(shape), ")");
  }
  return shape;
}

Result<int64_t> check_room(const std::vector<int64_t>& shape, int64_t live, const Loc& loc,
                           const std::string& what) {
  int64_t bytes = element_count(shape) * kElementBytes;
  if (bytes <= kOracleByteLimit - live) return bytes;
  return error(loc, what, ": ", str(shape), " needs ", gibibytes(static_cast<double>(bytes)),
               " beside ", gibibytes(static_cast<double>(live)), "; the oracle's limit is ",
               gibibytes(static_cast<double>(kOracleByteLimit)))
      .hint("choose smaller sizes, for example --dim B=1");
}

}  // namespace weft
