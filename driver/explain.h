// What became of a graph: its regions and kernels, what they cost, and the memory they need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"

namespace weft {

// Softmaxes between two products, by what runs them.
struct AttentionCount {
  int64_t forward_fused = 0;
  int64_t backward_fused = 0;
  int64_t unfused = 0;
};

// One of them, in words.
struct AttentionLine {
  std::string value = {};
  std::string form = {};    // "forward, causal, dropout 0.1; q f32[B, 8, T, 64], k .."
  std::string tiles = {};   // "attention_2 BI 64, BJ 64"
  std::string reason = {};  // if it is not fused
  int64_t saved_bytes = 0;  // of scores, which are never in memory
};

struct RegionReport {
  std::string name;     // of its first result
  std::string kind;     // "matmul"
  std::string chunked;  // the repeat that it is part of; may be empty
  std::string ops;      // "matmul add gelu", in order, views left out
  std::vector<std::string> kernels;
  std::vector<std::string> exceptions;  // kernels of another form than GraphReport::kernel_forms
  std::vector<std::string> origins;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int64_t flops = 0;
};

struct SplitReport {
  std::string producer;
  std::string consumer;
  std::string reason;
};

struct LiveBuffer {
  std::string name;
  int64_t bytes = 0;
};

struct PeakMemory {
  int64_t bytes = 0;             // of the arena
  std::string region;            // what runs at the busiest step
  std::vector<LiveBuffer> live;  // at that step, the largest first
};

struct GraphReport {
  std::string name;
  DimBinding dims;
  std::vector<RegionReport> regions;
  std::vector<SplitReport> splits;
  std::string kernel_forms;  // of all kernels; empty for the CPU
  int64_t kernels = 0;       // launches; those of a repeat count once
  int64_t copies = 0;
  int64_t bytes = 0;  // read and written by regions
  int64_t flops = 0;
  int64_t storage_bytes = 0;  // read or updated
  int64_t packed_bytes = 0;   // of copies that products read: made once, not in every run
  int64_t beside_bytes = 0;   // of those whose storage is read by something else too
  PeakMemory peak;
  AttentionCount attention;
  std::vector<AttentionLine> attention_lines;
};

// Of kernels for a device that leaves a choice.
struct KernelForms {
  std::string all = {};                      // "llvmpipe: tiles in registers, reads .."
  std::vector<std::string> exceptions = {};  // one per program, most of them empty
};
// Empty for the CPU. Opens the device.
Result<KernelForms> kernel_forms(const PlannedModule& planned, const CompileRequest& request);

// What plan_module made of a module.
struct Explained {
  const Module& fused;
  const std::vector<tile::Program>& programs;
  const std::vector<PackedStorage>& packed;
  const AttentionReport& attention;
  KernelForms forms = {};
};

// `dims` has a size for every symbol of the graph.
Result<GraphReport> explain_graph(const Explained& what, const GraphPlan& plan,
                                  const DimBinding& dims);

// The arena at given sizes, as the runtime lays it out.
Result<PeakMemory> peak_memory(const GraphPlan& plan, const DimBinding& dims);
// The attentions of one graph (explain_attention.cc).
AttentionCount count_attention(const AttentionReport& report, const std::string& graph);
Result<std::vector<AttentionLine>> explain_attention(const Explained& what, const GraphPlan& plan,
                                                     const DimBinding& dims);
int64_t count_launches(const std::vector<Step>& steps);

// As `weft explain` prints it.
std::string explanation_text(const GraphReport& report);

}  // namespace weft
