// glslang 12 knows GL_NV_cooperative_matrix alone. The sizes are specialisation constants of which
// runtime/vulkan/khr_matrices.h knows the numbers: they tell which side of a product a type is for.
// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/glsl_matrices.h"

namespace weft::vulkan {
namespace {

constexpr const char* kUnit = R"(
#define MATRIX_TYPE_C fcoopmatNV<32, gl_ScopeSubgroup, matrix_c_rows, matrix_c_columns>
#define MATRIX_A(name) fcoopmatNV<16, gl_ScopeSubgroup, matrix_a_rows, matrix_a_columns> name
#define MATRIX_B(name) fcoopmatNV<16, gl_ScopeSubgroup, matrix_b_rows, matrix_b_columns> name
#define MATRIX_C(name) MATRIX_TYPE_C name = MATRIX_TYPE_C(0.0)
#define MATRIX_LOAD_A(name, tile, first, stride) coopMatLoadNV(name, tile, first, stride, true)
#define MATRIX_LOAD_B(name, tile, first, stride) coopMatLoadNV(name, tile, first, stride, false)
#define MATRIX_MUL_ADD(c, a, b) c = coopMatMulAddNV(a, b, c)
#define MATRIX_STORE_C(name, tile, first, stride) coopMatStoreNV(name, tile, first, stride, false)
)";

// Every invocation has all of a and b, and some elements of c.
constexpr const char* kLoops = R"(
#define MATRIX_A(name) float name[MATRIX_M * MATRIX_K]
#define MATRIX_B(name) float name[MATRIX_K * MATRIX_N]
#define MATRIX_C(name) float name[MATRIX_OWN]; for (int e = 0; e < MATRIX_OWN; ++e) name[e] = 0.0
#define MATRIX_LOAD_A(name, tile, first, stride) \
  for (int e = 0; e < MATRIX_M * MATRIX_K; ++e) \
    name[e] = float(tile[(first) + e % MATRIX_M + e / MATRIX_M * (stride)])
#define MATRIX_LOAD_B(name, tile, first, stride) \
  for (int e = 0; e < MATRIX_K * MATRIX_N; ++e) \
    name[e] = float(tile[(first) + e % MATRIX_N + e / MATRIX_N * (stride)])
#define MATRIX_MUL_ADD(c, a, b) \
  for (int e = 0; e < MATRIX_OWN; ++e) \
    for (int t = 0; t < MATRIX_K; ++t) \
      c[e] += a[t * MATRIX_M + MATRIX_AT(e) / MATRIX_N] * b[t * MATRIX_N + MATRIX_AT(e) % MATRIX_N]
#define MATRIX_STORE_C(name, tile, first, stride) \
  for (int e = 0; e < MATRIX_OWN; ++e) \
    tile[(first) + MATRIX_AT(e) / MATRIX_N * (stride) + MATRIX_AT(e) % MATRIX_N] = name[e]
)";

std::string constant(int number, const char* name, int64_t value) {
  return "layout(constant_id = " + std::to_string(number) + ") const int " + name + " = " +
         std::to_string(value) + ";\n";
}

}  // namespace

std::string matrix_extensions(const simt::Fragments& fragments) {
  std::string text = "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n";
  if (fragments.as_loops) return text;
  return text +
         "#extension GL_KHR_shader_subgroup_basic : require\n"
         "#extension GL_KHR_memory_scope_semantics : require\n"
         "#extension GL_NV_cooperative_matrix : require\n"
         "#pragma use_vulkan_memory_model\n";
}

std::string matrix_words(const simt::Fragments& fragments, int64_t lanes) {
  const simt::MatrixShape& shape = fragments.shape;
  if (!fragments.as_loops) {
    return constant(0, "matrix_a_rows", shape.m) + constant(1, "matrix_a_columns", shape.k) +
           constant(2, "matrix_b_rows", shape.k) + constant(3, "matrix_b_columns", shape.n) +
           constant(4, "matrix_c_rows", shape.m) + constant(5, "matrix_c_columns", shape.n) +
           (kUnit + 1);
  }
  auto define = [](const char* name, int64_t value) {
    return "#define MATRIX_" + std::string(name) + " " + std::to_string(value) + "\n";
  };
  return define("M", shape.m) + define("N", shape.n) + define("K", shape.k) +
         define("OWN", shape.m * shape.n / lanes) + "#define MATRIX_AT(e) (lane + (e) * " +
         std::to_string(lanes) + ")\n" + (kLoops + 1);
}

}  // namespace weft::vulkan
