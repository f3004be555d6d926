// Parsing of modules: declarations and graphs.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ir/text/names.h"
#include "ir/text/parse_graph.h"
#include "ir/text/parse_init.h"
#include "ir/text/parse_type.h"
#include "ir/text/text.h"

namespace weft {
namespace {

constexpr std::string_view kItems = "'graph', 'param', 'state', 'dim', 'assert' or 'weights'";

class ModuleParser {
 public:
  explicit ModuleParser(Cursor& in) : in_(in) {}

  Module parse() {
    if (in_.at_end()) {
      in_.fail(error(in_.here(), "the file holds no module")
                   .hint("begin with: graph @forward(%x: f32[B, T]) -> (y) {"));
      return std::move(module_);
    }
    bool wrapped = in_.at("module");
    Place opened = in_.peek().place;
    if (wrapped) module_header();
    while (!in_.at_end() && !(wrapped && in_.at("}"))) item();
    if (wrapped && !in_.take_if("}")) in_.cut_short("the module", opened);
    if (!in_.at_end()) in_.unexpected("the end of the file");
    return std::move(module_);
  }

 private:
  void module_header() {
    in_.take();
    if (!in_.at(Token::Kind::string)) {
      in_.unexpected("the module's name in quotes");
    } else {
      module_.name = in_.take().name();
    }
    if (!in_.expect("{")) skip();
  }

  void skip() {
    in_.skip_to_line({"graph", "param", "state", "dim", "assert", "weights", "}"}, false);
  }

  void item() {
    if (in_.at("graph")) {
      if (!in_.room_for(kMaxListItems, module_.graphs.size(), "graphs")) return;
      in_.take();
      module_.graphs.push_back(GraphParser(in_, module_, storage_, budget_).parse());
      return;
    }
    Token word = in_.peek();
    bool good = false;
    if (word.is("param") || word.is("state")) {
      good = storage();
    } else if (word.is("dim")) {
      good = bounds();
    } else if (word.is("assert")) {
      good = equality();
    } else if (word.is("weights")) {
      good = weights();
    } else {
      in_.unexpected(kItems);
      in_.take();
    }
    if (good && !module_.graphs.empty()) {
      in_.fail(error(in_.loc(word.place), "'", word.text, "' stands behind a graph")
                   .hint("move it above the first graph"));
    }
    if (good && in_.same_line() && !in_.at("}")) {
      in_.unexpected("the end of the line");
      good = false;
    }
    if (!good) skip();
  }

  // ('param' | 'state') @name ':' type ['=' init]
  bool storage() {
    Storage item;
    item.kind = in_.take().is("param") ? Storage::param : Storage::state;
    if (!in_.at(Token::Kind::storage)) {
      in_.unexpected("a name such as @w");
      return false;
    }
    if (!in_.room_for(kMaxModuleNodes, module_.storage.size(), "parameters")) return false;
    Token name = in_.take();
    item.name = name.name();
    item.loc = in_.loc(name.place);
    auto [known, fresh] = places_.emplace(item.name, name.place);
    if (!fresh) {
      in_.fail(error(item.loc, shown(name.text), " is defined twice")
                   .note(in_.loc(known->second), "first defined here"));
      return false;
    }
    std::optional<size_t>& index = storage_[item.name];  // nothing until it proves right
    std::optional<Type> type;
    if (in_.expect(":")) type = parse_type(in_);
    if (!type) return false;
    item.type = std::move(*type);
    if (in_.take_if("=")) {
      std::optional<Init> init = parse_init(in_);
      if (!init) return false;
      item.init = *init;
    }
    index = module_.storage.size();
    module_.storage.push_back(std::move(item));
    return true;
  }

  // 'dim' symbol 'in' low '..' high
  bool bounds() {
    in_.take();
    if (!in_.at(Token::Kind::word) || !is_symbol(in_.peek().text)) {
      in_.unexpected("a symbol such as T");
      return false;
    }
    if (!in_.room_for(kMaxListItems, module_.dims.bounds.size(), "dims with bounds")) return false;
    Token symbol = in_.take();
    if (!in_.expect("in")) return false;
    Place place = in_.peek().place;
    std::optional<int64_t> low = parse_integer(in_);
    if (!low || !in_.expect("..")) return false;
    std::optional<int64_t> high = parse_integer(in_);
    if (!high) return false;
    if (*low < 0 || *low > *high) {
      in_.fail(error(in_.loc(place), "bounds ", *low, "..", *high, " of ", shown(symbol.text),
                     " hold no size"));
      return false;
    }
    if (!module_.dims.bounds.try_emplace(std::string(symbol.text), DimFacts::Bounds{*low, *high})
             .second) {
      in_.fail(error(in_.loc(symbol.place), "dim ", shown(symbol.text), " has bounds already"));
    }
    return true;
  }

  // 'assert' dim '==' dim
  bool equality() {
    Token word = in_.take();
    std::optional<Dim> left = parse_dim(in_);
    if (!left || !in_.expect("==")) return false;
    std::optional<Dim> right = parse_dim(in_);
    if (!right) return false;
    if (module_.dims.equalities().size() == kMaxDimEqualities) {
      in_.fail(error(in_.loc(word.place), "more than ", kMaxDimEqualities, " assertions"));
      return false;
    }
    module_.dims.assert_equal(*left, *right);
    return true;
  }

  bool weights() {
    Token word = in_.take();
    if (!in_.at(Token::Kind::string)) {
      in_.unexpected("a file name in quotes");
      return false;
    }
    if (!module_.weights.empty()) in_.fail(error(in_.loc(word.place), "'weights' is given twice"));
    module_.weights = in_.take().name();
    return true;
  }

  Cursor& in_;
  Module module_;
  StorageIndex storage_;
  std::map<std::string, Place> places_;
  GraphParser::Budget budget_;
};

}  // namespace

Result<Module> parse(const std::string& file, std::string text) {
  auto source = std::make_shared<const SourceText>(SourceText{file, std::move(text)});
  WEFT_TRY_STATUS(check_text(source));
  Cursor in(source);
  Module module = ModuleParser(in).parse();
  if (!in.failed()) {
    Status status = verify(module);
    if (!status.ok()) in.fail(std::move(status).take_error());
  }
  if (in.failed()) return in.take_errors();
  return module;
}

}  // namespace weft
