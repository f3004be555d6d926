// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/knobs.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "backends/simt/analysis.h"

namespace weft::simt {
namespace {

enum class Form { rows, map, product, flash, flash_backward };

struct ProfileKnob {
  Form form;
  const char* name;
  int64_t Profile::*number;
  std::vector<int64_t> choices;
};

const std::vector<ProfileKnob>& all_knobs() {
  static const std::vector<ProfileKnob> knobs = {
      {Form::rows, "simt_row_packs", &Profile::row_packs, {4, 8, 16, 32}},
      {Form::rows, "simt_waves", &Profile::waves, {1, 2, 4, 8}},
      {Form::rows, "simt_image_stores", &Profile::image_stores, {1, 2}},
      {Form::map, "simt_map_packs", &Profile::map_packs, {1, 2, 4, 8, 16}},
      {Form::map, "simt_waves", &Profile::map_waves, {1, 2, 4, 8}},
      {Form::map, "simt_map_steps", &Profile::map_steps, {1, 16, 64, 256}},
      {Form::map, "simt_image_stores", &Profile::image_stores, {1, 2}},
      {Form::product, "simt_rows", &Profile::product_rows, {4, 8, 16}},
      {Form::product, "simt_packs", &Profile::product_packs, {1, 2, 4}},
      {Form::product, "simt_waves", &Profile::waves, {1, 2, 4, 8}},
      {Form::product, "simt_invocations", &Profile::workgroup_invocations, {64, 128, 256}},
      {Form::product, "simt_lanes", &Profile::product_lanes, {4, 8, 16}},
      {Form::product, "simt_depth", &Profile::stage_depth, {8, 16, 32}},
      {Form::product, "simt_unroll", &Profile::unrolled, {2, 4, 8}},
      {Form::product, "simt_matrices", &Profile::matrices, {1, 2}},
      {Form::flash, "simt_shared", &Profile::shared_loops, {1, 2}},
      {Form::flash_backward, "simt_shared", &Profile::shared_loops, {1, 2}},
      {Form::flash, "simt_queries", &Profile::flash_rows, {1, 2, 4, 8}},
      {Form::flash_backward, "simt_queries", &Profile::flash_rows_backward, {1, 2, 4}},
  };
  return knobs;
}

Form form_of(const Facts& facts) {
  if (facts.chained) return facts.dots.size() > 2 ? Form::flash_backward : Form::flash;
  if (!facts.dots.empty()) return Form::product;
  return facts.reduced.empty() ? Form::map : Form::rows;
}

bool matters(const ProfileKnob& knob, const tile::Program& program, const Profile& profile) {
  if (knob.number == &Profile::matrices) return profile.workgroup && profile.matrix.m > 0;
  if (knob.number == &Profile::shared_loops) return profile.workgroup;
  const bool staged = profile.workgroup && can_stage(program);
  if (knob.form == Form::product && knob.number == &Profile::waves) return !staged;
  const bool of_stages = knob.number == &Profile::workgroup_invocations ||
                         knob.number == &Profile::product_lanes ||
                         knob.number == &Profile::stage_depth;
  return staged || !of_stages;
}

bool fits(const ProfileKnob& knob, int64_t choice, const Profile& profile) {
  const bool waves = knob.number == &Profile::waves || knob.number == &Profile::map_waves;
  if (waves) return choice <= profile.most_waves;
  if (knob.number == &Profile::image_stores) return choice == 1 || profile.texels;
  if (knob.number == &Profile::product_lanes) return choice <= profile.subgroup;
  if (knob.number != &Profile::workgroup_invocations) return true;
  return choice >= profile.subgroup && choice <= profile.most_invocations;
}

// The load path of each buffer that is read: 2 is a texel buffer, or an image where it is written
// too, 1 a storage buffer.
constexpr std::string_view kLoad = "simt_load_";

void add_load_knobs(tile::Program& program, const Profile& profile) {
  const Facts facts = analyse(program);
  std::set<tile::BufferId> read;
  for (const Access& access : facts.accesses) {
    if (!access.writes) read.insert(access.ref->buffer);
  }
  for (tile::BufferId buffer : read) {
    const DType dtype = program.buffers[buffer].dtype;
    const bool written = facts.written.contains(buffer);
    // Images show words alone.
    if (written ? byte_size(dtype) != 4 : dtype == DType::i64) continue;
    const bool usual = written ? profile.image_updates : profile.texel_loads;
    tile::Knob& knob = program.knobs.emplace_back();
    knob.name = std::string(kLoad) + std::to_string(buffer);
    knob.value = usual ? 2 : 1;
    knob.choices = {1, 2};
  }
}

// Keys of a tile of attention: sums are made smaller once for all of them, which orders additions.
void widen_keys(tile::Program& program) {
  for (tile::AxisId axis = 0; axis < program.axes.size(); ++axis) {
    const tile::Extent& extent = program.axes[axis].extent;
    if (extent.kind != tile::Extent::knob || program.in_grid(axis)) continue;
    tile::Knob& knob = program.knobs[extent.knob_index];
    if (knob.kind == tile::Knob::order && !program.axes[axis].inner) knob.choices = {4, 8, 16};
  }
}

}  // namespace

void add_knobs(tile::Program& program, const Profile& profile) {
  const Form form = form_of(analyse(program));
  for (const ProfileKnob& item : all_knobs()) {
    if (item.form != form || !matters(item, program, profile)) continue;
    tile::Knob knob;
    knob.name = item.name;
    knob.value = profile.*item.number;
    for (int64_t choice : item.choices) {
      if (fits(item, choice, profile)) knob.choices.push_back(choice);
    }
    program.knobs.push_back(std::move(knob));
  }
  if (form == Form::flash) widen_keys(program);
  if (profile.texels) add_load_knobs(program, profile);
}

Profile with_knobs(const tile::Program& program, Profile profile) {
  const Form form = form_of(analyse(program));
  for (const ProfileKnob& item : all_knobs()) {
    auto found = std::ranges::find(program.knobs, std::string_view(item.name), &tile::Knob::name);
    if (item.form == form && found != program.knobs.end()) profile.*item.number = found->value;
  }
  for (const tile::Knob& knob : program.knobs) {
    if (!knob.name.starts_with(kLoad)) continue;
    profile.views[static_cast<tile::BufferId>(std::stoul(knob.name.substr(kLoad.size())))] =
        knob.value > 1;
  }
  return profile;
}

}  // namespace weft::simt
