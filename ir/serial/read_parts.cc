// SPDX-License-Identifier: Apache-2.0
#include "ir/serial/read_parts.h"

#include <cstring>

#include "ir/text/names.h"
#include "ir/text/parse_type.h"

namespace weft {
namespace {

constexpr size_t kSharingFactor = 16;
constexpr size_t kSharingBase = size_t{1} << 20;
constexpr size_t kReferenceBytes = 8;  // what an empty text takes in memory is more, but bounded

// The verifier checks where a vector begins, not that its 8-byte elements are aligned.
template <class T>
std::vector<T> copy(const flatbuffers::Vector<T>* vector) {
  std::vector<T> result(vector == nullptr ? 0 : vector->size());
  if (!result.empty()) std::memcpy(result.data(), vector->Data(), result.size() * sizeof(T));
  for (T& element : result) element = flatbuffers::EndianScalar(element);
  return result;
}

}  // namespace

Parts::Parts(const std::string& file, size_t size)
    : loc_{std::make_shared<const SourceText>(SourceText{file, ""}), 0, 0, 0},
      budget_(kSharingFactor * size + kSharingBase) {}

Error Parts::at(const std::string& where, Error&& error) const {
  Diagnostics diagnostics = std::move(error).take();
  for (Diagnostic& diagnostic : diagnostics) diagnostic.message = where + ": " + diagnostic.message;
  return Error(std::move(diagnostics));
}

Error Parts::relocated(const std::string& where, const Diagnostics& diagnostics) const {
  return error(loc_, where, ": ", diagnostics[0].message).hint(diagnostics[0].hint);
}

Status Parts::spend(size_t bytes) {
  if (bytes > budget_) return error(loc_, "the file refers to the same data too often");
  budget_ -= bytes;
  return ok();
}

Result<std::string> Parts::text(const flatbuffers::String* text, const std::string& where) {
  if (text == nullptr) return error(loc_, where, ": a text is missing");
  WEFT_TRY_STATUS(spend(text->size() + kReferenceBytes));
  std::string copied(text->c_str(), text->size());
  if (utf8_prefix(copied) != copied.size()) {
    return error(loc_, where, ": a text is not valid UTF-8");
  }
  return copied;
}

Result<std::string> Parts::optional_text(const flatbuffers::String* text,
                                         const std::string& where) {
  return text == nullptr ? Result<std::string>(std::string()) : this->text(text, where);
}

Result<std::string> Parts::name(const flatbuffers::String* text, const std::string& where) {
  WEFT_TRY(std::string name, this->text(text, where));
  if (name.empty()) return error(loc_, where, " is empty");
  return name;
}

Status Parts::read_tables(const serial::ModuleData& data) {
  for (const flatbuffers::String* item : list(data.texts())) {
    WEFT_TRY(std::string copied, text(item, cat("text ", texts_.size())));
    texts_.push_back(std::move(copied));
  }
  for (const flatbuffers::String* item : list(data.dims())) {
    std::string where = cat("dim ", dims_.size());
    WEFT_TRY(std::string written, text(item, where));
    Result<Dim> dim = parse_dim(file(), std::move(written));
    if (!dim.ok()) return relocated(where, dim.diagnostics());
    dims_.push_back(std::move(dim).value());
  }
  for (const serial::Type* item : list(data.types())) {
    std::string where = cat("type ", types_.size());
    WEFT_TRY(std::string written, text(item->dtype(), where));
    std::optional<DType> dtype = parse_dtype(written);
    if (!dtype) {
      return error(loc_, where, ": unknown element type ", quote(written))
          .hint(did_you_mean(written, dtype_names()));
    }
    Type type{*dtype, {}};
    WEFT_TRY(type.shape, dim_list(item->shape(), where));
    if (std::optional<std::string> fault = type_fault(type))
      return error(loc_, where, ": ", *fault);
    types_.push_back(std::move(type));
  }
  return ok();
}

Result<std::string> Parts::text(uint32_t index, const std::string& where) {
  if (index >= texts_.size()) {
    return error(loc_, where, ": refers to text ", index, " of ", texts_.size());
  }
  WEFT_TRY_STATUS(spend(texts_[index].size() + kReferenceBytes));
  return texts_[index];
}

Result<Dim> Parts::dim(uint32_t index, const std::string& where) {
  if (index < dims_.size()) return dims_[index];
  return error(loc_, where, ": refers to dim ", index, " of ", dims_.size());
}

Result<Type> Parts::type(uint32_t index, const std::string& where) {
  WEFT_TRY_STATUS(spend(sizeof index));
  if (index < types_.size()) return types_[index];
  return error(loc_, where, ": refers to type ", index, " of ", types_.size());
}

Result<std::vector<Dim>> Parts::dim_list(const flatbuffers::Vector<uint32_t>* indices,
                                         const std::string& where) {
  std::vector<Dim> result;
  for (uint32_t index : list(indices)) {
    WEFT_TRY_STATUS(spend(sizeof index));
    WEFT_TRY(Dim entry, dim(index, where));
    result.push_back(std::move(entry));
  }
  return result;
}

Result<Attrs> Parts::attrs(Op op,
                           const flatbuffers::Vector<flatbuffers::Offset<serial::AttrData>>* data,
                           const std::string& where) {
  Attrs result;
  for (const serial::AttrData* item : list(data)) {
    WEFT_TRY(std::string name, text(item->name(), where));
    std::vector<std::string> known;
    const AttrSpec* spec = nullptr;
    for (const AttrSpec& candidate : info(op).attrs) {
      known.push_back(candidate.name);
      if (candidate.name == name) spec = &candidate;
    }
    if (spec == nullptr) {
      return error(loc_, where, ": unknown attribute ", quote(name))
          .hint(did_you_mean(name, known));
    }
    if (result.find(name) != nullptr) {
      return error(loc_, where, ": attribute ", name, " is given twice");
    }
    WEFT_TRY(AttrValue value, attr_value(spec->kind, *item, where + ", attribute " + name));
    result.set(name, std::move(value));
  }
  return result;
}

Result<AttrValue> Parts::attr_value(AttrKind kind, const serial::AttrData& data,
                                    const std::string& where) {
  size_t int_count = data.ints() == nullptr ? 0 : data.ints()->size();
  size_t real_count = data.reals() == nullptr ? 0 : data.reals()->size();
  WEFT_TRY_STATUS(spend(8 * (int_count + real_count)));
  std::vector<int64_t> ints = copy(data.ints());
  std::vector<double> reals = copy(data.reals());
  auto wrong = [&] {
    return error(loc_, where, ": does not hold a value of kind ", weft::name(kind));
  };
  switch (kind) {
    case AttrKind::integer:
    case AttrKind::axis:
      if (int_count != 1) return wrong();
      return AttrValue(ints[0]);
    case AttrKind::boolean:
      if (int_count != 1 || (ints[0] | 1) != 1) return wrong();
      return AttrValue(ints[0] == 1);
    case AttrKind::real:
      if (real_count != 1) return wrong();
      return AttrValue(reals[0]);
    case AttrKind::axes:
    case AttrKind::ints: return AttrValue(std::move(ints));
    case AttrKind::numbers:
      if (real_count > 0) return AttrValue(Numbers{std::move(reals)});
      return AttrValue(Numbers{std::move(ints)});
    case AttrKind::choice:
    case AttrKind::text: {
      WEFT_TRY(std::string value, text(data.text(), where));
      return AttrValue(std::move(value));
    }
    case AttrKind::dtype: {
      WEFT_TRY(std::string value, text(data.text(), where));
      std::optional<DType> dtype = parse_dtype(value);
      if (!dtype) return wrong();
      return AttrValue(*dtype);
    }
    case AttrKind::dim:
    case AttrKind::dims: break;
  }
  WEFT_TRY(std::vector<Dim> dims, dim_list(data.dims(), where));
  if (kind == AttrKind::dims) return AttrValue(std::move(dims));
  if (dims.size() != 1) return wrong();
  return AttrValue(std::move(dims[0]));
}

}  // namespace weft
