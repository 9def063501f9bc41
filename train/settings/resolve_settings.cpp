#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/settings/settings.hpp"
#include "vitruvian/train/training_data.hpp"
#include "vitruvian/vit/fields.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

// The settings of a run out of those that a recipe, a file and the flags say.

namespace vitruvian {
namespace {

// Sets `x`, or says what is wrong: "not a whole number from 1 to 1000000".
template <class T>
std::string from_value(const Json& value, const Bounds& bounds, T& x) {
  if constexpr (std::is_same_v<T, std::optional<double>>) {
    if (value.is_null()) {
      x = T();
      return "";
    }
  }
  T taken{};
  const std::string wrong = take_value(value, taken);
  constexpr bool whole = std::is_integral_v<T>;
  if constexpr (is_rate<T> || (whole && !std::is_same_v<T, bool>)) {
    const bool holds = wrong.empty() && bounds.holds(value.template get<double>());
    if (!holds) return "not " + bounds.text(whole);
  }
  if (wrong.empty()) x = std::move(taken);
  return wrong;
}

// A value of a file in a message: a line, and no book.
std::string shortened(const std::string& text) {
  constexpr std::size_t longest = 60;
  if (console::characters(text) <= longest) return text;
  return console::first_characters(text, longest) + "...";
}

// A flag's text as the value that a file would hold.
template <class T>
Json value_of(const std::string& text) {
  if constexpr (std::is_same_v<T, std::string> || std::is_enum_v<T>) {
    return text;
  } else {
    const Json value = parse_json(text, nullptr, false);
    if (!value.is_discarded() || !is_rate<T>) return value;
    char* end = nullptr;  // .5 and 1e3 are no JSON
    const double number = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' ? Json(number) : value;
  }
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  TrainOptions any;
  for_each_setting(any, [&](auto&, const Setting& s) { names.emplace_back(s.name); });
  return names;
}

// The setting whose number no double holds; nlohmann's parser says only which number.
[[noreturn]] void too_large(const std::string& source, const std::string& key,
                            const std::string& why) {
  const std::size_t begin = std::min(why.find('\''), why.size());
  std::string expected = "beyond every number";
  TrainOptions any;
  for_each_setting(any, [&](auto& field, const Setting& s) {
    using T = std::decay_t<decltype(field)>;
    if (key != s.name || !(is_rate<T> || std::is_integral_v<T>) || std::is_same_v<T, bool>) return;
    expected = "not " + s.bounds.text(std::is_integral_v<T>);
  });
  std::string number = why.substr(begin);
  number.erase(std::remove(number.begin(), number.end(), '\''), number.end());
  fail(Exit::usage, "{}: '{}' is {}: {}", source, shortened(key), shortened(number), expected);
}

// An object without doubled keys, beyond reason neither in depth nor in number.
Json parse_object(const std::string& text, const std::string& source) {
  constexpr int deepest = 8;
  constexpr std::size_t most_settings = 1000;
  std::vector<std::set<std::string>> keys;
  std::size_t count = 0;
  std::string last;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > deepest) fail(Exit::usage, "{}: nested too deeply for settings", source);
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    last = parsed.get<std::string>();
    if (!keys.back().insert(last).second) {
      fail(Exit::usage, "{}: '{}' is said twice", source, shortened(last));
    }
    if (++count > most_settings)
      fail(Exit::usage, "{}: more than {} settings", source, most_settings);
    return true;
  };
  try {
    Json json = parse_json(text, check);
    if (!json.is_object()) fail(Exit::usage, "{}: not a JSON object of settings", source);
    return json;
  } catch (const Json::out_of_range& error) {
    too_large(source, last, error.what());
  } catch (const Json::exception& error) {
    const std::string why = error.what();
    const std::size_t begin = why.find("parse error");
    fail(Exit::usage, "{}: not JSON: {}", source,
         shortened(begin == std::string::npos ? why : why.substr(begin)));
  }
}

