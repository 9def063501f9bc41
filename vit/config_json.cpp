#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/fields.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>

namespace vitruvian {
namespace {

using Json = nlohmann::ordered_json;

Json written(const std::optional<double>& x) { return x ? Json(*x) : Json(); }

template <class T>
Json written(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return names_of(value)[static_cast<std::size_t>(value)];
  } else {
    return value;
  }
}

void read(const Json& json, const char* key, std::size_t& n) {
  if (!json.is_number_unsigned()) {
    fail(Exit::checkpoint, "the model's config: '{}' is not a whole number", key);
  }
  n = json.get<std::size_t>();
}

void read(const Json& json, const char* key, double& x) {
  if (!json.is_number()) fail(Exit::checkpoint, "the model's config: '{}' is not a number", key);
  x = json.get<double>();
}

void read(const Json& json, const char* key, std::optional<double>& x) {
  read(json, key, x.emplace());
}

void read(const Json& json, const char* key, bool& b) {
  if (!json.is_boolean()) {
    fail(Exit::checkpoint, "the model's config: '{}' is neither true nor false", key);
  }
  b = json.get<bool>();
}

template <class Choice>
void read(const Json& json, const char* key, Choice& choice) {
  const auto names = names_of(choice);
  const auto found = std::find(names.begin(), names.end(),
                               json.is_string() ? json.get<std::string>() : std::string());
  if (found == names.end()) {
    fail(Exit::checkpoint, "the model's config: '{}' is none of {}", key, fmt::join(names, ", "));
  }
  choice = static_cast<Choice>(found - names.begin());
}

}  // namespace

std::string ViTConfig::to_json() const {
  Json json;
  for_each_size(*this, [&](const char* key, std::size_t n, const char*) { json[key] = n; });
  for_each_rate(*this, [&](const char* key, double rate) { json[key] = rate; });
  const ViTConfig usual;
  Json defaults;
  for_each_option(usual,
                  [&](const char* key, const auto& value) { defaults[key] = written(value); });
  for_each_option(*this, [&](const char* key, const auto& value) {
    if (Json text = written(value); text != defaults[key]) json[key] = std::move(text);
  });
  return json.dump();
}

ViTConfig ViTConfig::from_json(const std::string& text) {
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) fail(Exit::checkpoint, "the model's config is not a JSON object");
  ViTConfig config;
  std::set<std::string_view> known;
  const auto required = [&](const char* key, auto& value) {
    known.insert(key);
    if (!json.contains(key)) fail(Exit::checkpoint, "the model's config lacks '{}'", key);
    read(json[key], key, value);
  };
  for_each_size(config, [&](const char* key, std::size_t& n, const char*) { required(key, n); });
  for_each_rate(config, required);
  for_each_option(config, [&](const char* key, auto& value) {
    known.insert(key);
    if (json.contains(key)) read(json[key], key, value);
  });
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key)) fail(Exit::checkpoint, "the model's config has an unknown '{}'", key);
  }
  try {
    config.validate();
  } catch (const Error& error) {
    fail(Exit::checkpoint, "the model's config: {}", error.what());
  }
  return config;
}

}  // namespace vitruvian
