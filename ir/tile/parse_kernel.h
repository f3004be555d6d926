// The parser of one kernel: names that are known so far, and what each part of the grammar gives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/text/parse_type.h"
#include "ir/tile/program.h"

namespace weft::tile {

class KernelParser {
 public:
  explicit KernelParser(Cursor& in) : in_(in) {}

  // Nothing, or something incomplete, where errors were reported.
  Program parse();
  // Where each statement stands, in the order of the text; the kernel itself comes first.
  const std::vector<Loc>& lines() const { return lines_; }

 private:
  // A value, or a number whose element type its surroundings decide.
  struct Expr {
    ValueId id = kNone;
    std::optional<Number> number;
    Place place;
  };

  // parse.cc: header
  bool at_header() const;
  bool header_line();
  bool buffer();
  bool knob();
  bool axis();
  bool grid();
  bool layout();
  bool loc();
  std::optional<std::vector<Dim>> dims();
  std::optional<Extent> extent();
  std::optional<int64_t> positive(std::string_view what);

  // parse_statements.cc
  void block(Block& into, Stmt* loop, const Place& opened);
  bool statement(Block& into);
  bool definition(Block& into);
  bool loop(Block& into, std::vector<Token> results);
  bool carried(Stmt& loop);
  bool yield(Stmt& loop);
  bool when(Block& into);
  bool check_type(ValueId id, const Place& place);
  void begin_statement(const Place& place);

  // parse_writes.cc
  bool write(Block& into, Stmt::Kind kind);
  bool accumulate(Block& into);
  bool where(ValueId& predicate);
  std::optional<ValueId> written_value(const Ref& ref);

  // parse_expression.cc
  std::optional<Expr> expression();
  std::optional<Expr> product();
  std::optional<Expr> primary();
  std::optional<Expr> call(const Token& name);
  std::optional<Expr> map(const Token& name, Op op);
  std::optional<Expr> make_map(Op op, std::vector<Expr> operands, const Place& place);
  std::optional<ValueId> value_of(const Expr& expr, std::optional<DType> dtype);
  std::optional<std::vector<ValueId>> values_of(const std::vector<Expr>& operands);
  bool set_number(Value& value, const Number& number, const Place& place);
  std::optional<ValueId> add(Value value);
  std::optional<Expr> added(Value value, const Place& place);

  // parse_calls.cc
  std::optional<Expr> load();
  std::optional<Expr> coord(std::string_view dtype);
  std::optional<Expr> cast(std::string_view dtype, const Token& name);
  std::optional<Expr> reduce(std::string_view kind, const Token& name);
  std::optional<Expr> dot();
  std::optional<Expr> random();
  std::optional<Expr> typed_number(DType dtype);
  std::optional<std::vector<Expr>> arguments();
  std::optional<std::vector<AxisId>> axis_list();  // [m, n]

  // parse_index.cc
  std::optional<Index> index();
  std::optional<Index> index_product(bool negative);
  std::optional<Index> index_factor();
  std::optional<Index> index_call(const Token& name);
  std::optional<Index> times(const Index& a, const Index& b, const Place& place);
  std::optional<Index> over(const Index& a, const Index& b, const Place& place, bool rest);
  std::optional<Index> index_word(const Token& word);
  std::optional<Index> index_value(const Token& name);
  std::optional<Ref> ref();

  std::optional<AxisId> axis_name();
  std::optional<AxisId> find_axis(const Token& token, std::string_view name);
  std::optional<ValueId> find_value(const Token& token);
  bool define(const Token& token, ValueId id);

  Cursor& in_;
  Program program_;
  std::vector<Loc> lines_;
  std::map<std::string, AxisId, std::less<>> axes_;
  std::map<std::string, uint32_t, std::less<>> knobs_;
  std::map<std::string, BufferId, std::less<>> buffers_;
  std::map<std::string, ValueId, std::less<>> values_;
  size_t depth_ = 0;             // of parentheses and calls
  size_t blocks_ = 0;            // around this place
  size_t statement_values_ = 0;  // of the line
};

}  // namespace weft::tile
