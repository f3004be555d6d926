// StepBuilder: each node of the graph for all positions, once more for one position at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/graph/attention.h"
#include "passes/decode_build.h"

namespace weft::decoding {

using Values = std::vector<Value>;

class StepBuilder {
 public:
  StepBuilder(Derivation& d, const DecodeRequest& request)
      : d_(d),
        from_(d.graph),
        request_(request),
        out_(kDecode),
        b_(d.made.module, out_),
        one_position_{{d.names.sentences, d.names.rows()}, {d.names.length, 1}},
        mapped_(d.graph.nodes().size()) {}

  Status build();

 private:
  // decode_step.cc
  static Error refuse(const Node& node, const std::string& why);
  void put_outputs();
  std::string unused_name(const std::string& wanted) const;
  std::string name_for(const std::string& prefix, const Node& user, const std::string& part);
  Result<Value> remembered(Value value, const Node& user, const std::string& part);
  Result<Value> for_rows(Value value, const Node& user);
  Result<Value> operand(Value value, const Node& user);
  Value cached(Value value, size_t axis, const Node& user, const std::string& part);
  Result<Values> step(const Node& node);
  Values copied(const Node& node, Values operands);
  Result<Values> counted(const Node& node);
  Result<Values> sliced(const Node& node);

  // decode_attention.cc
  Result<Values> attend(const Node& node);
  Result<Values> attend_to_earlier(const Node& node);
  Values attention_without_window(const Node& node, Values operands);
  Result<std::optional<Value>> mask_of_earlier(const Node& node, const AttentionExtras& extras);
  Result<Value> length_of_earlier(const Node& node, const AttentionExtras& extras);
  Result<Values> attend_to_source(const Node& node);
  Shape row_shape(Value q, size_t drop) const;
  Value beams_as_queries(Value q);
  Value queries_as_beams(Value out);
  Value lse_as_beams(Value lse);
  Value beams_to_front(Value value, size_t axis);
  Value source_weights(const Node& node, const Values& operands);

  // decode_pairs.cc
  struct PairAxes {
    std::optional<size_t> row = std::nullopt;  // queries
    std::optional<size_t> column = std::nullopt;
  };
  bool is_of_pairs(uint32_t node) const;
  Result<Value> of_pairs(Value value, const Node& user);
  Result<Value> pairs(Value value, PairAxes axes, const Node& user);
  Result<Value> counted_pairs(const Node& node, const PairAxes& axes);
  Result<Value> mapped_pairs(const Node& node, const PairAxes& axes, const Node& user);

  Derivation& d_;
  const Graph& from_;
  const DecodeRequest& request_;
  Graph out_;
  Emitter b_;
  const std::map<std::string, Dim> one_position_;
  std::vector<Values> mapped_;
  Value position_;
  std::map<std::string, Value> cache_values_;
  Values attended_;
};

}  // namespace weft::decoding
