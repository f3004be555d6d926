// Reading text files and tables, and what they say of files that are none.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "driver/data/table.h"
#include "driver/data/text_file.h"
#include "driver/data/utf8.h"
#include "tests/support/scratch.h"

namespace weft::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Lines joined by "|", pieces that did not end their line with "+"; or the error.
std::string lines_of(const std::string& path, LineReader::Long mode = LineReader::Long::fail) {
  Result<LineReader> reader = LineReader::open(path, mode);
  if (!reader.ok()) return render(reader.diagnostics());
  std::string all;
  for (Line line;;) {
    Result<bool> more = reader->next(line);
    if (!more.ok()) return render(more.diagnostics());
    if (!*more) return all;
    all += std::string(line.text) + (line.ended ? "|" : "+");
  }
}

std::string lines_in(const std::string& bytes) {
  return lines_of(write_scratch("lines.txt", bytes));
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(valid_utf8_prefix("a\xc3\xa9\xed\x95\x9c\xf0\x9f\x98\x80"), 10u);
  for (const char* bad : {"ab\xff", "ab\xc0\x80", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80",
                          "ab\xe0\x80\x80", "ab\xe4\xb8", "ab\x80"}) {
    EXPECT_EQ(valid_utf8_prefix(bad), 2u) << bad;
  }
}

TEST(Utf8, CodePointsGoThereAndBack) {
  std::string text = "z\xc3\xa9\xed\x95\x9c\xf0\x9f\x98\x80";
  std::string again;
  for (size_t at = 0; at < text.size();) append_code_point(again, next_code_point(text, at));
  EXPECT_EQ(again, text);
  EXPECT_EQ(count_code_points(text), 4);
  EXPECT_EQ(bytes_of_code_points(text, 2), 3u);
  EXPECT_EQ(bytes_of_code_points(text, 9), text.size());
  EXPECT_EQ(describe_code_point(U'한'), "'한' (U+D55C)");
  EXPECT_EQ(describe_code_point(7), "U+0007");
}

TEST(Lines, TakeBothKindsOfEnds) {
  EXPECT_EQ(lines_in("a\nb\r\n\nc"), "a|b||c+");
  EXPECT_EQ(lines_in("\xef\xbb\xbf"
                     "a\n"),
            "a|");
  EXPECT_EQ(lines_in("\n"), "|");
}

TEST(Lines, AreReadAcrossBuffers) {
  std::string text;
  std::string expected;
  for (int i = 0; i < 200000; ++i) {
    text += std::to_string(i * 7919) + "\n";
    expected += std::to_string(i * 7919) + "|";
  }
  EXPECT_EQ(lines_in(text), expected);
}

TEST(Lines, GzipIsToldByItsContent) {
  if (!have_gzip()) GTEST_SKIP() << "built without zlib";
  std::string path = write_scratch("packed.txt", "one\ntwo\n");
  ASSERT_EQ(std::system(("gzip -kf " + path + " && mv " + path + ".gz " + path).c_str()), 0);
  EXPECT_EQ(lines_of(path), "one|two|");
}

TEST(Lines, DamagedGzipIsAnError) {
  if (!have_gzip()) GTEST_SKIP() << "built without zlib";
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919 % 10007) + "\n";
  std::string path = write_scratch("cut.txt", text);
  ASSERT_EQ(
      std::system(("gzip -kf " + path + " && head -c 3000 " + path + ".gz > " + path).c_str()), 0);
  EXPECT_THAT(lines_of(path), HasSubstr("cut.txt: error: the gzip data is cut short"));
  std::string bad = write_scratch("bad.gz", "\x1f\x8b\x08nonsense that is not gzip");
  EXPECT_THAT(lines_of(bad), HasSubstr("gzip data"));
}

TEST(Lines, WhatIsNoTextIsToldWithItsPlace) {
  EXPECT_THAT(lines_of(scratch("not-there")), HasSubstr("not-there: error: no such file"));
  EXPECT_THAT(lines_of(scratch("")), HasSubstr("is a folder"));
  EXPECT_THAT(lines_in(""), HasSubstr("is empty"));
  EXPECT_THAT(lines_in(std::string("\x7f"
                                   "ELF\0\0",
                                   6)),
              HasSubstr("is a binary file"));
  EXPECT_THAT(lines_in(std::string("\xff\xfeh\0", 4)), HasSubstr("UTF-16"));
  std::string message = lines_in("fine\ncaf\xe9\n");
  EXPECT_THAT(message, HasSubstr("lines.txt:2:4: error: byte 0xe9 is not UTF-8"));
  EXPECT_THAT(message, HasSubstr("hint: convert the file: iconv"));
}

