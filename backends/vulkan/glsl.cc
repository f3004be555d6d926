// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/glsl.h"

#include <algorithm>

#include "backends/vulkan/glsl_functions.h"
#include "backends/vulkan/glsl_matrices.h"
#include "ir/tile/text.h"

namespace weft::vulkan {
namespace {

using simt::Lowered;

class Printer {
 public:
  Printer(const tile::Program& program, const Lowered& lowered, const GlslForm& form)
      : p_(program), l_(lowered), form_(form) {}

  std::string run() {
    head();
    numbers();
    for (size_t i = 0; i < l_.bindings.size(); ++i) bind(l_.bindings[i], i);
    failure();
    if (l_.uses_exchange) {
      add("shared uint exchange[" + std::to_string(l_.layout.invocations()) + "];");
    }
    for (const auto& [name, array] : l_.shared) {
      add("shared " + array.type + " " + name + "[" + std::to_string(array.size) + "];");
    }
    if (l_.layout.fragments) text_ += matrix_words(l_.layout.fragments, l_.layout.lanes);
    std::string functions = accesses_;
    const std::string math = math_functions(l_.body + accesses_);
    text_ += math + functions;
    main();
    return std::move(text_);
  }

 private:
  void add(const std::string& line) { text_ += line + "\n"; }

  bool has(Binding::View view, int bytes) const {
    return std::ranges::any_of(l_.bindings, [&](const Binding& b) {
      return b.view == view && byte_size(b.dtype) == bytes && !form_.small.in_words(b);
    });
  }

  void head() {
    add("#version 450");
    add("// " + p_.name);
    for (const std::string& origin : p_.origin) add("// of " + origin);
    for (const std::string& axis : simt::describe(p_, l_.layout)) add("// " + axis);
    std::string tile = tile::print(p_);
    for (size_t at = 0; at < tile.size();) {
      const size_t end = std::min(tile.find('\n', at), tile.size());
      add("//   " + tile.substr(at, end - at));
      at = end + 1;
    }
    if (l_.layout.fragments) text_ += matrix_extensions(l_.layout.fragments);
    if (l_.uses_shuffle) {
      add("#extension GL_KHR_shader_subgroup_basic : require");
      add("#extension GL_KHR_shader_subgroup_shuffle : require");
    }
    if (l_.uses_int64) add("#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require");
    if (has(Binding::storage, 1)) add("#extension GL_EXT_shader_8bit_storage : require");
    if (has(Binding::storage, 2)) add("#extension GL_EXT_shader_16bit_storage : require");
    if (has(Binding::storage, 1) || has(Binding::storage, 2)) {
      add("#extension GL_EXT_shader_explicit_arithmetic_types : require");
    }
    add("layout(local_size_x = " + std::to_string(l_.layout.invocations()) + ") in;");
  }

  void numbers() {
    if (form_.numbers_in_buffer) {
      add("layout(std140, set = 0, binding = " + std::to_string(l_.bindings.size()) +
          ") uniform Numbers {");
    } else {
      add("layout(push_constant) uniform Numbers {");
    }
    add("  uint programs;");
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      add("  uint o" + std::to_string(i) + ";  // where %" + p_.buffers[i].name + " begins");
    }
    for (size_t i = 0; i < l_.args.size(); ++i) {
      add("  uint a" + std::to_string(i) + ";  // " + l_.args[i].str());
    }
    add("} num;");
  }

  void bind(const Binding& binding, size_t number) {
    const AccessText text =
        access_text(simt::binding_name(p_, binding), binding, number, form_.small);
    add(text.declaration);
    accesses_ += text.functions;
  }

  void failure() {
    if (l_.checks.empty()) return;
    const size_t slot = l_.bindings.size() + (form_.numbers_in_buffer ? 1 : 0);
    add("layout(std430, set = 0, binding = " + std::to_string(slot) +
        ") buffer Failure { uint first; } failure;");
    add("void weft_fail(int check) { atomicMin(failure.first, uint(check)); }");
  }

  void main() {
    add("void main() {");
    add("  int program = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);");
    add("  if (program >= int(num.programs)) return;");
    const std::string lanes = std::to_string(l_.layout.lanes);
    if (l_.relies_on_subgroups()) {
      add("  int lane = int(gl_SubgroupInvocationID);");
      add("  int wave = int(gl_SubgroupID);");
      add("  int place = wave * " + lanes + " + lane;");
    } else {
      add("  int place = int(gl_LocalInvocationIndex);");
      add("  int lane = place % " + lanes + ";");
      add("  int wave = place / " + lanes + ";");
    }
    text_ += l_.body;
    add("}");
  }

  const tile::Program& p_;
  const Lowered& l_;
  GlslForm form_;
  std::string text_;
  std::string accesses_;
};

}  // namespace

std::string print_glsl(const tile::Program& program, const Lowered& lowered, const GlslForm& form) {
  return Printer(program, lowered, form).run();
}

std::string math_functions(const std::string& body) {
  std::string needed = body;
  std::vector<std::string> texts;
  std::vector<Function> functions = elementary_functions();
  for (Function& function : number_functions()) functions.push_back(std::move(function));
  // Later ones are needed by earlier ones, so that the order is turned round in the end.
  for (const Function& function : functions) {
    if (needed.find(function.name) == std::string::npos) continue;
    std::string text = function.text;
    const std::string name = function.name.substr(0, function.name.size() - 1);
    auto call = [&](const char* part) {
      return name + "(x." + part + (function.four == 2 ? ", y." + std::string(part) : "") + ")";
    };
    if (function.four > 0) {
      text += "vec4 " + name + "(vec4 x" + (function.four == 2 ? ", vec4 y" : "") +
              ") {\n  return vec4(" + call("x") + ", " + call("y") + ", " + call("z") + ", " +
              call("w") + ");\n}\n";
    }
    bool known = false;
    for (const std::string& other : texts) known |= other == text;
    if (known) continue;
    needed += text;
    texts.push_back(std::move(text));
  }
  std::string result;
  for (size_t i = texts.size(); i-- > 0;) result += texts[i];
  return result;
}

}  // namespace weft::vulkan
