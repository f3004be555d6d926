// What a user should know although nothing fails: slower memory, another device than the best one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

// Called on whatever thread has something to tell. By default nobody is told: a library writes
// nothing of its own accord.
using NoticeHandler = void (*)(const std::string& text);
void set_notice_handler(NoticeHandler handler);  // null: the default

// One sentence, lower case. The same text reaches a handler once.
void tell_notice(const std::string& text);

}  // namespace weft
