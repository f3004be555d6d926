// .npy files: what NumPy writes is read, what is damaged is refused without a crash.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/support/file.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

// A file as numpy.save writes it.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  size_t width = version == 1 ? 2 : 4;
  for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

Result<Tensor> read_bytes(const std::string& bytes) {
  return read_npy(write_scratch("bytes.npy", bytes));
}

std::string message(const std::string& bytes) {
  Result<Tensor> result = read_bytes(bytes);
  return result.ok() ? "no error" : result.diagnostics()[0].message;
}

TEST(Npy, RoundTripOfEveryType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    auto dtype = static_cast<DType>(i);
    Tensor tensor = Tensor::zeros(dtype, {2, 3});
    for (int64_t k = 0; k < 6; ++k)
      tensor.set(k, dtype == DType::boolean ? k % 2 : 2.5 * double(k));
    tensor.set(1, is_float(dtype) ? INFINITY : double(highest_integer(dtype)));
    std::string path = scratch("type.npy");
    ASSERT_TRUE(write_npy(path, tensor).ok());
    Tensor back = read_npy(path).value();
    EXPECT_EQ(back.dtype, dtype == DType::bf16 ? DType::f32 : dtype);
    EXPECT_EQ(back.shape, tensor.shape);
    EXPECT_EQ(back.reals, tensor.reals);
    EXPECT_EQ(back.integers, tensor.integers);
  }
}

TEST(Npy, RoundTripOfShapes) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{}, {0}, {1}, {3, 0, 2}, {1, 2, 3, 1, 2}}) {
    std::string path = scratch("shape.npy");
    ASSERT_TRUE(write_npy(path, Tensor::zeros(DType::f32, shape)).ok());
    EXPECT_EQ(read_npy(path).value().shape, shape);
    EXPECT_EQ(read_file(path, 1 << 20).value().find('\n') % 64, 63u);
  }
}

TEST(Npy, WritingRoundsToTheType) {
  std::string path = scratch("rounded.npy");
  ASSERT_TRUE(write_npy(path, Tensor::scalar(DType::f32, 0.1)).ok());
  EXPECT_EQ(read_npy(path).value().reals[0], double{0.1f});
  ASSERT_TRUE(write_npy(path, Tensor::scalar(DType::bf16, 1.00390625)).ok());
  EXPECT_EQ(read_npy(path).value().reals[0], 1.0);
}

TEST(Npy, FortranOrderAndLaterVersions) {
  std::string header = "{\"shape\": (2, 3), 'fortran_order': True, 'descr': '|u1'}  \n";
  for (char version : {1, 2, 3}) {
    Tensor tensor = read_bytes(npy(header, std::string("\1\4\2\5\3\6"), version)).value();
    EXPECT_EQ(tensor.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(tensor.integers, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Npy, SaysWhatIsWrong) {
  std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(message(npy(good, std::string(8, '\0'))), "no error");
  EXPECT_EQ(message(""), "not an .npy file");
  EXPECT_EQ(message("PK\3\4 an .npz is a zip"), "not an .npy file");
  EXPECT_EQ(message(npy(good, "1234567")),
            "the shape needs 8 bytes of data, but 7 follow the header");
  EXPECT_EQ(message(npy(good, "123456789")),
            "the shape needs 8 bytes of data, but 9 follow the header");
  EXPECT_EQ(message(npy(good, "", 4)), ".npy format 4 is not known; expected 1, 2 or 3");
  auto with = [&](const std::string& descr, const std::string& shape) {
    return message(
        npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}", ""));
  };
  EXPECT_NE(with(">f4", "(0,)").find("element type '>f4' is not supported"), std::string::npos);
  for (const char* descr : {"", "<", "1", "i1", "<i11"}) {
    EXPECT_NE(with(descr, "(0,)").find("is not supported"), std::string::npos) << descr;
  }
  EXPECT_NE(with("<i2", "(0,)").find("'<i2' is not supported"), std::string::npos);
  std::string counted = "the shape has a negative size or too many elements";
  EXPECT_EQ(with("<f4", "(-1,)"), counted);
  EXPECT_EQ(with("<f4", "(4294967296, 4294967296)"), counted);
  EXPECT_EQ(with("<f4", "(0, 4294967296, 4294967296)"), counted);
  EXPECT_NE(with("<f4", "(1 2)").find("malformed at byte 63"), std::string::npos);
  EXPECT_NE(with("<f4", "(99999999999999999999,)").find("malformed"), std::string::npos);
  EXPECT_FALSE(read_npy(scratch("absent.npy")).ok());
  EXPECT_FALSE(read_npy(testing::TempDir()).ok());
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string path = scratch("whole.npy");
  ASSERT_TRUE(write_npy(path, Tensor::zeros(DType::i32, {3})).ok());
  std::string whole = read_file(path, 1 << 20).value();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_bytes(whole.substr(0, size)).ok()) << size;
  }
}

TEST(Npy, RandomDamageNeverCrashes) {
  std::string path = scratch("whole.npy");
  ASSERT_TRUE(write_npy(path, Tensor::zeros(DType::f16, {3, 5})).ok());
  const std::string whole = read_file(path, 1 << 20).value();
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (uint32_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    Result<Tensor> result = read_bytes(damaged);
    if (result.ok()) {
      EXPECT_EQ(result->size(), element_count(result->shape));
    }
  }
}

}  // namespace
}  // namespace weft
