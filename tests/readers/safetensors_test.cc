// Safetensors files: round trips, and hostile ones refused with a reason.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/safetensors.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/support/file.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

std::string file_of(const std::string& json, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(uint64_t{json.size()} >> (8 * i));
  return bytes + json + data;
}

Result<TensorMap> read_bytes(const std::string& bytes) {
  return read_safetensors(write_scratch("bytes.safetensors", bytes));
}

std::string message(const std::string& json, const std::string& data = "") {
  Result<TensorMap> result = read_bytes(file_of(json, data));
  return result.ok() ? "no error" : result.diagnostics()[0].message;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TensorMap every_type() {
  TensorMap tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    auto dtype = static_cast<DType>(i);
    Tensor tensor = Tensor::zeros(dtype, {2, 2});
    for (int64_t k = 0; k < 4; ++k)
      tensor.set(k, dtype == DType::boolean ? k % 2 : 1.5 * double(k));
    tensors["t." + std::string(name(dtype))] = tensor;
  }
  tensors["empty"] = Tensor::zeros(DType::f32, {0, 3});
  tensors["scalar \"é\"\n"] = Tensor::scalar(DType::f64, 0.1);
  return tensors;
}

TEST(Safetensors, RoundTrip) {
  std::string path = scratch("all.safetensors");
  TensorMap tensors = every_type();
  ASSERT_TRUE(write_safetensors(path, tensors, {{"format", "weft"}}).ok());
  TensorMap back = read_safetensors(path).value();
  ASSERT_EQ(back.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(back.at(name).dtype, tensor.dtype) << name;
    EXPECT_EQ(back.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(back.at(name).reals, tensor.reals) << name;
    EXPECT_EQ(back.at(name).integers, tensor.integers) << name;
  }
  SafetensorsHeader header = read_safetensors_header(path).value();
  EXPECT_EQ(header.metadata.at("format"), "weft");
  EXPECT_EQ(header.data_start % 8, 0u);
  EXPECT_EQ(header.find("t.bf16")->dtype, DType::bf16);
  EXPECT_EQ(read_safetensors_tensor(path, "t.i8").value().integers, tensors.at("t.i8").integers);
}

TEST(Safetensors, EmptyMapAndRounding) {
  std::string path = scratch("small.safetensors");
  ASSERT_TRUE(write_safetensors(path, {}).ok());
  EXPECT_TRUE(read_safetensors(path).value().empty());
  ASSERT_TRUE(write_safetensors(path, {{"x", Tensor::scalar(DType::f32, 0.1)}}).ok());
  EXPECT_EQ(read_safetensors(path).value().at("x").reals[0], double{0.1f});
  Result<Tensor> absent = read_safetensors_tensor(path, "X1");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.diagnostics()[0].message, "no tensor 'X1'");
}

TEST(Safetensors, RefusesEntriesThatDoNotFit) {
  std::string f4(4, '\0');
  EXPECT_EQ(message("{" + entry("a", "F32", "[1]", "[0,4]") + "}", f4), "no error");
  EXPECT_EQ(message("{" + entry("a", "F8_E4M3", "[4]", "[0,4]") + "}", f4),
            "tensor 'a': element type 'F8_E4M3' is not supported");
  EXPECT_EQ(message("{" + entry("a", "F32", "[2]", "[0,4]") + "}", f4),
            "tensor 'a': data_offsets 0 to 4 do not hold the 8 bytes of its shape");
  EXPECT_EQ(message("{" + entry("a", "F32", "[1]", "[4,0]") + "}", f4),
            "tensor 'a': data_offsets 4 to 0 do not hold the 4 bytes of its shape");
  EXPECT_EQ(message("{" + entry("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}"),
            "tensor 'a': too many elements");
  EXPECT_EQ(message("{" + entry("a", "F32", "[-1]", "[0,4]") + "}", f4),
            "tensor 'a': shape holds -1, which is negative");
  EXPECT_EQ(message("{" + entry("a", "F32", "[1]", "[0,4]") + "}", ""),
            "the tensors take 4 bytes of data, the file has 0");
  EXPECT_EQ(
      message("{" + entry("a", "U8", "[3]", "[0,3]") + "," + entry("b", "U8", "[2]", "[2,4]") + "}",
              f4),
      "tensor 'b': data begins at 2, inside of another tensor that ends at 3");
  EXPECT_EQ(
      message("{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "U8", "[2]", "[2,4]") + "}",
              f4),
      "tensor 'b': data begins at 2, after a gap from 1");
}

TEST(Safetensors, RefusesOtherJson) {
  EXPECT_EQ(message("{"), "the header is not JSON at byte 9");
  EXPECT_EQ(message("[]"), "a list where the format has none");
  EXPECT_EQ(message("{\"a\": 1}"), "tensor 'a': a number where the format has none");
  EXPECT_EQ(message("{\"a\": {\"dtype\": \"F32\"}}"), "tensor 'a': shape is missing");
  EXPECT_EQ(message("{\"a\": {\"dtype\": \"F32\", \"dtype\": \"F32\"}}"),
            "tensor 'a': dtype is given twice");
  EXPECT_EQ(message("{\"__metadata__\": {\"k\": 1}}"),
            "tensor '__metadata__': a number where the format has none ('k')");
  std::string twice = entry("a", "F32", "[0]", "[0,0]");
  EXPECT_EQ(message("{" + twice + "," + twice + "}"), "tensor 'a': given twice");
  EXPECT_EQ(message(std::string(1 << 20, '[')), "a list where the format has none");
  EXPECT_EQ(message("{\"a\":" + std::string(1 << 20, '{')), "the header is not JSON at byte 14");
}

TEST(Safetensors, RefusesHeaderLengthsBeyondTheFile) {
  std::string bytes = file_of("{}", "");
  bytes[7] = '\x7f';
  Result<TensorMap> result = read_bytes(bytes);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.diagnostics()[0].message.find("truncated"), std::string::npos);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  std::string path = scratch("whole.safetensors");
  ASSERT_TRUE(write_safetensors(path, every_type()).ok());
  std::string whole = read_file(path, 1 << 20).value();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_bytes(whole.substr(0, size)).ok()) << size;
  }
}

TEST(Safetensors, RandomDamageNeverCrashes) {
  std::string path = scratch("whole.safetensors");
  ASSERT_TRUE(write_safetensors(path, every_type(), {{"a", "b"}}).ok());
  const std::string whole = read_file(path, 1 << 20).value();
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    Result<TensorMap> result = read_bytes(damaged);
    if (!result.ok()) continue;
    for (const auto& [name, tensor] : *result)
      EXPECT_EQ(tensor.size(), element_count(tensor.shape));
  }
}

}  // namespace
}  // namespace weft
