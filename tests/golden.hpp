#pragma once

#include "tests/expect.hpp"
#include "tests/json.hpp"
#include "vitruvian/core/array.hpp"

// Reading the golden numbers of tests/golden, whose scripts describe the layout.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline constexpr bool in_double = sizeof(real) == 8;

namespace golden {

using Json = vitruvian::JsonValue;

inline Json read(const std::string& file) {
  return Json::read(std::string(VITRUVIAN_TEST_DATA) + "/golden/" + file);
}

/// NaN and infinities are texts, which stod reads.
inline double number(const Json& x) {
  return x.is_string() ? std::stod(x.get<std::string>()) : x.get<double>();
}

/// Little-endian numbers of type T in base64.
template <class T>
std::vector<double> unpacked(const std::string& text) {
  const std::string bytes = from_base64(text);
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return {numbers.begin(), numbers.end()};
}

inline Array tensor(const Json& x) {
  std::vector<double> values;
  if (x.contains("f32")) {
    values = unpacked<float>(x.at("f32").get<std::string>());
  } else if (x.contains("f64")) {
    values = unpacked<double>(x.at("f64").get<std::string>());
  } else {
    for (const Json& v : x.at("values")) values.push_back(number(v));
  }
  const auto lengths = x.at("shape").get<std::vector<std::size_t>>();
  return array(Shape(lengths.begin(), lengths.end()), values);
}

/// make_golden.numbers.
inline std::vector<double> numbers(std::uint64_t first, std::size_t n) {
  std::vector<double> x(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint64_t i = first + k;
    x[k] = static_cast<double>((7919 * i + 31 * (i * i % 613)) % 1009) / 504.5 - 1;
  }
  return x;
}

/// The largest of the magnitudes.
inline double largest(const Array& a) {
  double most = 0;
  for (const real x : a) most = std::max(most, std::abs(static_cast<double>(x)));
  return most;
}

/// max |ours - golden| / max |golden| over the finite entries (0 for two equal arrays of zeros);
/// infinite when the shapes differ, or where one has a NaN or an infinity that the other has not.
inline double difference(const Array& ours, const Array& golden) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (ours.shape() != golden.shape()) return infinity;
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < golden.size(); ++i) {
    const auto a = static_cast<double>(ours.data()[i]);
    const auto b = static_cast<double>(golden.data()[i]);
    if (std::isnan(a) != std::isnan(b)) return infinity;
    if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
    if (std::isnan(b) || a == b) continue;
    worst = std::max(worst, std::abs(a - b));  // infinite where only one is
  }
  return worst == 0 ? 0 : worst / largest;
}

}  // namespace golden
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
