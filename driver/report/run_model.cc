// SPDX-License-Identifier: Apache-2.0
#include "driver/report/run_model.h"

#include "driver/train/checkpoint.h"
#include "driver/train/run_folder.h"

namespace weft::report {

Result<std::unique_ptr<RunModel>> open_run_model(const std::string& run,
                                                 const train::DeviceOptions& device) {
  auto model = std::make_unique<RunModel>();
  model->folder = run;
  model->device_options = device;
  WEFT_TRY(train::RunFolder folder, train::RunFolder::open(run));
  WEFT_TRY(model->options, folder.read_config());
  WEFT_TRY(model->weights, train::weights_of_run(run));
  WEFT_TRY(model->task, data::open_task(run));
  WEFT_TRY(model->module, train::build_plain(model->options));
  std::erase_if(model->module.graphs, [](const Graph& g) { return g.name() != "forward"; });
  WEFT_TRY(model->observer, train::add_observe(model->module, model->options));
  WEFT_TRY(model->observer.batch, train::batch_to_observe(*model->task));
  WEFT_TRY(model->device, train::open_device(model->module, device));
  WEFT_TRY_STATUS(train::load_parameters(model->weights, model->module.storage, *model->device));
  return model;
}

}  // namespace weft::report
