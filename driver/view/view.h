// Ways to look at a module: a part of it, as a drawing, as a page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

// The lines of print(module) about `focus`: a value ("%h", "h"), a parameter ("@w"), an op or a
// part of the model ("encoder.0.attn"): nodes that match and, marked, those that feed or use them.
Result<std::string> focus_text(const Module& module, const std::string& focus);

std::string to_dot(const Module& module);   // Graphviz; one cluster per graph
std::string to_html(const Module& module);  // one self-contained page, no scripts from elsewhere

// Text for HTML, in elements and in quoted attributes.
std::string escape_html(std::string_view text);

}  // namespace weft
