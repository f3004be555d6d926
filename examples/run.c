// Loads a compiled model and runs it at B = 4 on inputs of ones: run MODEL.weftx
// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "runtime/weft.h"

enum { MAX = 16 };

static int failed(void) { return fputs(weft_last_error(), stderr), 1; }

int main(int argc, char** argv) {
  weft_executable* executable = weft_executable_load(argc > 1 ? argv[1] : "model.weftx");
  weft_context* context = executable ? weft_context_create(executable, NULL) : NULL;
  weft_dim dims[] = {{"B", 4}};
  weft_binding* binding = context ? weft_context_bind(context, NULL, dims, 1) : NULL;
  if (!binding) return failed();
  weft_tensor tensor;
  weft_input inputs[MAX];
  weft_output outputs[MAX];
  size_t in = 0, out = 0;
  for (; in < MAX && weft_binding_input(binding, in, &tensor) == WEFT_OK; ++in) {
    float* data = malloc(tensor.bytes);
    for (size_t i = 0; i < tensor.bytes / sizeof(float); ++i) data[i] = 1;
    inputs[in] = (weft_input){data, tensor.bytes};
  }
  for (; out < MAX && weft_binding_output(binding, out, &tensor) == WEFT_OK; ++out) {
    outputs[out] = (weft_output){malloc(tensor.bytes), tensor.bytes};
  }
  if (weft_context_run(context, binding, inputs, in, outputs, out) != WEFT_OK) return failed();
  for (size_t i = 0; weft_binding_output(binding, i, &tensor) == WEFT_OK; ++i) {
    printf("%s begins with %g\n", tensor.name, *(const float*)outputs[i].data);
  }
  while (in > 0) free((void*)inputs[--in].data);
  while (out > 0) free(outputs[--out].data);
  weft_binding_free(binding);
  weft_context_free(context);
  weft_executable_free(executable);
  return 0;
}
