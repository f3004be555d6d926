// Tile programs as code of one invocation: registers, subgroups, workgroup memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/simt/layout.h"
#include "ir/support/result.h"
#include "ir/tile/program.h"
#include "runtime/executable.h"

namespace weft::simt {

// A kernel before it is wrapped in the words of a language.
struct Lowered {
  std::string body;               // statements of the main function
  std::vector<Binding> bindings;  // as `body` calls them, see binding_name
  std::vector<Dim> args;          // numbers a0, a1, .. of the kernel
  Dim programs;
  Dim iterations = 0;  // of all loops of an invocation, at most
  std::vector<std::string> checks;
  Layout layout;
  struct Shared {
    std::string type;
    int64_t size = 0;
  };
  std::map<std::string, Shared> shared;  // arrays in workgroup memory, by name
  bool uses_shuffle = false;
  bool uses_exchange =
      false;  // the array `exchange`, of a word per invocation, in workgroup memory
  bool uses_int64 = false;

  bool uses_matrices() const { return layout.fragments && !layout.fragments.as_loops; }
  // A wave is a subgroup, and a lane its invocation.
  bool relies_on_subgroups() const { return uses_shuffle || uses_matrices(); }
};

// "x_texel4": what the code calls a binding of a buffer.
std::string binding_name(const tile::Program& program, const Binding& binding);
// "float", "vec4": what numbers of a type are in registers.
std::string type_name_of(DType dtype, bool four);
// A name of the program as an identifier.
std::string identifier(const std::string& name);

// `program` has the knobs that choose_layout chose. `aligned` as there.
Result<Lowered> lower(const tile::Program& program, const Layout& layout, const Profile& profile,
                      const std::vector<bool>& aligned);

}  // namespace weft::simt
