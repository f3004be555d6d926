// The names that values have in the text form.
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <unordered_set>

#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/text.h"

namespace weft {
namespace {

class Namer {
 public:
  explicit Namer(const Graph& graph) : graph_(graph), literal_(literal_nodes(graph)) {}

  std::vector<std::vector<std::string>> run() {
    take_given_names();
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) name_rest(i);
    return std::move(names_);
  }

 private:
  // Given names come first, so that a number never takes one of them.
  void take_given_names() {
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_[i];
      std::vector<std::string>& names = names_.emplace_back(node.types.size());
      if (node.op == Op::param) {
        names[0] = spell('@', node.attrs.text("name"));
      } else if (literal_[i]) {
        names[0] = typed_literal(node);
      } else {
        for (size_t r = 0; r < names.size(); ++r) {
          const std::string& given = node.op == Op::input ? node.attrs.text("name") : node.names[r];
          if (!given.empty() && taken_.insert(given).second) names[r] = spell('%', given);
        }
      }
    }
  }

  void name_rest(uint32_t index) {
    const Node& node = graph_[index];
    std::vector<std::string>& names = names_[index];
    std::string stem;  // shared by the unnamed results of a node: %top_k0, %top_k0.1
    for (size_t r = 0; r < names.size(); ++r) {
      if (!names[r].empty()) continue;
      if (stem.empty()) stem = fresh(std::string(name(node.op)));
      std::string own = r == 0 ? stem : stem + "." + std::to_string(r);
      while (r > 0 && !taken_.insert(own).second) own += "_";
      names[r] = spell('%', own);
    }
  }

  std::string fresh(const std::string& mnemonic) {
    uint32_t& next = next_[mnemonic];
    std::string candidate;
    do {
      candidate = mnemonic + std::to_string(next++);
    } while (!taken_.insert(candidate).second);
    return candidate;
  }

  const Graph& graph_;
  std::vector<bool> literal_;
  std::vector<std::vector<std::string>> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint32_t> next_;
};

}  // namespace

std::vector<std::vector<std::string>> value_names(const Graph& graph) { return Namer(graph).run(); }

}  // namespace weft
