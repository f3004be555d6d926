// The C interface: handles around LoadedExecutable, Context and BoundGraph; nothing is thrown out
// of it, and a failed check does not end the process.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>

#include "ir/oracle/tensor.h"
#include "runtime/context.h"
#include "runtime/executable_file.h"
#include "runtime/weft.h"

struct weft_executable {
  weft::LoadedPtr loaded;
};
struct weft_context {
  weft::Context context;
};
struct weft_binding {
  weft::BoundPtr bound;
};

namespace weft {
namespace {

static_assert(static_cast<int>(DType::f64) == WEFT_F64 &&
              static_cast<int>(DType::bf16) == WEFT_BF16 &&
              static_cast<int>(DType::i8) == WEFT_I8 && static_cast<int>(DType::i64) == WEFT_I64 &&
              static_cast<int>(DType::boolean) == WEFT_BOOL && kDTypeCount == WEFT_BOOL + 1);
static_assert(kMaxRank == WEFT_MAX_RANK);

thread_local std::string last_error;
thread_local bool inside_call = false;

// The only exception of ours, since a check cannot return: it never leaves this file.
struct CheckFailed {
  std::string message;
};

std::atomic<CheckHandler> other_handler{nullptr};  // for checks outside of these functions

void on_check(std::string_view message) {
  if (inside_call) throw CheckFailed{std::string(message)};
  other_handler.load()(message);
}

weft_status fail(const std::string& message, weft_status status = WEFT_FAILED) {
  last_error = message;
  return status;
}

// Calls fn() -> Status, and makes whatever happens in it a status.
template <class Fn>
weft_status guarded(Fn fn) {
  if (CheckHandler before = set_check_handler(on_check); before != on_check) other_handler = before;
  inside_call = true;
  weft_status status = WEFT_OK;
  try {
    Status result = fn();
    if (!result.ok()) status = fail(render(result.diagnostics()));
  } catch (const CheckFailed& failed) {
    status = fail("error: internal: " + failed.message + "\n", WEFT_INTERNAL);
  } catch (const std::bad_alloc&) {
    status = fail("error: the host is out of memory\nhint: bind smaller sizes, for example B=1\n");
  } catch (const std::exception& e) {
    status = fail(std::string("error: internal: ") + e.what() + "\n", WEFT_INTERNAL);
  }
  inside_call = false;
  return status;
}

Status check_given(bool given, const char* what) {
  return given ? ok() : Status(error({}, what, " is null"));
}

void tell(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
          weft_tensor& into) {
  into.name = name.c_str();
  into.dtype = static_cast<weft_dtype>(dtype);
  into.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), into.shape);
  into.bytes = static_cast<size_t>(element_count(shape) * byte_size(dtype));
}

Status tell(const std::vector<BoundTensor>& tensors, size_t index, weft_tensor* into) {
  WEFT_TRY_STATUS(check_given(into != nullptr, "tensor"));
  if (index >= tensors.size()) return error({}, "tensor ", index, " of ", tensors.size());
  tell(tensors[index].name, tensors[index].dtype, tensors[index].shape, *into);
  return ok();
}

Status check_named(const weft_context* context, const char* name) {
  WEFT_TRY_STATUS(check_given(context != nullptr, "context"));
  return check_given(name != nullptr, "name");
}

}  // namespace
}  // namespace weft

using weft::check_given;
using weft::guarded;
using weft::Status;

const char* weft_version(void) { return weft::build_version().data(); }
const char* weft_last_error(void) { return weft::last_error.c_str(); }

weft_executable* weft_executable_load(const char* path) {
  weft_executable* made = nullptr;
  guarded([&]() -> Status {
    WEFT_TRY_STATUS(check_given(path != nullptr, "path"));
    WEFT_TRY(weft::LoadedPtr loaded, weft::load_executable(path));
    made = new weft_executable{std::move(loaded)};
    return weft::ok();
  });
  return made;
}

void weft_executable_free(weft_executable* executable) { delete executable; }

size_t weft_executable_graph_count(const weft_executable* executable) {
  return executable == nullptr ? 0 : executable->loaded->executable().graphs.size();
}

const char* weft_executable_graph_name(const weft_executable* executable, size_t index) {
  if (index >= weft_executable_graph_count(executable)) return nullptr;
  return executable->loaded->executable().graphs[index].graph.c_str();
}

size_t weft_executable_storage_count(const weft_executable* executable) {
  return executable == nullptr ? 0 : executable->loaded->executable().storage.size();
}

const char* weft_executable_storage_name(const weft_executable* executable, size_t index) {
  if (index >= weft_executable_storage_count(executable)) return nullptr;
  return executable->loaded->executable().storage[index].name.c_str();
}

