// Parsing of one graph: its header, its lines, its return.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph/module.h"
#include "ir/text/cursor.h"
#include "ir/text/names.h"

namespace weft {

// Positions in Module::storage by name; nothing where the declaration was wrong and was reported.
using StorageIndex = std::unordered_map<std::string, std::optional<size_t>>;

// The names visible so far in a graph. A poisoned one stands for a value whose definition failed:
// nothing that uses it is reported again.
class Scope {
 public:
  struct Entry {
    std::optional<Value> value;  // nothing: poisoned
    Place place;
    bool defined = true;  // false: only used so far, and reported
  };

  const Entry* find(const std::string& name) const;
  void define(Cursor& in, const Token& name, std::optional<Value> value);
  void poison_undefined(const std::string& name) { entries_[name].defined = false; }
  std::vector<std::string> names() const;  // to suggest one; none if there are very many

 private:
  std::unordered_map<std::string, Entry> entries_;
};

// An operand as it is written, before a bare number has its type.
struct ParsedOperand {
  enum class Kind : uint8_t { value, poisoned, number };
  Kind kind = Kind::poisoned;
  Value value;
  std::optional<DType> dtype;  // of a number: as written, if it is
  Numbers numbers;
  Place place;
};

class GraphParser {
 public:
  // `budget` counts down over all graphs of the module.
  struct Budget {
    size_t nodes = kMaxModuleNodes;
    size_t results = kMaxModuleResults;
  };
  GraphParser(Cursor& in, const Module& module, const StorageIndex& storage, Budget& budget,
              const GraphParser* outer = nullptr)
      : in_(in), module_(module), storage_(storage), budget_(budget), outer_(outer) {}

  // Behind `graph`. Consumes the whole graph, wrong or not. Errors are in the cursor.
  Graph parse();

 private:
  struct Declared {
    Token name;
    std::optional<Type> type;
    Place place;  // of the type
  };
  struct Statement {
    std::vector<Token> names;
    Token mnemonic;
    const OpInfo* op = nullptr;
    std::vector<ParsedOperand> operands;
    std::optional<Attrs> attrs = Attrs();
    std::vector<std::pair<Type, Place>> types;
    uint32_t instance = 0;
    Provenance origin;
    // Of an op with a body: what it computes with, and the body; nothing where either is wrong.
    std::optional<std::vector<Value>> values;
    std::shared_ptr<const Graph> body;
  };
  // An input of a body, before the operand that it stands for has its type.
  struct Binding {
    Token name;
    std::optional<Type> type;  // as written, if it is
  };

  bool header();
  bool input();
  bool output();
  void lines();
  void statement();
  bool op_of(Statement& s);
  bool parts(Statement& s);
  bool operands(Statement& s);
  bool attributes(Statement& s);
  bool types(Statement& s);
  bool origin(Statement& s);
  std::optional<uint32_t> add(Statement& s);
  void check_types(const Statement& s, uint32_t node);
  void update();
  void finish();

  // In parse_body.cc.
  size_t depth() const { return outer_ == nullptr ? 0 : outer_->depth() + 1; }
  bool body(Statement& s);
  bool binding(Statement& s, std::vector<Binding>& inputs);
  bool open_body(Statement& s, std::vector<Binding>& inputs);
  void bind(const Binding& input, const std::optional<Type>& operand);
  void finish_body();
  bool close_body(const std::string& what);
  const Scope::Entry* outer_entry(const std::string& name) const;

  std::optional<ParsedOperand> operand(const std::vector<Token>& defining);
  std::optional<ParsedOperand> number_operand();
  ParsedOperand named_operand(const std::vector<Token>& defining);
  std::optional<Value> value_operand();
  const Storage* storage(const Token& name);  // null: unknown (reported) or poisoned
  void skip_line();
  void report_undefined(const Token& name, const std::vector<Token>& defining);
  // The operands' values; numbers become constants. Nothing if one is poisoned or has no type.
  std::optional<std::vector<Value>> resolve(const std::vector<ParsedOperand>& operands);
  std::optional<Value> constant(const ParsedOperand& number, DType dtype);
  std::optional<uint32_t> append(Node node);
  bool spend_node();
  bool spend_result();

  Cursor& in_;
  const Module& module_;
  const StorageIndex& storage_;
  Budget& budget_;
  const GraphParser* outer_;  // null if this is no body
  Graph graph_;
  Scope scope_;
  std::vector<Declared> outputs_;
  Place opened_;
  bool returned_ = false;
  bool complete_ = false;  // all that is returned has a value
  std::map<std::pair<DType, uint64_t>, Value>
      constants_;  // numbers written in place, by their bits
  std::optional<std::unordered_map<std::string, Place>> later_;  // defined further down; on demand
};

}  // namespace weft
