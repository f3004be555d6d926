// Random ops with a body.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/region.h"
#include "tests/support/graph_maker.h"

namespace weft {
namespace {

void return_all(Graph& body, const std::vector<Value>& values) {
  for (Value value : values) body.outputs.push_back({body_output_name(body.outputs.size()), value});
}

}  // namespace

void make_region(GraphMaker& m) {
  Value x = m.any(kFloat);
  Value y = m.partner(x);
  Module module;
  module.dims = m.dims();
  Graph body;
  Emitter b(module, body);
  Value in = body.add_input("x", m.type(x));
  Value other = body.add_input("y", m.type(y));
  Value bounded = m.chance(0.5) ? b.tanh({in}) : b.sigmoid({in});
  const bool rows = m.chance(0.5) && !m.shape(x).empty();
  if (rows) bounded = b.softmax({bounded});
  Value product = b.mul({bounded, other});
  if (m.chance(0.3)) body.set_value_name(product, "product");
  std::vector<Value> results = {product};
  if (m.chance(0.5)) results.push_back(bounded);
  return_all(body, results);
  m.emit_body(Op::region, {x, y}, {{"kind", std::string(rows ? "rows" : "map")}}, std::move(body),
              std::max(1.0, m.bound(y)));
}

void make_chunked(GraphMaker& m) {
  Value x = m.any(kFloat, 1);
  const Type type = m.type(x);
  const Dim rows = type.shape[0];
  const Shape rest(type.shape.begin() + 1, type.shape.end());
  Value w = m.of_type({type.dtype, rest});
  Module module;
  module.dims = m.dims();
  Graph body;
  Emitter b(module, body);
  Shape chunk_shape = type.shape;
  chunk_shape[0] = Dim::symbol("R");
  Value in = body.add_input("x", {type.dtype, chunk_shape});
  Value whole = body.add_input("w", {type.dtype, rest});
  Value product = b.mul({in, b.tanh({whole})});
  Value sum = b.sum({product}, {{"axes", std::vector<int64_t>{0}}});
  return_all(body, {product, sum});
  m.emit_body(Op::chunked, {x, w},
              {{"symbol", std::string("R")},
               {"rows", rows},
               {"chunk", m.between(1, 4)},
               {"sliced_in", std::vector<int64_t>{1, 0}},
               {"sliced_out", std::vector<int64_t>{1, 0}}},
              std::move(body),
              std::max(1.0, m.bound(x)) * static_cast<double>(std::max<int64_t>(m.high(rows), 1)));
}

}  // namespace weft
