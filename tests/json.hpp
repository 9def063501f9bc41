#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace vitruvian {

/// A value of a golden file, which nlohmann reads; his header costs every test that includes it
/// three seconds to compile: only json.cpp does. What is not there, or is of another kind, throws.
class JsonValue {
 public:
  /// Reads the file of this path.
  static JsonValue read(const std::string& path);

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool contains(const std::string& key) const;
  [[nodiscard]] JsonValue at(const std::string& key) const;
  [[nodiscard]] JsonValue at(std::size_t i) const;
  template <class Key>
  JsonValue operator[](const Key& key) const {
    if constexpr (std::is_integral_v<Key>) {
      return at(static_cast<std::size_t>(key));
    } else {
      return at(std::string(key));
    }
  }

  /// A number of type T (true and false are 1 and 0), a std::string, or a vector of such.
  template <class T>
  [[nodiscard]] T get() const {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::is_same_v<T, std::string>) {
      return text();
    } else {
      T all;
      for (const JsonValue& x : *this) all.push_back(x.get<typename T::value_type>());
      return all;
    }
  }
  template <class T>
  requires(std::is_arithmetic_v<T> || requires { typename T::value_type; }) operator T()
      const {  // NOLINT: read like a plain value
    return get<T>();
  }
  template <class T>
  [[nodiscard]] T value(const std::string& key, const T& fallback) const {
    return contains(key) ? at(key).get<T>() : fallback;
  }
  friend bool operator==(const JsonValue& x, std::string_view text) {
    return x.is_string() && x.text() == text;
  }

  struct Iterator {
    const JsonValue* list;
    std::size_t i;
    JsonValue operator*() const { return list->at(i); }
    Iterator& operator++() { return ++i, *this; }
    bool operator!=(const Iterator& other) const { return i != other.i; }
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }
  /// The names and values of an object.
  [[nodiscard]] std::vector<std::pair<std::string, JsonValue>> items() const;
  [[nodiscard]] std::string dump() const;

 private:
  using Value = std::shared_ptr<const nlohmann::json>;  // keeps the whole document alive
  explicit JsonValue(Value value) : value_(std::move(value)) {}
  [[nodiscard]] double number() const;
  [[nodiscard]] std::string text() const;

  Value value_;
};

/// Bytes from the base64 of the golden files.
std::string from_base64(const std::string& text);

}  // namespace vitruvian
