#pragma once

#include "vitruvian/core/gradcheck.hpp"
#include "vitruvian/core/tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

// Holding one function against another: value and every gradient, under a random cotangent.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// In double; and in float, where the two forms round differently in every step: the largest that
/// was measured is 1.5e-6, twelve times 2^-23.
inline constexpr double twin_tolerance = sizeof(real) == 8 ? 1e-12 : 4e-6;

inline double largest(const Array& a) {
  double most = 0;
  for (const real x : a) most = std::max(most, std::abs(static_cast<double>(x)));
  return most;
}

/// The input at `i`, or an absent tensor.
inline Tensor given(const std::vector<Tensor>& x, std::size_t i) {
  return i < x.size() ? x[i] : Tensor();
}

/// The largest |a - b|; infinite where shapes differ or only one is NaN, and 0 for equal
/// infinities.
inline double distance(const Array& a, const Array& b) {
  if (a.shape() != b.shape()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a.data()[i]);
    const auto y = static_cast<double>(b.data()[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::isnan(x) || std::isnan(y)) return INFINITY;
    most = std::max(most, std::abs(x - y));
  }
  return most;
}

/// Both functions at the same inputs. The error of an array is relative to its own largest entry,
/// or to a thousandth of the largest of all gradients where its true value is zero.
inline void check_twins(const std::vector<Array>& values, const Function& f, const Function& twin) {
  std::vector<Tensor> xs;
  std::vector<Tensor> ys;
  for (const Array& value : values) {
    xs.emplace_back(value, true);
    ys.emplace_back(value, true);
  }
  const Tensor y = f(xs);
  const Tensor expected = twin(ys);
  REQUIRE(to_string(y.shape()) == to_string(expected.shape()));
  CHECK(distance(y.value(), expected.value()) <= twin_tolerance * largest(expected.value()));
  const Array c = random_normal(y.shape(), 99);
  const std::vector<Array> g = grad(y, xs, c);
  const std::vector<Array> g_expected = grad(expected, ys, c);
  double scale = 0;
  for (const Array& e : g_expected) scale = std::max(scale, largest(e));
  for (std::size_t i = 0; i < g.size(); ++i) {
    CAPTURE(i);
    CHECK(distance(g[i], g_expected[i]) <=
          twin_tolerance * std::max(largest(g_expected[i]), 1e-3 * scale));
  }
}

/// The same at normal inputs of the given shapes.
inline void check_twins(const std::vector<Shape>& shapes, const Function& f, const Function& twin) {
  std::vector<Array> values;
  std::string label;
  for (const Shape& shape : shapes) {
    values.push_back(random_normal(shape, 17 + values.size()));
    label += to_string(shape) + " ";
  }
  CAPTURE(label);
  check_twins(values, f, twin);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
