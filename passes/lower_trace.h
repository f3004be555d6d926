// Tracing a region's body: the value of a node at given coordinates, as tiles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "passes/lower.h"
#include "passes/lower_space.h"
#include "passes/views.h"

namespace weft::lowering {

using tile::AxisId;
using tile::Index;
using tile::ValueId;
using Coordinates = std::vector<Index>;

// The region being lowered.
struct Region {
  const Module& module;
  const Graph& graph;
  uint32_t node_index;
  const DeviceTraits& device;
  std::vector<View> operands;  // where the node's operands lie

  const Node& node() const { return graph[node_index]; }
  const Graph& body() const { return *node().body; }
  const DimFacts& facts() const { return module.dims; }
  // Dims that are equal by assertion look equal.
  Shape shape(Value value) const { return canonical(body().type(value).shape); }
  Shape canonical(Shape shape) const;
  DType dtype(Value value) const { return body().type(value).dtype; }
};

// A program and what its buffers stand for.
struct Traced {
  tile::Program program;
  std::vector<LoweredRegion::Bound> buffers;
};

// A value at coordinates; where `where` is false (if there is one) it does not matter.
struct Request {
  Value value;
  Coordinates at;
  ValueId where = tile::kNone;
  friend auto operator<=>(const Request&, const Request&) = default;
};

class Tracer {
 public:
  Tracer(const Region& region, Space& space, std::string name);

  const Region& region() const { return region_; }
  Space& space() { return space_; }
  tile::Builder& b() { return b_; }

  // The tile of a value at coordinates that are indices of the space's fine axes.
  ValueId at(Value value, const Coordinates& at);
  // From here on `value` is this tile, whatever the coordinates; callers see to it that they are
  // those of the tile.
  void give(Value value, ValueId tile) { given_[value] = tile; }

  // How a reduction is done, for regions that have some: gives kNone while `need` found something
  // missing, and is then asked again.
  std::function<ValueId(const Request&)> reduce;
  ValueId need(Value value, const Coordinates& at, ValueId where = tile::kNone);

  // Elements of a result. Where `inout`, other programs wrote the buffer before.
  struct Target {
    tile::BufferId buffer = tile::kNone;
    std::vector<Index> at;  // of the program's axes
  };
  Target target(uint32_t result, const Coordinates& at, bool inout = false);
  void store(uint32_t result, const Coordinates& at, ValueId value);

  // What is made inside a loop is not known after it.
  std::vector<ValueId> begin_loop(AxisId axis, std::vector<tile::Carry> carries = {});
  std::vector<ValueId> end_loop(std::vector<ValueId> yields = {});

  // Coordinates of an element under shape `wanted`, given those under `known`, which has the same
  // elements in row-major order.
  Coordinates across_reshape(const Shape& wanted, const Shape& known, const Coordinates& at);
  // True if the tile depends on the coordinate along an axis of the program.
  bool depends(ValueId value, AxisId axis) const;
  // The same tile with these axes among its own: reductions and dots count coordinates.
  ValueId with_axes(ValueId value, const std::vector<AxisId>& axes);
  // Over those of the axes that are no scalar coordinates.
  ValueId reduce_over(tile::Reduce reduction, ValueId value, const std::vector<AxisId>& axes);
  Index real(const Index& index) { return space_.real(b_.program(), index); }

  Traced finish();

 private:
  ValueId emit(const Request& request);
  ValueId emit_elementwise(const Node& node, const Request& request);
  ValueId emit_input(uint32_t operand, const Request& request);
  ValueId emit_constant(const Node& node, const Request& request);
  ValueId emit_random(const Node& node, const Request& request);
  ValueId coord(const Index& index, DType dtype);
  ValueId number(const Numbers& numbers, size_t i, DType dtype);
  // lower_trace_move.cc
  ValueId emit_view(const Node& node, const Request& request);
  ValueId emit_concat(const Node& node, const Request& request);
  ValueId emit_pad(const Node& node, const Request& request);
  ValueId emit_gather(const Node& node, const Request& request);
  ValueId emit_take_along(const Node& node, const Request& request);
  ValueId emit_dynamic_slice(const Node& node, const Request& request);
  // What requests are made of has to be the same value each time it is asked for.
  ValueId predicate(Op op, std::vector<ValueId> operands);
  ValueId compare(Op op, const Index& left, const Index& right);
  ValueId both(ValueId a, ValueId b);  // either may be kNone
  bool is_checked(Value in, size_t axis) const;
  // An index of `in` along an axis: at or beyond `limit`, or below 0, it is an error.
  Index checked(ValueId index, Value in, size_t axis, Dim limit, ValueId where);

  ValueId find(const Request& request) const;
  tile::BufferId buffer(const LoweredRegion::Bound& bound, tile::Buffer::Mode mode,
                        const std::string& name, DType dtype, const Access& access);

  const Region& region_;
  Space& space_;
  tile::Builder b_;
  struct Load {
    tile::BufferId buffer = tile::kNone;
    std::vector<Index> at;
    ValueId where = tile::kNone;
    friend auto operator<=>(const Load&, const Load&) = default;
  };
  struct Known {
    std::map<Request, ValueId> values;
    std::map<std::pair<Op, std::vector<ValueId>>, ValueId> predicates;
    std::map<std::pair<Index, DType>, ValueId> coords;
    std::map<std::pair<ValueId, Dim>, ValueId> checked;
    std::map<Load, ValueId> loads;
  };
  std::vector<Known> known_;  // per open block
  std::map<Value, ValueId> given_;
  std::vector<Request> missing_;
  std::map<uint32_t, uint32_t> operand_of_;  // body node of an input -> operand
  std::vector<LoweredRegion::Bound> buffers_;
};

// Index `at` of a value of shape `shape` as the index of an operand that broadcasts to it.
Coordinates broadcast_from(const Shape& operand, const Shape& shape, const Coordinates& at);
// The number of an element in row-major order.
Index element_number(const Shape& shape, const Coordinates& at);

// Traces a program until its space is refined. `trace` does all but finish.
Traced trace_program(const Region& region, const std::string& name,
                     const std::function<void(Tracer&)>& trace);

}  // namespace weft::lowering
