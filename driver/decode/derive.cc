// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/derive.h"

#include "passes/pass.h"

namespace weft {

Result<DecodeGraphs> decode_graphs(Module module, const DecodeRequest& request) {
  const std::string wanted = request.graph;
  if (module.find_graph(wanted) == nullptr) {
    return error({}, "the model has no graph @", wanted)
        .hint(did_you_mean(wanted, module.graph_names()));
  }
  std::erase_if(module.graphs, [&](const Graph& graph) { return graph.name() != wanted; });
  PipelineOptions pipeline;
  pipeline.stop_after = "raise";
  WEFT_TRY(std::vector<PassRecord> passes, run_pipeline(module, pipeline));
  return derive_decode(module, request);
}

}  // namespace weft
