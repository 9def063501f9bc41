#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace vitruvian {

/// A value of a golden file. nlohmann's costs every test that includes it three seconds to compile:
/// only json.cpp does. What is not there, or is of another kind, throws std::invalid_argument.
class Json {
 public:
  /// Reads the file of this path.
  static Json read(const std::string& path);

  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  [[nodiscard]] bool is_string() const { return kind_ == Kind::text; }
  [[nodiscard]] std::size_t size() const { return list_.size() + members_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool contains(const std::string& key) const { return find(key) != nullptr; }

  [[nodiscard]] const Json& at(const std::string& key) const;
  [[nodiscard]] const Json& at(std::size_t i) const;
  const Json& operator[](const std::string& key) const { return at(key); }
  template <std::size_t N>
  const Json& operator[](const char (&key)[N]) const {  // no pointer: 0 would be one
    return at(std::string(key));
  }
  const Json& operator[](std::size_t i) const { return at(i); }

  /// A number of type T (true and false are 1 and 0), a std::string, or a vector of such.
  template <class T>
  [[nodiscard]] T get() const {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::is_same_v<T, std::string>) {
      return text();
    } else {
      T all;
      for (const Json& x : list_) all.push_back(x.get<typename T::value_type>());
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
    const Json* const found = find(key);
    return found != nullptr ? found->get<T>() : fallback;
  }
  friend bool operator==(const Json& x, std::string_view text) {
    return x.is_string() && x.text_ == text;
  }

  [[nodiscard]] auto begin() const { return list_.begin(); }
  [[nodiscard]] auto end() const { return list_.end(); }
  /// The names and values of an object.
  [[nodiscard]] const std::vector<std::pair<std::string, Json>>& items() const { return members_; }
  [[nodiscard]] std::string dump() const;

 private:
  friend struct JsonReader;
  enum class Kind { null, boolean, number, text, list, object };

  [[nodiscard]] const Json* find(const std::string& key) const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const;

  Kind kind_ = Kind::null;
  double number_ = 0;
  std::string text_;
  std::vector<Json> list_;
  std::vector<std::pair<std::string, Json>> members_;
};

}  // namespace vitruvian
