// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/spirv.h"

#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <mutex>
#include <spirv-tools/optimizer.hpp>

namespace weft::vulkan {
namespace {

TBuiltInResource limits() {
  TBuiltInResource resource = {};
  resource.maxComputeWorkGroupCountX = 65535;
  resource.maxComputeWorkGroupCountY = 65535;
  resource.maxComputeWorkGroupCountZ = 65535;
  resource.maxComputeWorkGroupSizeX = 1024;
  resource.maxComputeWorkGroupSizeY = 1024;
  resource.maxComputeWorkGroupSizeZ = 64;
  resource.maxComputeTextureImageUnits = 1024;
  resource.maxComputeImageUniforms = 1024;
  resource.maxImageUnits = 1024;
  resource.maxCombinedTextureImageUnits = 1024;
  resource.maxCombinedImageUniforms = 1024;
  resource.limits.nonInductiveForLoops = true;
  resource.limits.whileLoops = true;
  resource.limits.doWhileLoops = true;
  resource.limits.generalUniformIndexing = true;
  resource.limits.generalVariableIndexing = true;
  resource.limits.generalConstantMatrixVectorIndexing = true;
  return resource;
}

}  // namespace

Result<std::vector<uint32_t>> compile_glsl(const std::string& name, const std::string& text) {
  static std::once_flag started;
  std::call_once(started, [] { glslang::InitializeProcess(); });
  glslang::TShader shader(EShLangCompute);
  const char* source = text.c_str();
  shader.setStrings(&source, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 120);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_2);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_5);
  const TBuiltInResource resource = limits();
  const auto rules = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  if (!shader.parse(&resource, 450, false, rules)) {
    return error({}, "kernel @", name, " does not compile: ", shader.getInfoLog());
  }
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(rules)) {
    return error({}, "kernel @", name, " does not link: ", program.getInfoLog());
  }
  std::vector<uint32_t> words;
  glslang::SpvOptions options;
  options.disableOptimizer = true;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_2);
  optimizer.RegisterPerformancePasses();
  std::vector<uint32_t> optimised;
  if (!optimizer.Run(words.data(), words.size(), &optimised)) {
    return error({}, "kernel @", name, ": its SPIR-V is not valid");
  }
  return optimised;
}

}  // namespace weft::vulkan
