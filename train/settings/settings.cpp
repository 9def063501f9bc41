#include "vitruvian/train/settings/settings.hpp"
#include "vitruvian/core/base/json.hpp"

#include <fmt/format.h>

#include <utility>

namespace vitruvian {
bool Bounds::holds(double x) const {
  return (above ? x > low : x >= low) && (below ? x < high : x <= high);  // NaN is nowhere
}

std::string Bounds::text(bool whole) const {
  const std::string kind = whole ? "a whole number" : "a number";
  if (whole && high > 1e19) return kind + " from 0 to 18446744073709551615";
  if (!above && !below) return fmt::format("{} from {:.0f} to {:.0f}", kind, low, high);
  return fmt::format("{} {} {:.0f} and {} {:.0f}", kind, above ? "above" : "of at least", low,
                     below ? "below" : "at most", high);
}

std::string TrainOptions::to_json(const std::map<std::string, std::string>& maker) const {
  Json json;
  if (!own_model.empty()) json[vitruvian::own_model] = own_model;
  for_each_setting(*this, [&](const auto& field, const Setting& s) {
    if (!own_model.empty() && of_built_in(s.name, s.group)) return;
    if (Json value = to_value<Json>(field); !value.is_null()) json[s.name] = std::move(value);
  });
  if (!maker.empty()) {
    json[made_by]["version"] = VITRUVIAN_VERSION;
    for (const auto& [key, value] : maker) json[made_by][key] = value;
  }
  return dump_json(json, 2) + "\n";
}

std::map<std::string, std::string> flag_values(const TrainOptions& options) {
  std::map<std::string, std::string> values;
  for_each_setting(options, [&](const auto& field, const Setting& s) {
    const Json value = to_value<Json>(field);
    if (value.is_string()) values[s.name] = value.get<std::string>();
    if (value.is_number()) values[s.name] = dump_json(value);
  });
  return values;
}

std::string with_settings(const std::string& config, const TrainOptions& options) {
  Json json = parse_json(config);
  json.update(parse_json(options.to_json()));
  return dump_json(json, 2) + "\n";
}

std::string disagreement(const std::string& config, const std::string& other) {
  if (std::string settings = difference(config, other); !settings.empty()) return settings;
  const Json one = parse_json(config).value(made_by, Json::object());
  const Json two = parse_json(other).value(made_by, Json::object());
  for (const auto& item : one.items()) {
    const std::string its = two.value(item.key(), "");
    if (item.value() != its) {
      return fmt::format("'{}' is {}, not {}", item.key(), item.value().get<std::string>(), its);
    }
  }
  return "";
}

std::string maker_of(const std::string& config, const char* key) {
  const Json json = parse_json(config, nullptr, false);
  return json.is_object() && json.contains(made_by) ? json[made_by].value(key, "") : "";
}

bool same_machine(const std::string& config, const std::string& other) {
  return maker_of(config, "matrix_product") == maker_of(other, "matrix_product") &&
         maker_of(config, "instruction_set") == maker_of(other, "instruction_set");
}

std::string flag_name(std::string setting) {
  std::replace(setting.begin(), setting.end(), '_', '-');
  return "--" + setting;
}

std::string difference(const std::string& settings, const std::string& others) {
  const Json one = parse_json(settings, nullptr, false);
  const Json other = parse_json(others, nullptr, false);
  std::string result;
  const TrainOptions usual;
  for_each_setting(usual, [&](const auto& field, const Setting& s) {
    const auto value = [&](const Json& json) {  // what an older version did not know is as usual
      return json.is_object() && json.contains(s.name) ? json[s.name] : to_value<Json>(field);
    };
    if (result.empty() && s.matters && value(one) != value(other)) {
      result =
          fmt::format("'{}' is {}, not {}", s.name, dump_json(value(one)), dump_json(value(other)));
    }
  });
  return result;
}

}  // namespace vitruvian
