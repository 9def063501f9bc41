#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/regular_file.hpp"
#include "datasets/folder.hpp"
#include "train/recipes.hpp"
#include "train/run_directory.hpp"
#include "train/settings.hpp"
#include "vit/fields.hpp"
#include "vit/weights.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

// The settings of a run out of those that a recipe, a file and the flags say.

namespace vitruvian {
namespace {

using Json = nlohmann::ordered_json;

// Sets `x`, or says what was expected.
template <class T>
std::string from_value(const Json& value, T& x) {
  if constexpr (std::is_enum_v<T>) {
    const auto names = names_of(x);
    const auto found = value.is_string()
                           ? std::find(names.begin(), names.end(), value.get<std::string>())
                           : names.end();
    if (found == names.end()) return fmt::format("none of {}", fmt::join(names, ", "));
    x = static_cast<T>(found - names.begin());
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean()) return "neither true nor false";
    x = value.get<bool>();
  } else if constexpr (is_rate<T>) {
    if (std::is_same_v<T, std::optional<double>> && value.is_null()) {
      x = T();
      return "";
    }
    if (!value.is_number()) return "not a number";
    x = value.get<double>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) return "not a string";
    x = value.get<std::string>();
  } else {
    if (!value.is_number_unsigned()) return "not a whole number";
    x = value.get<T>();
  }
  return "";
}

// A flag's text as the value that a file would hold.
template <class T>
Json value_of(const std::string& text) {
  if constexpr (std::is_same_v<T, std::string> || std::is_enum_v<T>) {
    return text;
  } else {
    const Json value = Json::parse(text, nullptr, false);
    if (!value.is_discarded() || !is_rate<T>) return value;
    char* end = nullptr;  // .5 and 1e3 are no JSON
    const double number = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' ? Json(number) : value;
  }
}

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  TrainOptions any;
  for_each_setting(any, [&](const char* name, auto&, auto...) { names.emplace_back(name); });
  return names;
}

// An object without doubled keys.
Json parse_object(const std::string& text, const std::string& source) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      fail(Exit::usage, "{}: '{}' is said twice", source, parsed.get<std::string>());
    return true;
  };
  try {
    Json json = Json::parse(text, check);
    if (!json.is_object()) fail(Exit::usage, "{}: not a JSON object of settings", source);
    return json;
  } catch (const Json::exception& error) {
    const std::string why = error.what();
    fail(Exit::usage, "{}: not JSON: {}", source, why.substr(why.find("parse error")));
  }
}

// One layer of settings over another.
void lay_over(TrainOptions& options, const Json& json, const std::string& source) {
  for (const auto& item : json.items()) {
    const std::string& key = item.key();  // no structured binding: clang 14 cannot capture one
    const Json& value = item.value();
    if (key == made_by) continue;
    bool known = false;
    for_each_setting(options, [&](const char* name, auto& field, auto...) {
      if (key != name) return;
      known = true;
      const std::string wrong = from_value(value, field);
      if (!wrong.empty()) {
        fail(Exit::usage, "{}: '{}' is {}: {}", source, key, value.dump(), wrong);
      }
    });
    if (known) continue;
    fail(Exit::usage, "{}: there is no setting '{}'; {}", source, key,
         did_you_mean(key, setting_names(), "--print-recipe prints them all"));
  }
  if (json.contains("width") && !json.contains("mlp_width")) {
    options.model.M = 4 * options.model.D;  // the paper's proportion
  }
  if (json.contains("warmup_steps") && !json.contains("warmup")) options.warmup = 1;
}

Json flags_as_json(const std::map<std::string, std::string>& flags) {
  Json json = Json::object();
  TrainOptions scratch;
  for_each_setting(scratch, [&](const char* name, auto& field, auto...) {
    const auto said = flags.find(name);
    if (said == flags.end()) return;
    Json value = value_of<std::decay_t<decltype(field)>>(said->second);
    const std::string wrong = value.is_discarded() ? "not a number" : from_value(value, field);
    if (!wrong.empty()) {
      fail(Exit::usage, "{}: '{}' is {}", flag_of(name), said->second,
           std::is_integral_v<std::decay_t<decltype(field)>> ? "not a whole number" : wrong);
    }
    json[name] = std::move(value);
  });
  return json;
}