weft_context* weft_context_create(const weft_executable* executable, const weft_options* options) {
  weft_context* made = nullptr;
  guarded([&]() -> Status {
    WEFT_TRY_STATUS(check_given(executable != nullptr, "executable"));
    weft::ContextOptions chosen;
    if (options != nullptr) {
      chosen.threads = options->threads;
      chosen.seed = options->seed;
    }
    WEFT_TRY(weft::Context context, weft::Context::create(executable->loaded, std::move(chosen)));
    made = new weft_context{std::move(context)};
    return weft::ok();
  });
  return made;
}

void weft_context_free(weft_context* context) { delete context; }

weft_binding* weft_context_bind(weft_context* context, const char* graph, const weft_dim* dims,
                                size_t dim_count) {
  weft_binding* made = nullptr;
  guarded([&]() -> Status {
    WEFT_TRY_STATUS(check_given(context != nullptr, "context"));
    WEFT_TRY_STATUS(check_given(dims != nullptr || dim_count == 0, "dims"));
    weft::DimBinding sizes;
    for (size_t i = 0; i < dim_count; ++i) {
      WEFT_TRY_STATUS(check_given(dims[i].name != nullptr, "a dim's name"));
      if (!sizes.emplace(dims[i].name, dims[i].size).second) {
        return weft::error({}, "dim ", dims[i].name, " is given twice");
      }
    }
    WEFT_TRY(weft::BoundPtr bound, context->context.bind(graph == nullptr ? "" : graph, sizes));
    made = new weft_binding{std::move(bound)};
    return weft::ok();
  });
  return made;
}

void weft_binding_free(weft_binding* binding) { delete binding; }

size_t weft_binding_input_count(const weft_binding* binding) {
  return binding == nullptr ? 0 : binding->bound->inputs.size();
}

size_t weft_binding_output_count(const weft_binding* binding) {
  return binding == nullptr ? 0 : binding->bound->outputs.size();
}

weft_status weft_binding_input(const weft_binding* binding, size_t index, weft_tensor* tensor) {
  return guarded([&]() -> Status {
    WEFT_TRY_STATUS(check_given(binding != nullptr, "binding"));
    return weft::tell(binding->bound->inputs, index, tensor);
  });
}

weft_status weft_binding_output(const weft_binding* binding, size_t index, weft_tensor* tensor) {
  return guarded([&]() -> Status {
    WEFT_TRY_STATUS(check_given(binding != nullptr, "binding"));
    return weft::tell(binding->bound->outputs, index, tensor);
  });
}

weft_status weft_context_run(weft_context* context, const weft_binding* binding,
                             const weft_input* inputs, size_t input_count,
                             const weft_output* outputs, size_t output_count) {
  return guarded([&]() -> Status {
    WEFT_TRY_STATUS(check_given(context != nullptr, "context"));
    WEFT_TRY_STATUS(check_given(binding != nullptr, "binding"));
    WEFT_TRY_STATUS(check_given(inputs != nullptr || input_count == 0, "inputs"));
    WEFT_TRY_STATUS(check_given(outputs != nullptr || output_count == 0, "outputs"));
    std::vector<weft::ConstBytes> in;
    for (size_t i = 0; i < input_count; ++i) in.push_back({inputs[i].data, inputs[i].bytes});
    std::vector<weft::MutableBytes> out;
    for (size_t i = 0; i < output_count; ++i) out.push_back({outputs[i].data, outputs[i].bytes});
    return context->context.run(binding->bound, in, out);
  });
}

weft_status weft_context_storage(weft_context* context, const char* name, weft_tensor* tensor) {
  return guarded([&]() -> Status {
    WEFT_TRY_STATUS(weft::check_named(context, name));
    WEFT_TRY_STATUS(check_given(tensor != nullptr, "tensor"));
    WEFT_TRY(std::vector<int64_t> shape, context->context.storage_shape(name));
    const weft::LoadedExecutable& loaded = context->context.loaded();
    const weft::Storage& storage = loaded.executable().storage[*loaded.find_storage(name)];
    weft::tell(storage.name, storage.type.dtype, shape, *tensor);
    return weft::ok();
  });
}

weft_status weft_context_set_storage(weft_context* context, const char* name, const void* data,
                                     size_t bytes) {
  return guarded([&]() -> Status {
    WEFT_TRY_STATUS(weft::check_named(context, name));
    WEFT_TRY_STATUS(check_given(data != nullptr || bytes == 0, "data"));
    return context->context.set_storage(name, {static_cast<const std::byte*>(data), bytes});
  });
}

weft_status weft_context_get_storage(weft_context* context, const char* name, void* data,
                                     size_t bytes) {
  return guarded([&]() -> Status {
    WEFT_TRY_STATUS(weft::check_named(context, name));
    WEFT_TRY_STATUS(check_given(data != nullptr || bytes == 0, "data"));
    WEFT_TRY(std::span<const std::byte> value, context->context.storage(name));
    if (value.size() != bytes) {
      return weft::error({}, "@", name, " has ", value.size(), " bytes, got room for ", bytes);
    }
    if (bytes > 0) std::memcpy(data, value.data(), bytes);
    return weft::ok();
  });
}
