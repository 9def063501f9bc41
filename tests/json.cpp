#include "tests/json.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace vitruvian {

using nlohmann::json;

JsonValue JsonValue::read(const std::string& path) {
  std::ifstream file(path);
  return JsonValue(std::make_shared<const json>(json::parse(file)));
}

bool JsonValue::is_null() const { return value_->is_null(); }
bool JsonValue::is_string() const { return value_->is_string(); }
std::size_t JsonValue::size() const { return value_->size(); }
bool JsonValue::contains(const std::string& key) const { return value_->contains(key); }
JsonValue JsonValue::at(const std::string& key) const {
  return JsonValue(Value(value_, &value_->at(key)));
}
JsonValue JsonValue::at(std::size_t i) const { return JsonValue(Value(value_, &value_->at(i))); }
std::string JsonValue::text() const { return value_->get<std::string>(); }
std::string JsonValue::dump() const { return value_->dump(); }

double JsonValue::number() const {
  return value_->is_boolean() ? value_->get<bool>() : value_->get<double>();
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::items() const {
  std::vector<std::pair<std::string, JsonValue>> all;
  for (const auto& [key, value] : value_->items())
    all.emplace_back(key, JsonValue(Value(value_, &value)));
  return all;
}

std::string from_base64(const std::string& text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6U | static_cast<unsigned>(digits.find(c));
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<char>(bits >> (count -= 8) & 0xFFU));
  }
  return bytes;
}

}  // namespace vitruvian
