// Which form kernels for a Vulkan device take, for `weft explain`.
// SPDX-License-Identifier: Apache-2.0
#include "driver/explain.h"
#ifdef WEFT_HAS_VULKAN
#include "backends/vulkan/compile.h"
#include "driver/vulkan_devices.h"
#include "runtime/vulkan/open.h"
#endif

namespace weft {

Result<KernelForms> kernel_forms([[maybe_unused]] const PlannedModule& planned,
                                 [[maybe_unused]] const CompileRequest& request) {
  KernelForms forms;
#ifdef WEFT_HAS_VULKAN
  if (!is_vulkan(request.device)) return forms;
  WEFT_TRY(OpenVulkan opened, open_vulkan_device(request.device));
  const VulkanFacts& device = facts_of(*opened.device);
  forms.all = device.name + ": " + kernels_text(device, request.form);
  const vulkan::Target target = vulkan::target_of(device, request.form);
  const vulkan::ProgramFacts facts =
      vulkan::program_facts(planned.plan, planned.module.storage, request.sizes);
  for (size_t i = 0; i < planned.plan.programs.size(); ++i) {
    WEFT_TRY(std::string exception,
             vulkan::exception_of(planned.plan.programs[i], facts[i], target));
    forms.exceptions.push_back(std::move(exception));
  }
#endif
  return forms;
}

}  // namespace weft
