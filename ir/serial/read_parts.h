// The pieces of a binary module: texts, dims, types and attributes, each checked as it is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/serial/serial.h"
#include "module_generated.h"

namespace weft {

// An absent vector reads as an empty one.
template <class T>
class List {
 public:
  explicit List(const flatbuffers::Vector<T>* vector) : vector_(vector) {}
  auto begin() const {
    return vector_ == nullptr ? typename flatbuffers::Vector<T>::const_iterator(nullptr, 0)
                              : vector_->begin();
  }
  auto end() const {
    return vector_ == nullptr ? typename flatbuffers::Vector<T>::const_iterator(nullptr, 0)
                              : vector_->end();
  }

 private:
  const flatbuffers::Vector<T>* vector_;
};
template <class T>
List<T> list(const flatbuffers::Vector<T>* vector) {
  return List<T>(vector);
}

class Parts {
 public:
  Parts(const std::string& file, size_t size);

  const Loc& loc() const { return loc_; }
  const std::string& file() const { return loc_.source->name; }
  // Puts the place within the file before each message.
  Error at(const std::string& where, Error&& error) const;

  // The first of errors whose places are within a text of the file.
  Error relocated(const std::string& where, const Diagnostics& diagnostics) const;

  // Counts what is read as if nothing in the file were shared: offsets that point again and again
  // to one large thing must not make a large module of a small file.
  Status spend(size_t bytes);

  Result<std::string> text(const flatbuffers::String* text, const std::string& where);
  Result<std::string> optional_text(const flatbuffers::String* text, const std::string& where);
  Result<std::string> name(const flatbuffers::String* text, const std::string& where);  // not empty

  // Reads the texts, dims and types that the rest refers to by number.
  Status read_tables(const serial::ModuleData& data);
  Result<std::string> text(uint32_t index, const std::string& where);
  Result<Dim> dim(uint32_t index, const std::string& where);
  Result<Type> type(uint32_t index, const std::string& where);
  Result<Attrs> attrs(Op op, const flatbuffers::Vector<flatbuffers::Offset<serial::AttrData>>* data,
                      const std::string& where);

 private:
  Result<AttrValue> attr_value(AttrKind kind, const serial::AttrData& data,
                               const std::string& where);
  Result<std::vector<Dim>> dim_list(const flatbuffers::Vector<uint32_t>* indices,
                                    const std::string& where);

  Loc loc_;
  size_t budget_;
  std::vector<std::string> texts_;
  std::vector<Dim> dims_;
  std::vector<Type> types_;
};

}  // namespace weft
