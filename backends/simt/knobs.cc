// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/knobs.h"

#include <algorithm>
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
      {Form::rows, "simt_image_stores", &Profile::image_stores, {0, 1}},
      {Form::map, "simt_map_packs", &Profile::map_packs, {1, 2, 4, 8, 16}},
      {Form::map, "simt_waves", &Profile::map_waves, {1, 2, 4, 8}},
      {Form::map, "simt_map_steps", &Profile::map_steps, {1, 16, 64, 256}},
      {Form::map, "simt_image_stores", &Profile::image_stores, {0, 1}},
      {Form::product, "simt_rows", &Profile::product_rows, {4, 8, 16}},
      {Form::product, "simt_packs", &Profile::product_packs, {1, 2, 4}},
      {Form::product, "simt_waves", &Profile::waves, {1, 2, 4, 8}},
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

bool matters(const ProfileKnob& knob, const Profile& profile) {
  if (knob.number == &Profile::matrices) return profile.workgroup && profile.matrix.m > 0;
  return knob.number != &Profile::shared_loops || profile.workgroup;
}

}  // namespace

void add_knobs(tile::Program& program, const Profile& profile) {
  const Form form = form_of(analyse(program));
  for (const ProfileKnob& item : all_knobs()) {
    if (item.form != form || !matters(item, profile)) continue;
    tile::Knob knob;
    knob.name = item.name;
    knob.value = profile.*item.number;
    for (int64_t choice : item.choices) {
      const bool waves = item.number == &Profile::waves || item.number == &Profile::map_waves;
      bool fits = !waves || choice <= profile.most_waves;
      if (item.number == &Profile::image_stores) fits = choice == 0 || profile.image_updates;
      if (fits) knob.choices.push_back(choice);
    }
    program.knobs.push_back(std::move(knob));
  }
}

Profile with_knobs(const tile::Program& program, Profile profile) {
  const Form form = form_of(analyse(program));
  for (const ProfileKnob& item : all_knobs()) {
    auto found = std::ranges::find(program.knobs, std::string_view(item.name), &tile::Knob::name);
    if (item.form == form && found != program.knobs.end()) profile.*item.number = found->value;
  }
  return profile;
}

}  // namespace weft::simt
