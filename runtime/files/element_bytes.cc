// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/element_bytes.h"

#include <bit>
#include <cstring>

#include "ir/support/check.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold what memory holds");

// to[i] = decode(the i-th Stored of bytes)
template <class Stored, class To, class Decode>
void read_all(std::string_view bytes, std::vector<To>& to, Decode decode) {
  for (size_t i = 0; i < to.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    to[i] = decode(stored);
  }
}

template <class Stored>
void read_integers(std::string_view bytes, Tensor& to) {
  read_all<Stored>(bytes, to.integers, [](Stored x) { return static_cast<int64_t>(x); });
}

template <class From, class Encode>
void append_all(const std::vector<From>& from, std::string& out, Encode encode) {
  using Stored = decltype(encode(From{}));
  size_t at = out.size();
  out.resize(at + from.size() * sizeof(Stored));
  for (From x : from) {
    Stored stored = encode(x);
    std::memcpy(out.data() + at, &stored, sizeof(Stored));
    at += sizeof(Stored);
  }
}

template <class Stored>
void append_integers(const Tensor& tensor, std::string& out) {
  append_all(tensor.integers, out, [](int64_t x) { return static_cast<Stored>(x); });
}

}  // namespace

Tensor tensor_from_bytes(DType dtype, std::vector<int64_t> shape, std::string_view bytes) {
  WEFT_CHECK(bytes.size() == static_cast<size_t>(element_count(shape) * byte_size(dtype)),
             "the bytes of a tensor were counted");
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  switch (dtype) {
    case DType::f64: read_all<double>(bytes, tensor.reals, [](double x) { return x; }); break;
    case DType::f32: read_all<float>(bytes, tensor.reals, [](float x) { return double{x}; }); break;
    case DType::f16: read_all<uint16_t>(bytes, tensor.reals, from_f16_bits); break;
    case DType::bf16: read_all<uint16_t>(bytes, tensor.reals, from_bf16_bits); break;
    case DType::i8: read_integers<int8_t>(bytes, tensor); break;
    case DType::u8: read_integers<uint8_t>(bytes, tensor); break;
    case DType::i32: read_integers<int32_t>(bytes, tensor); break;
    case DType::u32: read_integers<uint32_t>(bytes, tensor); break;
    case DType::i64: read_integers<int64_t>(bytes, tensor); break;
    case DType::boolean:
      read_all<uint8_t>(bytes, tensor.integers, [](uint8_t x) { return int64_t{x != 0}; });
      break;
  }
  return tensor;
}

void append_bytes(const Tensor& tensor, DType stored, std::string& out) {
  WEFT_CHECK(is_float(stored) == tensor.real(), "floats are stored as floats");
  switch (stored) {
    case DType::f64: append_all(tensor.reals, out, [](double x) { return x; }); break;
    case DType::f32:
      append_all(tensor.reals, out,
                 [&](double x) { return static_cast<float>(round_to(tensor.dtype, x)); });
      break;
    case DType::f16: append_all(tensor.reals, out, to_f16_bits); break;
    case DType::bf16: append_all(tensor.reals, out, to_bf16_bits); break;
    case DType::i8: append_integers<int8_t>(tensor, out); break;
    case DType::u8: append_integers<uint8_t>(tensor, out); break;
    case DType::i32: append_integers<int32_t>(tensor, out); break;
    case DType::u32: append_integers<uint32_t>(tensor, out); break;
    case DType::i64: append_integers<int64_t>(tensor, out); break;
    case DType::boolean:
      append_all(tensor.integers, out, [](int64_t x) { return static_cast<uint8_t>(x != 0); });
      break;
  }
}

}  // namespace weft
