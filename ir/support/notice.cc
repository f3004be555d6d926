// SPDX-License-Identifier: Apache-2.0
#include "ir/support/notice.h"

#include <mutex>
#include <set>

namespace weft {
namespace {

struct Notices {
  std::mutex mutex;
  NoticeHandler handler = nullptr;
  std::set<std::string> told;  // to this handler
};

Notices& notices() {
  static Notices all;
  return all;
}

}  // namespace

void set_notice_handler(NoticeHandler handler) {
  Notices& all = notices();
  std::lock_guard lock(all.mutex);
  all.handler = handler;
  all.told.clear();
}

void tell_notice(const std::string& text) {
  Notices& all = notices();
  std::lock_guard lock(all.mutex);
  if (all.handler != nullptr && all.told.insert(text).second) all.handler(text);
}

}  // namespace weft
