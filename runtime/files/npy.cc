// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "ir/support/file.h"
#include "runtime/files/element_bytes.h"
#include "runtime/files/input_file.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kPreambleBytes = 8;          // the magic and two bytes of version
constexpr uint64_t kMaxHeaderBytes = 64 << 10;  // real ones have about a hundred
constexpr size_t kMaxRank = 32;                 // NumPy's own limit for a long time

struct NumpyType {
  std::string_view descr;
  DType dtype;
};
constexpr std::array<NumpyType, 9> kTypes = {{{"<f8", DType::f64},
                                              {"<f4", DType::f32},
                                              {"<f2", DType::f16},
                                              {"|i1", DType::i8},
                                              {"|u1", DType::u8},
                                              {"<i4", DType::i32},
                                              {"<u4", DType::u32},
                                              {"<i8", DType::i64},
                                              {"|b1", DType::boolean}}};

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Reads the header, a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  // Nothing if the text is no such dictionary; place() is then where it stopped.
  std::optional<Header> read() {
    Header header;
    if (!accept('{')) return std::nullopt;
    while (!accept('}')) {
      if (!entry(header)) return std::nullopt;
      if (!accept(',') && peek() != '}') return std::nullopt;
    }
    peek();
    bool complete = header.descr && header.fortran_order && header.shape;
    return complete && at_ == text_.size() ? std::optional(header) : std::nullopt;
  }
  size_t place() const { return at_; }

 private:
  bool entry(Header& header) {
    std::optional<std::string> key = quoted();
    if (!key || !accept(':')) return false;
    if (*key == "descr" && !header.descr) return (header.descr = quoted()).has_value();
    if (*key == "shape" && !header.shape) return (header.shape = tuple()).has_value();
    if (*key != "fortran_order" || header.fortran_order) return false;
    if (word("True")) header.fortran_order = true;
    if (word("False")) header.fortran_order = false;
    return header.fortran_order.has_value();
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string inside(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return inside;
  }
  std::optional<std::vector<int64_t>> tuple() {
    std::vector<int64_t> sizes;
    if (!accept('(')) return std::nullopt;
    while (!accept(')')) {
      peek();
      int64_t size = 0;
      auto [end, failure] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (failure != std::errc() || sizes.size() == kMaxRank) return std::nullopt;
      at_ = static_cast<size_t>(end - text_.data());
      sizes.push_back(size);
      if (!accept(',') && peek() != ')') return std::nullopt;
    }
    return sizes;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Where a part of the file lies.
struct Span {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

Result<Span> find_header(InputFile& file) {
  WEFT_TRY(std::string preamble, file.read(0, std::min(kPreambleBytes, file.size())));
  if (preamble.substr(0, kMagic.size()) != kMagic) return file.fail("not an .npy file");
  if (preamble.size() < kPreambleBytes) return file.fail("truncated at byte ", preamble.size());
  auto version = static_cast<uint8_t>(preamble[6]);
  if (version < 1 || version > 3) {
    return file.fail(".npy format ", int{version}, " is not known; expected 1, 2 or 3");
  }
  uint64_t width = version == 1 ? 2 : 4;
  WEFT_TRY(std::string length, file.read(kPreambleBytes, width));
  uint64_t bytes = 0;
  for (size_t i = length.size(); i-- > 0;) bytes = bytes << 8 | static_cast<uint8_t>(length[i]);
  if (bytes > kMaxHeaderBytes) {
    return file.fail("the header has ", bytes, " bytes; at most ", kMaxHeaderBytes,
                     " are expected");
  }
  return Span{kPreambleBytes + width, bytes};
}

Result<DType> find_dtype(const InputFile& file, const std::string& descr) {
  for (const NumpyType& type : kTypes) {
    if (descr.size() != type.descr.size()) continue;
    // One byte has no order, whatever the file says of it.
    bool ordered = type.descr[0] != '|';
    if (ordered ? descr == type.descr : descr.substr(1) == type.descr.substr(1)) return type.dtype;
  }
  return file
      .fail("element type '", descr.substr(0, 40), "' is not supported; expected <f2, <f4, ",
            "<f8, |i1, |u1, <i4, <u4, <i8 or |b1")
      .hint("convert it in Python: numpy.save(path, x.astype('<f4'))");
}

// What the header promises, and where the data begin.
struct Description {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  bool fortran_order = false;
  Span data;
};

Result<Description> describe(InputFile& file) {
  WEFT_TRY(Span span, find_header(file));
  WEFT_TRY(std::string text, file.read(span.offset, span.bytes));
  HeaderReader reader(text);
  std::optional<Header> header = reader.read();
  if (!header) {
    return file.fail("the header is malformed at byte ", span.offset + reader.place(),
                     "; expected descr, fortran_order and shape");
  }
  WEFT_TRY(DType dtype, find_dtype(file, *header->descr));
  std::optional<int64_t> count = checked_element_count(*header->shape);
  if (!count) return file.fail("the shape has a negative size or too many elements");
  uint64_t bytes = static_cast<uint64_t>(*count) * static_cast<uint64_t>(byte_size(dtype));
  uint64_t start = span.offset + span.bytes;
  if (bytes != file.size() - start) {
    return file.fail("the shape needs ", bytes, " bytes of data, but ", file.size() - start,
                     " follow the header");
  }
  return Description{dtype, *header->shape, *header->fortran_order, {start, bytes}};
}

// From column-major to row-major order.
Tensor from_fortran_order(Tensor tensor) {
  std::vector<int64_t> reversed(tensor.shape.rbegin(), tensor.shape.rend());
  std::vector<int64_t> strides = row_major_strides(reversed);
  std::reverse(strides.begin(), strides.end());
  std::vector<int64_t> own = row_major_strides(tensor.shape);
  auto reorder = [&](auto& numbers) {
    auto from = numbers;
    for (size_t i = 0; i < numbers.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      int64_t place = 0;
      for (size_t axis = 0; axis < own.size(); ++axis) {
        place += rest / own[axis] * strides[axis];
        rest %= own[axis];
      }
      numbers[i] = from[static_cast<size_t>(place)];
    }
  };
  reorder(tensor.reals);
  reorder(tensor.integers);
  return tensor;
}

}  // namespace

Result<Tensor> read_npy_header(const std::string& path) {
  WEFT_TRY(InputFile file, InputFile::open(path));
  WEFT_TRY(Description found, describe(file));
  return Tensor{found.dtype, std::move(found.shape), {}, {}};
}

Result<Tensor> read_npy(const std::string& path) {
  WEFT_TRY(InputFile file, InputFile::open(path));
  WEFT_TRY(Description found, describe(file));
  WEFT_TRY(std::string data, file.read(found.data.offset, found.data.bytes));
  Tensor tensor = tensor_from_bytes(found.dtype, std::move(found.shape), data);
  return found.fortran_order ? from_fortran_order(std::move(tensor)) : tensor;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  constexpr size_t kAlignment = 64;  // the data begins at a multiple of it
  DType stored = tensor.dtype == DType::bf16 ? DType::f32 : tensor.dtype;
  auto type = std::find_if(kTypes.begin(), kTypes.end(),
                           [&](const NumpyType& t) { return t.dtype == stored; });
  WEFT_CHECK(type != kTypes.end(), "every element type but bf16 has a NumPy name");
  std::string header = cat("{'descr': '", type->descr, "', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    header += cat(i > 0 ? ", " : "", tensor.shape[i]);
  }
  header += tensor.shape.size() == 1 ? ",), }" : "), }";
  size_t before = kPreambleBytes + 2;
  size_t total = (before + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(total - before - 1, ' ');
  header += '\n';

  std::string bytes(kMagic);
  bytes +=
      {'\x01', '\x00', static_cast<char>(header.size()), static_cast<char>(header.size() >> 8)};
  bytes += header;
  append_bytes(tensor, stored, bytes);
  return write_file(path, bytes);
}

}  // namespace weft