TEST(Lines, APipeIsNotWaitedFor) {
  std::string path = scratch("pipe");
  std::remove(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(lines_of(path), HasSubstr("not a regular file"));
}

TEST(Lines, LongOnesFailOrComeInPieces) {
  std::string word(99, 'x');
  std::string text;
  while (text.size() <= kMaxLineBytes) text += word + " ";
  EXPECT_THAT(lines_in("a\n" + text), HasSubstr("lines.txt:2:1: error: the line is longer than"));
  std::string path = write_scratch("long.txt", text + "\r\nend");
  std::string pieces = lines_of(path, LineReader::Long::split);
  std::string joined;
  size_t cuts = 0;
  for (size_t at = 0; at < pieces.size(); ++at) {
    if (pieces[at] == '+') {
      ++cuts;
      EXPECT_TRUE(at + 1 == pieces.size() || pieces[at - 1] == ' ');
    } else {
      joined += pieces[at];
    }
  }
  EXPECT_EQ(joined, text + "|end");
  EXPECT_GE(cuts, kMaxLineBytes / kMaxPieceBytes);
}

TEST(Lines, PiecesKeepCodePointsWhole) {
  std::string text;
  while (text.size() < 3 * kMaxPieceBytes) text += "한";
  std::string path = write_scratch("korean.txt", text);
  std::string pieces = lines_of(path, LineReader::Long::split);
  pieces.erase(std::remove(pieces.begin(), pieces.end(), '+'), pieces.end());
  EXPECT_EQ(pieces, text);
}

// Rows as lists of fields; an error ends the list.
std::vector<std::vector<std::string>> rows_in(const std::string& name, const std::string& bytes) {
  std::vector<std::vector<std::string>> rows;
  Result<TableReader> table = TableReader::open(write_scratch(name, bytes));
  if (!table.ok()) return {{render(table.diagnostics())}};
  rows.push_back(table->columns());
  for (;;) {
    Result<bool> more = table->next();
    if (!more.ok()) rows.push_back({render(more.diagnostics())});
    if (!more.ok() || !*more) return rows;
    rows.push_back(table->fields());
  }
}

TEST(Table, ReadsQuotedFields) {
  EXPECT_THAT(rows_in("t.csv", "id,text\n1,\"a, \"\"b\"\"\nc\"\n\n2,\n3,plain \"x\"\n"),
              ElementsAre(ElementsAre("id", "text"), ElementsAre("1", "a, \"b\"\nc"),
                          ElementsAre("2", ""), ElementsAre("3", "plain \"x\"")));
}

TEST(Table, TabsInTheHeaderMakeATsv) {
  EXPECT_THAT(
      rows_in("t.csv",
              "id\ttext\r\n1\t\"so\" he said\r\n2\t\"a \"\"b\"\"\"\r\n3\ta,b\r\n4\t\"\r\n"),
      ElementsAre(ElementsAre("id", "text"), ElementsAre("1", "\"so\" he said"),
                  ElementsAre("2", "a \"b\""), ElementsAre("3", "a,b"), ElementsAre("4", "\"")));
}

TEST(Table, WrongRowsAreToldWithTheirLine) {
  EXPECT_THAT(rows_in("t.csv", "a,b\n1,2\n1,2,3\n").back()[0],
              HasSubstr("t.csv:3:1: error: the row has 3 fields, the header 2"));
  EXPECT_THAT(rows_in("t.csv", "a,b\n1,\"x\n\n\n").back()[0],
              HasSubstr("t.csv:2:1: error: the quote of field 2 is never closed"));
  EXPECT_THAT(rows_in("t.csv", "a,b\n1,\"x\"y\n").back()[0],
              HasSubstr("t.csv:2:1: error: text after the closing quote of field 2"));
  EXPECT_THAT(rows_in("t.csv", "\n\n")[0][0], HasSubstr("has no header"));
}

TEST(Table, AMissingColumnListsThoseThereAre) {
  Result<TableReader> table = TableReader::open(write_scratch("t.tsv", "id\tdocument\tlabel\n"));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table->column("label"), 2u);
  Result<size_t> missing = table->column("labels");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(render(missing.diagnostics()),
              HasSubstr("no column 'labels': the header has 'id', 'document', 'label'"));
  EXPECT_THAT(render(missing.diagnostics()), HasSubstr("did you mean 'label'?"));
}

}  // namespace
}  // namespace weft::data
