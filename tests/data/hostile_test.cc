// Files with random damage: an error or an answer, never a crash.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "driver/data/random.h"
#include "driver/data/task.h"
#include "ir/support/file.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

namespace weft::data {
namespace {

int rounds() { return suite() == "quick" ? 30 : suite() == "slow" ? 10000 : 300; }

// A few bytes changed, removed or repeated.
std::string damaged(std::string bytes, Random& random) {
  for (uint64_t i = random.below(4); i < 4 && !bytes.empty(); ++i) {
    size_t at = random.below(bytes.size());
    size_t count = 1 + random.below(8);
    switch (random.below(4)) {
      case 0: bytes[at] = static_cast<char>(random.word()); break;
      case 1: bytes.erase(at, count); break;
      case 2: bytes.insert(at, bytes.substr(at, count)); break;
      default: bytes[at] = "\n\t\",\r\0{}"[random.below(8)];
    }
  }
  return bytes;
}

std::string fresh_folder() {
  std::string folder = scratch("hostile");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

void walk(Task& task) {
  for (auto&& stream : {task.train_stream(), task.valid_stream()}) {
    if (!stream.ok()) continue;
    for (int i = 0; i < 20; ++i) {
      Result<const Batch*> batch = (*stream)->next();
      if (!batch.ok() || *batch == nullptr) break;
    }
  }
}

TaskOptions table_of(const std::string& text) {
  TaskOptions options{.kind = TaskKind::text_classification};
  options.train.table = write_scratch("h.csv", text);
  options.label_column = "label";
  options.text_column = "text";
  options.tokenizer = TokenizerKind::characters;
  return options;
}

std::string table() {
  std::string text = "text,label\n";
  for (int i = 0; i < 12; ++i)
    text += "\"a, \"\"b\"\"\n한" + std::to_string(i) + "\",c" + (i % 2 ? "x" : "y") + "\r\n";
  return text;
}

TEST(Hostile, Tables) {
  for (int i = 0; i < rounds(); ++i) {
    Random random(1, i, 9);
    Result<std::unique_ptr<Task>> task =
        prepare_task(table_of(damaged(table(), random)), fresh_folder());
    if (task.ok()) walk(**task);
  }
}

TEST(Hostile, RunFolders) {
  std::string folder = fresh_folder();
  ASSERT_TRUE(prepare_task(table_of(table()), folder).ok());
  for (const char* name : {"/data.json", "/train.tokens", "/valid.tokens", "/tokenizer.json"}) {
    Result<std::string> whole = read_file(folder + name, 1 << 20);
    ASSERT_TRUE(whole.ok());
    for (int i = 0; i < rounds(); ++i) {
      Random random(2, i, 9);
      write_scratch(std::string("hostile") + name, damaged(*whole, random));
      Result<std::unique_ptr<Task>> task = open_task(folder);
      if (task.ok()) walk(**task);
    }
    write_scratch(std::string("hostile") + name, *whole);
  }
}

}  // namespace
}  // namespace weft::data
