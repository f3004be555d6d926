// The C interface of Weft's runtime: load a compiled executable (.weftx), bind sizes, run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// A function that can fail returns a status, or a pointer that is then null; weft_last_error tells
// why. None ends the process. A context belongs to one thread at a time, as do its bindings;
// executables may be shared. Whoever gets a handle frees it; a context may outlive its executable
// and its bindings. Freeing null does nothing.
//
// Loading and running an executable runs the code in it: take them only from where you would take a
// program.

typedef enum weft_status {
  WEFT_OK = 0,
  WEFT_FAILED = 1,    // the caller's or the file's fault
  WEFT_INTERNAL = 3,  // a fault in Weft; the handle should not be used any more
} weft_status;

typedef enum weft_dtype {
  WEFT_F64,
  WEFT_F32,
  WEFT_F16,
  WEFT_BF16,
  WEFT_I8,
  WEFT_U8,
  WEFT_I32,
  WEFT_U32,
  WEFT_I64,
  WEFT_BOOL,  // a byte, 0 or 1
} weft_dtype;

enum { WEFT_MAX_RANK = 8 };

typedef struct weft_executable weft_executable;
typedef struct weft_context weft_context;
typedef struct weft_binding weft_binding;

typedef struct weft_options {
  int threads;    // 0 = all cores; results do not depend on it
  uint64_t seed;  // of the initial values of parameters and state
} weft_options;

typedef struct weft_dim {  // {"B", 8}
  const char* name;
  int64_t size;
} weft_dim;

typedef struct weft_tensor {
  const char* name;  // lives as long as what it was asked of
  weft_dtype dtype;
  int rank;
  int64_t shape[WEFT_MAX_RANK];
  size_t bytes;
} weft_tensor;

// Memory of the caller: elements in row-major order, aligned to their size.
typedef struct weft_input {
  const void* data;
  size_t bytes;
} weft_input;
typedef struct weft_output {
  void* data;
  size_t bytes;
} weft_output;

const char* weft_version(void);
// What the last call on this thread that failed has to say; valid until the next one fails.
const char* weft_last_error(void);

weft_executable* weft_executable_load(const char* path);
void weft_executable_free(weft_executable* executable);
size_t weft_executable_graph_count(const weft_executable* executable);
const char* weft_executable_graph_name(const weft_executable* executable, size_t index);
size_t weft_executable_storage_count(const weft_executable* executable);
const char* weft_executable_storage_name(const weft_executable* executable, size_t index);

weft_context* weft_context_create(const weft_executable* executable,
                                  const weft_options* options);  // null: defaults
void weft_context_free(weft_context* context);

// Sizes for a graph (null: the only one). The same sizes again cost microseconds.
weft_binding* weft_context_bind(weft_context* context, const char* graph, const weft_dim* dims,
                                size_t dim_count);
void weft_binding_free(weft_binding* binding);
size_t weft_binding_input_count(const weft_binding* binding);
size_t weft_binding_output_count(const weft_binding* binding);
weft_status weft_binding_input(const weft_binding* binding, size_t index, weft_tensor* tensor);
weft_status weft_binding_output(const weft_binding* binding, size_t index, weft_tensor* tensor);

// Inputs and outputs in the order in which the binding names them. An output shares its memory with
// nothing else. After a failure outputs and updated state are unspecified.
weft_status weft_context_run(weft_context* context, const weft_binding* binding,
                             const weft_input* inputs, size_t input_count,
                             const weft_output* outputs, size_t output_count);

// Parameters and state. Those that nobody sets begin with their initial values.
weft_status weft_context_storage(weft_context* context, const char* name, weft_tensor* tensor);
weft_status weft_context_set_storage(weft_context* context, const char* name, const void* data,
                                     size_t bytes);
weft_status weft_context_get_storage(weft_context* context, const char* name, void* data,
                                     size_t bytes);

#ifdef __cplusplus
}
#endif