// One layer of settings over another.
void lay_over(TrainOptions& options, const Json& json, const std::string& source) {
  for (const auto& item : json.items()) {
    const std::string& key = item.key();  // no structured binding: clang 14 cannot capture one
    const Json& value = item.value();
    if (key == made_by) continue;
    if (key == own_model && value.is_string()) {
      options.own_model = value.get<std::string>();
      continue;
    }
    bool known = false;
    for_each_setting(options, [&](auto& field, const Setting& s) {
      if (key != s.name) return;
      known = true;
      const std::string wrong = from_value(value, s.bounds, field);
      if (!wrong.empty()) {
        fail(Exit::usage, "{}: '{}' is {}: {}", source, key, shortened(dump_json(value)), wrong);
      }
    });
    if (known) continue;
    fail(Exit::usage, "{}: there is no setting '{}'; {}", source, shortened(key),
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
  for_each_setting(scratch, [&](auto& field, const Setting& s) {
    const auto said = flags.find(s.name);
    if (said == flags.end()) return;
    Json value = value_of<std::decay_t<decltype(field)>>(said->second);
    const std::string wrong = from_value(value, s.bounds, field);
    if (!wrong.empty()) {
      fail(Exit::usage, "{}: '{}' is {}", flag_name(s.name), shortened(said->second), wrong);
    }
    json[s.name] = std::move(value);
  });
  return json;
}

// What is asked without labels is no class.
Head usual_head(Task task) { return task == Task::masked ? Head::none : Head::linear; }

// Where nothing is said of it, a student has DeiT's token if its model can.
bool takes_distillation_token(const TrainOptions& options) {
  const ViTConfig& c = options.model;
  return !options.teacher.empty() && c.head == Head::linear && !c.mean_pooling;
}

// A run that is resumed, perhaps from another folder, asks its teacher again, and before its first
// checkpoint reads what it begins with again.
void keep_place(std::string& weights) {
  if (weights.empty()) return;
  weights = std::filesystem::absolute(weights).lexically_normal().string();
}

// With --init the model is the file's, but for what only training knows; flags may not contradict.
void take_model(TrainOptions& options, const Json& flags) {
  if (options.init.empty()) return;
  const ViTConfig said = options.model;
  ViTConfig model =
      open_weights(weights_file(options.init), {.heads = flags.contains("heads") ? said.h : 0,
                                                .height = said.H,
                                                .width = said.W,
                                                .classes = said.K})
          .config;
  model.dropout = said.dropout;
  model.attention_dropout = said.attention_dropout;
  model.embedding_dropout = said.embedding_dropout;
  model.projection_dropout = said.projection_dropout;
  model.mlp_dropout = said.mlp_dropout;
  model.stochastic_depth = said.stochastic_depth;
  if (!options.keep_head) model.head = usual_head(options.task);
  const Json mine = parse_json(options.to_json());
  options.model = model;
  const Json its = parse_json(options.to_json());
  const auto text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : dump_json(value);
  };
  for (const auto& [name, flag] : flags.items()) {
    if (name == "initialisation" || mine.value(name, Json()) == its.value(name, Json())) continue;
    fail(Exit::usage, "{} {}, but the model in {} has {}", flag_name(name), text(mine[name]),
         options.init, text(its[name]));
  }
}

// A folder's classes are not known before its place is.
void count_classes(TrainOptions& options) {
  if (options.dataset != "folder" || options.data.empty()) return;
  options.model.K = folder_class_names(options.data).size();
  if (options.task == Task::classify) check_several_classes(options.data);
}

constexpr std::uint64_t largest_settings = 1'000'000;

TrainOptions layered(const std::vector<std::pair<Json, std::string>>& layers) {
  std::string dataset = "digits";
  for (const auto& [json, source] : layers) {
    if (json.contains(own_model)) break;  // its data set is its own, too
    if (json.contains("dataset") && json["dataset"].is_string()) dataset = json["dataset"];
  }
  TrainOptions options = default_options(dataset);
  bool head_is_said = false;
  bool distilled_is_said = false;
  for (const auto& [json, source] : layers) {
    lay_over(options, json, source);
    head_is_said = head_is_said || json.contains("head");
    distilled_is_said = distilled_is_said || json.contains("distilled");
  }
  if (!head_is_said) options.model.head = usual_head(options.task);
  if (!distilled_is_said) options.model.distilled = takes_distillation_token(options);
  if (options.image_size != 0) options.model.H = options.model.W = options.image_size;
  return options;
}

}  // namespace