// With --init the model is the file's, but for what only training knows; flags may not contradict.
void take_model(TrainOptions& options, const Json& flags) {
  if (options.init.empty()) return;
  const ViTConfig said = options.model;
  ViTConfig model = open_weights(weights_file(options.init),
                                 {.height = said.H, .width = said.W, .classes = said.K})
                        .config;
  model.dropout = said.dropout;
  model.attention_dropout = said.attention_dropout;
  model.embedding_dropout = said.embedding_dropout;
  model.projection_dropout = said.projection_dropout;
  model.mlp_dropout = said.mlp_dropout;
  model.stochastic_depth = said.stochastic_depth;
  if (!options.keep_head) model.head = Head::linear;
  const auto& sizes = {std::tuple{"width", said.D, model.D}, std::tuple{"depth", said.L, model.L},
                       std::tuple{"heads", said.h, model.h},
                       std::tuple{"mlp_width", said.M, model.M},
                       std::tuple{"patch_size", said.P, model.P}};
  for (const auto& [name, mine, its] : sizes) {
    if (flags.contains(name) && mine != its) {
      fail(Exit::usage, "{} {}, but the model in {} has {}", flag_of(name), mine, options.init,
           its);
    }
  }
  options.model = model;
}

// A folder's classes are not known before its place is.
void count_classes(TrainOptions& options) {
  if (options.dataset != "folder" || options.data.empty()) return;
  options.model.K = folder_class_names(options.data).size();
}

std::string read_config(const std::string& path, Exit exit) {
  constexpr std::uint64_t largest = 1'000'000;
  const RegularFile file(path, exit);
  if (file.size() > largest) fail(exit, "{}: {} bytes are no config", path, file.size());
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, text);
  return text;
}

TrainOptions layered(const std::vector<std::pair<Json, std::string>>& layers) {
  std::string dataset = "digits";
  for (const auto& [json, source] : layers) {
    if (json.contains("dataset") && json["dataset"].is_string()) dataset = json["dataset"];
  }
  TrainOptions options = default_options(dataset);
  for (const auto& [json, source] : layers) lay_over(options, json, source);
  if (options.image_size != 0) options.model.H = options.model.W = options.image_size;
  return options;
}

}  // namespace

TrainOptions settle(const Said& said) {
  std::vector<std::pair<Json, std::string>> layers;
  if (!said.recipe.empty()) {
    const Recipe& recipe = recipe_named(said.recipe);
    layers.emplace_back(parse_object(recipe.settings, recipe.name), "recipe " + recipe.name);
  }
  if (!said.config.empty()) {
    layers.emplace_back(parse_object(read_config(said.config, Exit::usage), said.config),
                        said.config);
  }
  const Json flags = flags_as_json(said.flags);
  layers.emplace_back(flags, "the flags");
  TrainOptions options = layered(layers);
  count_classes(options);
  take_model(options, flags);
  return options;
}

TrainOptions settle_resumed(const std::string& directory, const Said& said) {
  const std::string path = (std::filesystem::path(directory) / "config.json").string();
  const std::string text = read_config(path, Exit::checkpoint);
  const Json flags = flags_as_json(said.flags);
  TrainOptions options;
  try {
    options = layered({{parse_object(text, path), path}});
  } catch (const Error& error) {
    fail(Exit::checkpoint, "{}", error.what());
  }
  const Json kept = Json::parse(options.to_json());
  for_each_setting(
      options, [&](const char* name, auto& field, const char*, const char*, bool matters) {
        if (!flags.contains(name)) return;
        const auto before = field;
        from_value(flags[name], field);
        if (matters && field != before) {
          fail(Exit::usage, "{} {} contradicts {}, which has {}: a resumed run keeps its settings",
               flag_of(name), flags[name].dump(), path, kept.value(name, Json()).dump());
        }
      });
  count_classes(options);
  options.out = directory;
  options.resume = true;
  return options;
}

}  // namespace vitruvian
