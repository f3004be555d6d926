// SPDX-License-Identifier: Apache-2.0
#include "driver/differentiate.h"

#include <iterator>

namespace weft {
namespace {

void take_new_parts(Module& module, const Module& differentiated) {
  StorageLookup known(module);
  std::vector<Storage> fresh;
  for (const Storage& item : differentiated.storage) {
    if (known.find(item.name) == nullptr) fresh.push_back(item);
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(module.storage));
  for (const Graph& graph : differentiated.graphs) {
    if (module.find_graph(graph.name()) == nullptr) module.graphs.push_back(graph);
  }
}

}  // namespace

Result<std::vector<PassRecord>> differentiate(Module& module, const GradRequest& request,
                                              PipelineOptions pipeline) {
  pipeline.pass.grad = request;
  pipeline.stop_after = "autodiff";
  Module differentiated = module;
  WEFT_TRY(std::vector<PassRecord> passes, run_pipeline(differentiated, pipeline));
  take_new_parts(module, differentiated);
  return passes;
}

}  // namespace weft
