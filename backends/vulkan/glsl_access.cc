// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/glsl_access.h"

#include <functional>

#include "backends/simt/lower.h"

namespace weft::vulkan {
namespace {

// How an element lies in memory, and what it is in a register.
struct Element {
  std::string stored;   // type in a storage buffer
  std::string sampler;  // prefix of samplerBuffer and imageBuffer
  std::string format;   // of an image
  std::string load[2];  // around what was read
  std::string store[2];
};

Element element_of(const Binding& binding) {
  if (binding.view == Binding::texel && binding.dtype == DType::f16) {
    return {"", "", "", {"", ""}, {"", ""}};
  }
  switch (binding.dtype) {
    case DType::f32: return {"float", "", "32f", {"", ""}, {"", ""}};
    case DType::i32: return {"int", "i", "32i", {"", ""}, {"", ""}};
    case DType::u32: return {"uint", "u", "32ui", {"", ""}, {"", ""}};
    case DType::f16:
      return {"uint16_t", "u", "", {"weft_from_f16(", ")"}, {"uint16_t(weft_to_f16(", "))"}};
    case DType::bf16:
      return {"uint16_t", "u", "", {"weft_from_bf16(", ")"}, {"uint16_t(weft_to_bf16(", "))"}};
    case DType::boolean: return {"uint8_t", "u", "", {"", " != 0u"}, {"uint8_t(uint(", "))"}};
    case DType::u8: return {"uint8_t", "u", "", {"", ""}, {"uint8_t(", ")"}};
    case DType::i8: return {"int8_t", "i", "", {"", ""}, {"int8_t(", ")"}};
    default: return {"int64_t", "u", "", {"weft_i64(", ")"}, {"", ""}};
  }
}

class Access {
 public:
  Access(const std::string& name, const Binding& binding, size_t number, bool in_words)
      : name_(name),
        b_(binding),
        element_(element_of(binding)),
        type_(simt::type_name_of(binding.dtype, binding.width == 4)),
        slot_("set = 0, binding = " + std::to_string(number)),
        in_words_(in_words) {}

  AccessText run() const {
    AccessText text{declaration(), ""};
    if (b_.reads) {
      text.functions +=
          function(type_ + " load_" + name_ + "(int at)",
                   [&](const std::string& array) { return "return " + value(array) + ";"; });
    }
    if (b_.writes) {
      text.functions += function("void store_" + name_ + "(int at, " + type_ + " x)",
                                 [&](const std::string& array) { return write(array) + ";"; });
    }
    return text;
  }

 private:
  bool four() const { return b_.width == 4; }
  bool split() const { return b_.parts > 1; }
  bool byte() const { return byte_size(b_.dtype) == 1; }

  std::string declaration() const {
    const std::string array = split() ? "[" + std::to_string(b_.parts) + "]" : "";
    if (b_.view == Binding::texel) {
      return "layout(" + slot_ + ") uniform " + element_.sampler + "samplerBuffer " + name_ +
             array + ";";
    }
    if (b_.view == Binding::image) {
      return "layout(" + slot_ + ", " + (four() ? "rgba" : "r") + element_.format + ") uniform " +
             (b_.reads ? "" : "writeonly ") + element_.sampler + "imageBuffer " + name_ + array +
             ";";
    }
    const std::string stored = in_words_ ? "uint" : four() ? type_ : element_.stored;
    return "layout(std430, " + slot_ + ") " + (b_.writes ? "" : "readonly ") + "buffer Block_" +
           name_ + " { " + stored + " " + (split() ? "part" : name_) + "[]; }" +
           (split() ? " " + name_ + array : "") + ";";
  }

  // One statement, or one for each part: the places of parts follow each other.
  std::string function(const std::string& head,
                       const std::function<std::string(const std::string&)>& statement) const {
    if (!split()) return head + " { " + statement(name_) + " }\n";
    const std::string places = std::to_string(int64_t{1} << b_.part_bits);
    std::string text = head + " {\n  int part = at >> " + std::to_string(b_.part_bits) +
                       ";\n  at &= " + places + " - 1;\n";
    for (uint32_t i = 0; i < b_.parts; ++i) {
      std::string array = name_ + "[" + std::to_string(i) + "]";
      if (b_.view == Binding::storage) array += ".part";
      const std::string here = i + 1 < b_.parts ? "if (part == " + std::to_string(i) + ") " : "";
      text += "  " + std::string(i > 0 ? "else " : "") + here + "{ " + statement(array) + " }\n";
    }
    return text + "}\n";
  }

  std::string word(const std::string& array) const {
    return array + (byte() ? "[at >> 2]" : "[at >> 1]");
  }
  std::string shift() const { return byte() ? "(at & 3) * 8" : "(at & 1) * 16"; }

  std::string value(const std::string& array) const {
    if (b_.view == Binding::storage && b_.dtype == DType::i64) return array + "[at]";
    return element_.load[0] + read(array) + element_.load[1];
  }

  std::string read(const std::string& array) const {
    if (b_.view == Binding::texel) {
      const std::string part = four() ? "" : b_.dtype == DType::i64 ? ".xy" : ".x";
      return "texelFetch(" + array + ", at)" + part;
    }
    if (b_.view == Binding::image) return "imageLoad(" + array + ", at)" + (four() ? "" : ".x");
    const bool small_sign = b_.dtype == DType::i8;
    if (!in_words_) {
      if (byte_size(b_.dtype) >= 4) return array + "[at]";
      return (small_sign ? "int(" : "uint(") + array + "[at])";
    }
    // Others may be changing other parts of the word.
    std::string text = b_.writes ? "atomicOr(" + word(array) + ", 0u)" : word(array);
    if (small_sign) text = "int(" + text + ")";
    return "bitfieldExtract(" + text + ", " + shift() + ", " + (byte() ? "8" : "16") + ")";
  }

  std::string write(const std::string& array) const {
    if (b_.view == Binding::image) {
      const std::string wide = simt::type_name_of(b_.dtype, true);
      return "imageStore(" + array + ", at, " + (four() ? "x" : wide + "(x)") + ")";
    }
    if (!in_words_) return array + "[at] = " + element_.store[0] + "x" + element_.store[1];
    std::string bits = "uint(x)";
    if (b_.dtype == DType::f16) bits = "weft_to_f16(x)";
    if (b_.dtype == DType::bf16) bits = "weft_to_bf16(x)";
    const std::string mask = byte() ? "0xffu" : "0xffffu";
    return "atomicAnd(" + word(array) + ", ~(" + mask + " << (" + shift() + "))); atomicOr(" +
           word(array) + ", (" + bits + " & " + mask + ") << (" + shift() + "))";
  }

  const std::string& name_;
  const Binding& b_;
  Element element_;
  std::string type_;
  std::string slot_;
  bool in_words_;
};

}  // namespace

AccessText access_text(const std::string& name, const Binding& binding, size_t number,
                       const SmallElements& small) {
  return Access(name, binding, number, small.in_words(binding)).run();
}

}  // namespace weft::vulkan