TrainOptions resolve_settings(const SettingSources& said) {
  std::vector<std::pair<Json, std::string>> layers;
  if (!said.recipe.empty()) {
    const Recipe& recipe = recipe_named(said.recipe);
    layers.emplace_back(parse_object(recipe.settings, recipe.name), "recipe " + recipe.name);
  }
  if (!said.config.empty()) {
    layers.emplace_back(
        parse_object(RegularFile(said.config, Exit::usage).text(largest_settings, "a config"),
                     said.config),
        said.config);
  }
  const Json flags = flags_as_json(said.flags);
  layers.emplace_back(flags, "the flags");
  TrainOptions options = layered(layers);
  if (!options.own_model.empty()) {
    fail(Exit::usage, "{}: the settings of {}, which only the program that trained it knows",
         said.config, options.own_model);
  }
  count_classes(options);
  take_model(options, flags);
  keep_place(options.init);
  keep_place(options.teacher);
  return options;
}

TrainOptions settings_of(const std::string& json, const std::string& source) {
  try {
    return layered({{parse_object(json, source), source}});
  } catch (const Error& error) {
    fail(Exit::checkpoint, "{}", error.what());
  }
}

std::string config_of_run(const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory) / "config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored)) {
    fail(Exit::checkpoint, "{}: there is no such folder", directory);
  }
  if (!std::filesystem::exists(path, ignored)) {
    fail(Exit::checkpoint, "{}: no run, for it has no config.json{}", directory,
         runs_in(directory));
  }
  return RegularFile(path.string(), Exit::checkpoint).text(largest_settings, "a config");
}

TrainOptions settings_of_run(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / "config.json").string();
  TrainOptions options = settings_of(config_of_run(directory), path);
  if (options.own_model.empty()) return options;
  fail(Exit::checkpoint, "{}: a run of {} on {}, which only the program that trained it knows",
       path, options.own_model, options.dataset);
}

TrainOptions resumed_settings(const std::string& directory, const SettingSources& said) {
  const Json flags = flags_as_json(said.flags);
  TrainOptions options = settings_of_run(directory);
  const Json kept = parse_json(options.to_json());
  for_each_setting(options, [&](auto& field, const Setting& s) {
    if (!flags.contains(s.name)) return;
    const auto before = field;
    from_value(flags[s.name], s.bounds, field);
    if (s.matters && field != before && std::string(s.name) != "epochs") {
      fail(Exit::usage, "{} {} contradicts {}, which has {}: a resumed run keeps its settings",
           flag_name(s.name), dump_json(flags[s.name]), directory,
           dump_json(kept.value(s.name, Json())));
    }
  });
  if (!options.teacher.empty() && kept.value("teacher", "").empty()) {
    fail(Exit::usage, "--teacher {}: {} has none, and a resumed run keeps its settings",
         options.teacher, directory);
  }
  const std::size_t planned = kept["epochs"];
  if (options.epochs < planned) {
    fail(Exit::usage,
         "--epochs {}, but {} is a run of {}: a resumed run can be prolonged, not shortened",
         options.epochs, directory, planned);
  }
  if (options.epochs > planned) options.prolong_to = std::exchange(options.epochs, planned);
  try {
    count_classes(options);
  } catch (const Error& error) {
    throw perhaps_moved(error, directory);
  }
  keep_place(options.teacher);
  options.out = directory;
  options.resume = true;
  return options;
}

}  // namespace vitruvian
