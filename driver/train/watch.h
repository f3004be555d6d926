// What is looked at besides the loss: norms of gradients and sizes of updates, layer by layer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/train/device.h"

namespace weft::train {

// Parameters that belong together: a sub-layer ("encoder.0.attn"), a table ("embedding").
struct Layer {
  std::string name;
  std::vector<std::string> parameters;
};

// Of all parameters, in the order of the module.
std::vector<Layer> layers_of(const std::vector<Storage>& storage);

// How far an update moved each layer, relative to the size that it had.
class UpdateRatios {
 public:
  UpdateRatios(std::vector<Layer> layers, const std::vector<Storage>& storage);

  const std::vector<Layer>& layers() const { return layers_; }
  // Remembers all parameters. The first call allocates the memory for that.
  Status before(TrainDevice& device);
  // One number per layer, since `before`.
  Result<std::vector<double>> after(TrainDevice& device);

 private:
  std::vector<Layer> layers_;
  std::map<std::string, DType> dtypes_;
  std::map<std::string, std::vector<std::byte>> old_;
};

// Notices a gradient norm of more than ten times what was usual.
class JumpWatch {
 public:
  // True if `norm` is a jump; a norm that is not finite neither is one nor changes what is usual.
  bool is_jump(double norm);
  double usual() const { return usual_; }

 private:
  static constexpr int kLearning = 20;  // norms before it speaks
  double usual_ = 0;                    // a mean in which old norms fade
  int seen_ = 0;
};

}  // namespace weft::train
