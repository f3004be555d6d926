// TrainOptions as config.json has them. One list of fields serves both directions.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <type_traits>

#include "driver/train/module_model.h"

namespace weft::train {
namespace {

constexpr const char* kNorms[] = {"post", "pre", "none"};
constexpr const char* kPositions[] = {"sinusoidal", "learned", "rope", "none"};
constexpr const char* kLosses[] = {"ce", "focal", "mse"};
constexpr const char* kActivations[] = {"relu", "gelu", "gelu_tanh", "silu"};
constexpr const char* kPools[] = {"token", "mean"};
constexpr const char* kSchedules[] = {"noam", "cosine", "linear", "constant"};
constexpr const char* kDtypes[] = {"f32", "f64"};

// `field(name, value)` for numbers, texts and booleans, `choice(name, value, names)` for enums.
template <class Config, class Visitor>
void visit_model(Config& c, Visitor& v) {
  v.field("name", c.name);
  v.field("d_model", c.d_model);
  v.field("encoder_layers", c.encoder_layers);
  v.field("decoder_layers", c.decoder_layers);
  v.field("heads", c.heads);
  v.field("d_k", c.d_k);
  v.field("d_ff", c.d_ff);
  v.choice("activation", c.activation, kActivations);
  v.field("vocab", c.vocab);
  v.field("tied", c.tied);
  v.field("scale_embedding", c.scale_embedding);
  v.choice("positions", c.positions, kPositions);
  v.field("max_length", c.max_length);
  v.choice("norm", c.norm, kNorms);
  v.field("norm_eps", c.norm_eps);
  v.field("bias", c.bias);
  v.field("residual", c.residual);
  v.field("dropout", c.dropout);
  v.field("attn_dropout", c.attn_dropout);
  v.choice("loss", c.loss, kLosses);
  v.field("label_smoothing", c.label_smoothing);
  v.field("focal_gamma", c.focal_gamma);
  v.field("pad", c.pad);
  v.field("ignore_label", c.ignore_label);
  v.field("classes", c.classes);
  v.field("head_hidden", c.head_hidden);
  v.field("image_height", c.image_height);
  v.field("image_width", c.image_width);
  v.field("image_channels", c.image_channels);
  v.field("patch_size", c.patch_size);
  v.field("patch_overlap", c.patch_overlap);
  v.field("stem_layers", c.stem_layers);
  v.field("stem_width", c.stem_width);
  v.choice("pool", c.pool, kPools);
}

// What is known of a model that a module's file holds.
template <class Config, class Visitor>
void visit_module(Config& c, Visitor& v) {
  v.field("vocab", c.vocab);
  v.field("classes", c.classes);
  v.field("max_length", c.max_length);
  v.field("label_smoothing", c.label_smoothing);
  v.field("ignore_label", c.ignore_label);
}

template <class Options, class Visitor>
void visit_training(Options& o, Visitor& v) {
  v.field("optimizer", o.optimizer);
  v.field("beta1", o.beta1);
  v.field("beta2", o.beta2);
  v.field("eps", o.eps);
  v.field("momentum", o.momentum);
  v.field("weight_decay", o.weight_decay);
  v.field("clip", o.clip);
  v.field("accumulate", o.accumulate);
  v.choice("schedule", o.schedule, kSchedules);
  v.field("lr", o.lr);
  v.field("min_lr", o.min_lr);
  v.field("warmup", o.warmup);
  v.field("steps", o.steps);
  v.field("epochs", o.epochs);
  v.field("patience", o.patience);
  v.field("average", o.average);
  v.field("keep_last", o.keep_last);
  v.field("eval_every", o.eval_every);
  v.field("save_every", o.save_every);
  v.field("log_every", o.log_every);
  v.field("seed", o.seed);
  v.field("stop_if_not_finite", o.stop_if_not_finite);
}

struct Writer {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();

  template <class T>
  void field(const char* name, const T& value) {
    json[name] = value;
  }
  template <class T, size_t N>
  void choice(const char* name, const T& value, const char* const (&names)[N]) {
    json[name] = names[static_cast<size_t>(value)];
  }
};

struct Reader {
  const nlohmann::json& json;
  std::string wrong = {};  // the first field that is

  template <class T>
  void field(const char* name, T& value) {
    auto found = json.find(name);
    bool good = found != json.end();
    if constexpr (std::is_same_v<T, bool>) {
      good = good && found->is_boolean();
    } else if constexpr (std::is_same_v<T, std::string>) {
      good = good && found->is_string();
    } else if constexpr (std::is_integral_v<T>) {
      good = good && found->is_number_integer();
    } else {
      good = good && found->is_number();
    }
    if (good) {
      value = found->template get<T>();
    } else if (wrong.empty()) {
      wrong = name;
    }
  }
  template <class T, size_t N>
  void choice(const char* name, T& value, const char* const (&names)[N]) {
    std::string text;
    field(name, text);
    for (size_t i = 0; i < N; ++i) {
      if (text == names[i]) {
        value = static_cast<T>(i);
        return;
      }
    }
    if (wrong.empty()) wrong = name;
  }
};

// Runs of earlier versions have one size for both sides of an image, patches side by side, nothing
// before them and a class token.
nlohmann::json with_image_fields(nlohmann::json model) {
  const nlohmann::json before = {
      {"patch_overlap", 0}, {"stem_layers", 0}, {"stem_width", 1}, {"pool", kPools[0]}};
  for (const auto& [field, value] : before.items()) {
    if (!model.contains(field)) model[field] = value;
  }
  auto size = model.find("image_size");
  if (size == model.end()) return model;
  const nlohmann::json value = *size;
  for (const char* side : {"image_height", "image_width"}) {
    if (!model.contains(side)) model[side] = value;
  }
  return model;
}

}  // namespace

nlohmann::ordered_json to_json(const TrainOptions& options) {
  Writer model;
  const bool from_preset = options.module.empty();
  if (from_preset) {
    visit_model(options.model, model);
    model.choice("dtype", options.model.dtype == DType::f64, kDtypes);
  } else {
    visit_module(options.model, model);
  }
  Writer training;
  visit_training(options, training);
  nlohmann::ordered_json json;
  if (from_preset) {
    json["preset"] = options.preset;
  } else {
    json["module"] = kModuleFile;  // beside config.json
  }
  json["model"] = std::move(model.json);
  json["training"] = std::move(training.json);
  json["data"] = nlohmann::ordered_json::parse(data::to_json(options.task));
  return json;
}

Result<TrainOptions> parse_options(const nlohmann::json& json) {
  for (const char* part : {"model", "training", "data"}) {
    if (!json.is_object() || !json.contains(part) || !json[part].is_object()) {
      return error({}, "config.json has no object '", part, "'");
    }
  }
  TrainOptions options;
  Reader top{json};
  const nlohmann::json model_json = with_image_fields(json["model"]);
  Reader model{model_json};
  if (json.contains("module")) {
    top.field("module", options.module);
    visit_module(options.model, model);
  } else {
    top.field("preset", options.preset);
    visit_model(options.model, model);
    bool wide = false;
    model.choice("dtype", wide, kDtypes);
    options.model.dtype = wide ? DType::f64 : DType::f32;
  }
  Reader training{json["training"]};
  visit_training(options, training);
  for (const Reader* reader : {&top, &model, &training}) {
    if (reader->wrong.empty()) continue;
    return error({}, "config.json: '", reader->wrong, "' is missing or not what it should be");
  }
  WEFT_TRY(options.task, data::parse_task_options(json["data"].dump()));
  return options;
}

}  // namespace weft::train
