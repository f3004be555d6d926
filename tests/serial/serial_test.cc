// The binary form: it holds what the text form holds, and damaged files are refused with a reason.
// SPDX-License-Identifier: Apache-2.0
#include "ir/serial/serial.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ir/text/text.h"
#include "module_generated.h"
#include "test_paths.h"
#include "tests/support/mutate.h"
#include "tests/support/text_case.h"

namespace weft {
namespace {

std::vector<Module> samples() {
  std::vector<Module> modules;
  for (const std::string& text :
       sample_modules(std::string(WEFT_SOURCE_DIR) + "/tests/text/samples")) {
    Result<Module> module = parse("sample.weft", text);
    EXPECT_TRUE(module.ok()) << render(module.diagnostics());
    if (module.ok()) modules.push_back(*module);
  }
  return modules;
}

void survive(const std::string& bytes) {
  Result<Module> module = read_binary("fuzz.weftb", bytes);
  if (!module.ok()) {
    ASSERT_FALSE(module.diagnostics().empty());
    ASSERT_TRUE(render(module.diagnostics()).starts_with("fuzz.weftb"));
    return;
  }
  std::string printed = print(*module);
  Result<Module> again = parse("printed", printed);
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  ASSERT_EQ(print(*again), printed);
}

TEST(Serial, RoundTrip) {
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    EXPECT_TRUE(looks_binary(bytes));
    Result<Module> again = read_binary("m.weftb", bytes);
    ASSERT_TRUE(again.ok()) << render(again.diagnostics());
    EXPECT_EQ(print(*again), print(module));
    EXPECT_EQ(write_binary(*again), bytes);
  }
}

TEST(Serial, ReadsFromAnyAddress) {
  std::string bytes = write_binary(samples()[0]);
  for (size_t shift = 1; shift < 8; ++shift) {
    std::string moved = std::string(shift, ' ') + bytes;
    EXPECT_TRUE(read_binary("m.weftb", std::string_view(moved).substr(shift)).ok());
  }
}

TEST(Serial, TextIsNotBinary) {
  for (const Module& module : samples()) EXPECT_FALSE(looks_binary(print(module)));
  EXPECT_FALSE(looks_binary(""));
  Result<Module> empty = read_binary("m.weftb", "");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.diagnostics()[0].message, "not a binary module: the identifier is missing");
}

TEST(Serial, EveryPrefix) {
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_NO_FATAL_FAILURE(survive(bytes.substr(0, length)));
    }
  }
}

TEST(Serial, EveryByteChanged) {
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] + 1);
      ASSERT_NO_FATAL_FAILURE(survive(damaged));
    }
  }
}

TEST(Serial, DamagedBytes) {
  std::mt19937_64 random(1);
  for (const Module& module : samples()) {
    std::string bytes = write_binary(module);
    for (int i = 0; i < suite_count(2000); ++i) {
      ASSERT_NO_FATAL_FAILURE(survive(mutate_bytes(bytes, random)));
    }
  }
}

// One node, listed `nodes` times, that comes from one place, listed `origins` times.
std::string sharing_module(size_t nodes, size_t origins) {
  flatbuffers::FlatBufferBuilder out;
  std::vector<flatbuffers::Offset<flatbuffers::String>> texts = {out.CreateString("somewhere")};
  std::vector<flatbuffers::Offset<flatbuffers::String>> dims = {out.CreateString("2")};
  std::vector<flatbuffers::Offset<serial::Type>> types = {
      serial::CreateType(out, out.CreateString("f32"), out.CreateVector(std::vector<uint32_t>{0}))};
  auto origin = out.CreateVector(std::vector<uint32_t>(origins, 0));
  auto dtype =
      serial::CreateAttrData(out, out.CreateString("dtype"), 0, 0, out.CreateString("f32"));
  auto shape = serial::CreateAttrData(out, out.CreateString("shape"), 0, 0, 0,
                                      out.CreateVector(std::vector<uint32_t>{0}));
  auto value = serial::CreateAttrData(out, out.CreateString("value"), 0,
                                      out.CreateVector(std::vector<double>{1.0}));
  auto attrs =
      out.CreateVector(std::vector<flatbuffers::Offset<serial::AttrData>>{dtype, shape, value});
  auto node = serial::CreateNodeData(out, out.CreateString("constant"), 0, attrs,
                                     out.CreateVector(std::vector<uint32_t>{0}), 0, origin);
  std::vector<flatbuffers::Offset<serial::NodeData>> list(nodes, node);
  std::vector<flatbuffers::Offset<serial::GraphData>> graphs = {
      serial::CreateGraphData(out, out.CreateString("f"), out.CreateVector(list))};
  auto root = serial::CreateModuleData(out, kBinaryVersion, 0, 0, out.CreateVector(dims),
                                       out.CreateVector(types), 0, 0, 0, out.CreateVector(graphs),
                                       out.CreateVector(texts));
  serial::FinishModuleDataBuffer(out, root);
  return std::string(reinterpret_cast<const char*>(out.GetBufferPointer()), out.GetSize());
}

// A node whose body holds one, and so on.
std::string nested_module(int depth) {
  flatbuffers::FlatBufferBuilder out;
  auto name = out.CreateString("f");
  auto op = out.CreateString("region");
  auto graph = serial::CreateGraphData(out, name);
  for (int i = 0; i < depth; ++i) {
    auto node = serial::CreateNodeData(out, op, 0, 0, 0, 0, 0, 0, graph);
    graph = serial::CreateGraphData(
        out, name, out.CreateVector(std::vector<flatbuffers::Offset<serial::NodeData>>{node}));
  }
  auto graphs = out.CreateVector(std::vector<flatbuffers::Offset<serial::GraphData>>{graph});
  auto root = serial::CreateModuleData(out, kBinaryVersion, 0, 0, 0, 0, 0, 0, 0, graphs);
  serial::FinishModuleDataBuffer(out, root);
  return std::string(reinterpret_cast<const char*>(out.GetBufferPointer()), out.GetSize());
}

TEST(Serial, DeepBodiesAreRefused) {
  for (int depth : {1, 3, 4, 100, 10'000}) {
    SCOPED_TRACE(depth);
    Result<Module> module = read_binary("m.weftb", nested_module(depth));
    ASSERT_FALSE(module.ok());
  }
  EXPECT_EQ(read_binary("m.weftb", nested_module(4)).diagnostics()[0].message,
            "graph @f, node 0 (region), body, node 0 (region), body, node 0 (region), body, node 0 "
            "(region): more than 3 bodies inside one another");
}

TEST(Serial, SharedPartsCostNoMoreThanTheFile) {
  Result<Module> small = read_binary("m.weftb", sharing_module(2, 3));
  ASSERT_TRUE(small.ok()) << render(small.diagnostics());
  EXPECT_EQ(small->graphs[0][1].origin, Provenance{"somewhere"});

  // The long list makes room for many visits of the node, were the visits not cheap.
  auto start = std::chrono::steady_clock::now();
  Result<Module> wide = read_binary("m.weftb", sharing_module(15'000, 150'000));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.diagnostics()[0].message,
            "graph @f, node 0 (constant): comes from 150000 places; the limit is 256");
  EXPECT_FALSE(read_binary("m.weftb", sharing_module(100'000, 256)).ok());
}

}  // namespace
}  // namespace weft
