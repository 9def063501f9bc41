#include "tests/json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace vitruvian {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("golden JSON: " + what);
}

}  // namespace

using Parsed = nlohmann::json;

struct JsonReader {
  static Json of(const Parsed& parsed) {
    using Kind = Json::Kind;
    Json json;
    if (parsed.is_boolean()) {
      json.kind_ = Kind::boolean;
      json.number_ = parsed.get<bool>() ? 1 : 0;
    } else if (parsed.is_number()) {
      json.kind_ = Kind::number;
      json.number_ = parsed.get<double>();
    } else if (parsed.is_string()) {
      json.kind_ = Kind::text;
      json.text_ = parsed.get<std::string>();
    } else if (parsed.is_array()) {
      json.kind_ = Kind::list;
      for (const Parsed& x : parsed) json.list_.push_back(of(x));
    } else if (parsed.is_object()) {
      json.kind_ = Kind::object;
      for (const auto& [key, value] : parsed.items()) json.members_.emplace_back(key, of(value));
    }
    return json;
  }

  static Parsed back(const Json& json) {
    using Kind = Json::Kind;
    Parsed parsed;
    switch (json.kind_) {
      case Kind::null:
        break;
      case Kind::boolean:
        parsed = json.number_ != 0;
        break;
      case Kind::number:
        if (std::abs(json.number_) < 1e15 && json.number_ == std::trunc(json.number_)) {
          parsed = static_cast<std::int64_t>(json.number_);
        } else {
          parsed = json.number_;
        }
        break;
      case Kind::text:
        parsed = json.text_;
        break;
      case Kind::list:
        parsed = Parsed::array();
        for (const Json& x : json.list_) parsed.push_back(back(x));
        break;
      case Kind::object:
        parsed = Parsed::object();
        for (const auto& [key, value] : json.members_) parsed[key] = back(value);
        break;
    }
    return parsed;
  }
};

Json Json::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse(path + " cannot be read");
  return JsonReader::of(Parsed::parse(file));
}

const Json* Json::find(const std::string& key) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  return found == members_.end() ? nullptr : &found->second;
}

const Json& Json::at(const std::string& key) const {
  const Json* const found = find(key);
  if (found == nullptr) refuse("there is no '" + key + "'");
  return *found;
}

const Json& Json::at(std::size_t i) const {
  if (i >= list_.size()) refuse("there is no element " + std::to_string(i));
  return list_[i];
}

double Json::number() const {
  if (kind_ != Kind::number && kind_ != Kind::boolean) refuse("not a number: " + dump());
  return number_;
}

const std::string& Json::text() const {
  if (kind_ != Kind::text) refuse("not a text: " + dump());
  return text_;
}

std::string Json::dump() const { return JsonReader::back(*this).dump(); }

}  // namespace vitruvian
