// A product of two small matrices in f16, added to zeros in f32. AS_LOOPS: by one invocation.
// SPDX-License-Identifier: Apache-2.0
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(constant_id = 0) const int matrix_a_rows = 16;
layout(constant_id = 1) const int matrix_a_columns = 16;
layout(constant_id = 2) const int matrix_b_rows = 16;
layout(constant_id = 3) const int matrix_b_columns = 16;
layout(constant_id = 4) const int matrix_c_rows = 16;
layout(constant_id = 5) const int matrix_c_columns = 16;
shared float16_t left[1024];   // column by column
shared float16_t right[1024];  // row by row
shared float sums[1024];

void multiply() {
#ifdef AS_LOOPS
  if (at() != 0) return;
  for (int i = 0; i < matrix_c_rows * matrix_c_columns; ++i) {
    sums[i] = 0;
    for (int t = 0; t < matrix_a_columns; ++t) {
      sums[i] += float(left[t * matrix_a_rows + i / matrix_c_columns]) *
                 float(right[t * matrix_b_columns + i % matrix_c_columns]);
    }
  }
#else
  if (gl_SubgroupID != 0) return;
  fcoopmatNV<16, gl_ScopeSubgroup, matrix_a_rows, matrix_a_columns> a;
  fcoopmatNV<16, gl_ScopeSubgroup, matrix_b_rows, matrix_b_columns> b;
  fcoopmatNV<32, gl_ScopeSubgroup, matrix_c_rows, matrix_c_columns> c =
      fcoopmatNV<32, gl_ScopeSubgroup, matrix_c_rows, matrix_c_columns>(0.0);
  coopMatLoadNV(a, left, 0, matrix_a_rows, true);
  coopMatLoadNV(b, right, 0, matrix_b_columns, false);
  c = coopMatMulAddNV(a, b, c);
  coopMatStoreNV(c, sums, 0, matrix_c_columns, false);
#endif
}

void main() {
  int own = int(at());
  for (int i = own; i < matrix_a_rows * matrix_a_columns; i += 64) left[i] = float16_t(i % 7);
  for (int i = own; i < matrix_b_rows * matrix_b_columns; i += 64) right[i] = float16_t(i % 5);
  barrier();
  multiply();
  barrier();
  float sum = x[x_at + own];
  for (int i = own; i < matrix_c_rows * matrix_c_columns; i += 64) sum += sums[i];
  y[y_at + own] = sum;
  who[who_at + own] = own == 0 ? matrix_c_rows : own == 1 ? matrix_c_columns : matrix_a_columns;
}
