#pragma once

#include "vitruvian/core/tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

// Plain loops over multi-indices, as one would write them on paper: what the ops are held against.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

/// A leaf of the given numbers.
inline Tensor vector(const std::vector<double>& values) {
  return Tensor(array({values.size()}, values), true);
}

/// The derivatives of sum(y) in each x.
inline std::vector<Array> slopes(const Tensor& y, const std::vector<Tensor>& xs) {
  return grad(y, xs, full(y.shape(), real{1}));
}

using Index = std::vector<std::size_t>;

/// All multi-indices of a shape, in row-major order.
inline std::vector<Index> indices(const Shape& shape) {
  std::vector<Index> all{{}};
  for (const std::size_t n : shape) {
    std::vector<Index> longer;
    for (const Index& index : all) {
      for (std::size_t i = 0; i < n; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    all = longer;
  }
  return all;
}

/// The element at a multi-index; leading axes that `a` lacks are ignored and axes of length 1 are
/// read at 0, as broadcasting reads.
inline double at(const Array& a, const Index& index) {
  std::size_t place = 0;
  const std::size_t extra = index.size() - a.dimension();
  for (std::size_t axis = 0; axis < a.dimension(); ++axis) {
    const std::size_t n = a.shape()[axis];
    REQUIRE((n == 1 || index[extra + axis] < n));
    place = place * n + (n == 1 ? 0 : index[extra + axis]);
  }
  return static_cast<double>(a.data()[place]);
}

/// Checks the shape of `a` and each element against `expected(index)`, to a few units in the last
/// place of the largest number that the element was made of.
template <class Expected>
void check_elements(const Array& a, const Shape& shape, const Expected& expected, double ulps = 4,
                    double magnitude = 1) {
  REQUIRE(to_string(a.shape()) == to_string(shape));
  constexpr double epsilon = std::numeric_limits<real>::epsilon();
  for (const Index& index : indices(shape)) {
    const double value = at(a, index);
    const double right = expected(index);
    if (std::isnan(right)) {
      CHECK(std::isnan(value));
    } else if (std::isinf(right)) {
      CHECK(value == right);
    } else {
      CHECK(std::abs(value - right) <= ulps * epsilon * std::max(magnitude, std::abs(right)));
    }
  }
}

/// Checks all elements, exactly; NaN equals NaN.
inline void check_values(const Array& a, const std::vector<double>& expected) {
  REQUIRE(a.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(a.data()[i]);
    const auto right = static_cast<double>(static_cast<real>(expected[i]));
    INFO("element ", i, " is ", value, ", not ", right);
    CHECK((value == right || (std::isnan(value) && std::isnan(right))));
  }
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
