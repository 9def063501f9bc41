#pragma once

#include "tests/golden.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"

// What the ops are held against: plain loops over multi-indices, as one would write them on paper;
// a fused op's readable twin; and PyTorch's numbers.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

using Tensors = std::vector<Tensor>;
using Shapes = std::vector<Shape>;

/// A leaf of the given numbers.
inline Tensor vector(const std::vector<double>& values) {
  return Tensor(array({values.size()}, values), true);
}

inline double number(const Tensor& x) { return static_cast<double>(x.item()); }

/// The derivatives of sum(y) in each x.
inline std::vector<Array> slopes(const Tensor& y, const Tensors& xs) {
  return grad(y, xs, full(y.shape(), real{1}));
}

/// The gradient at x of the sum of f's elements, each weighted by its own in g.
inline Array gradient(const std::function<Tensor(const Tensor&)>& f, const Array& x,
                      const Array& g) {
  const Tensor leaf(x, true);
  return grad(f(leaf), {leaf}, g)[0];
}

// --- plain loops ---------------------------------------------------------------------------------

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

/// Checks the shape of `y` and each element against `expected(index)`, to a few units in the last
/// place of the largest number that the element was made of.
template <class Expected>
void check_elements(const Tensor& y, const Shape& shape, const Expected& expected, double ulps = 4,
                    double magnitude = 1) {
  const Array& a = y.value();
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

/// Checks all elements, exactly or to `tolerance`; NaN equals NaN.
inline void check_values(const Tensor& y, const std::vector<double>& expected,
                         double tolerance = 0) {
  REQUIRE(y.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(y.value().data()[i]);
    const double right =
        tolerance > 0 ? expected[i] : static_cast<double>(static_cast<real>(expected[i]));
    INFO("element ", i, " is ", value, ", not ", right);
    CHECK((value == right || std::abs(value - right) <= tolerance ||
           (std::isnan(value) && std::isnan(right))));
  }
}

// --- readable twins ------------------------------------------------------------------------------

using golden::largest;

/// The input at `i`, or an absent tensor.
inline Tensor given(const Tensors& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }

/// The largest |a - b|; infinite where shapes differ or only one is NaN, and 0 for equal
/// infinities.
inline double distance(const Tensor& y, const Tensor& expected) {
  const Array& a = y.value();
  const Array& b = expected.value();
  if (a.shape() != b.shape()) return inf;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a.data()[i]);
    const auto y_i = static_cast<double>(b.data()[i]);
    if (x == y_i || (std::isnan(x) && std::isnan(y_i))) continue;
    if (std::isnan(x) || std::isnan(y_i)) return inf;
    most = std::max(most, std::abs(x - y_i));
  }
  return most;
}

/// Holds one function against another at normal inputs: value and every gradient, under a random
/// cotangent. The error of an array is relative to its own largest entry, or to a thousandth of the
/// largest of all gradients where its true value is zero.
inline void check_twins(const Shapes& shapes, const Function& f, const Function& twin) {
  // In double; and in float, where the two forms round differently in every step: the largest that
  // was measured is 1.5e-6, twelve times 2^-23.
  constexpr double tolerance = in_double ? 1e-12 : 4e-6;
  Tensors xs;
  Tensors ys;
  std::string label;
  for (const Shape& shape : shapes) {
    xs.emplace_back(random_normal(shape, 17 + xs.size()), true);
    ys.emplace_back(xs.back().value(), true);
    label += to_string(shape) + " ";
  }
  CAPTURE(label);
  const Tensor y = f(xs);
  const Tensor expected = twin(ys);
  REQUIRE(to_string(y.shape()) == to_string(expected.shape()));
  CHECK(std::string(y.node().op) != expected.node().op);  // not one function twice
  CHECK(distance(y, expected) <= tolerance * largest(expected.value()));
  const Array c = random_normal(y.shape(), 99);
  const std::vector<Array> g = grad(y, xs, c);
  const std::vector<Array> g_expected = grad(expected, ys, c);
  double scale = 0;
  for (const Array& e : g_expected) scale = std::max(scale, largest(e));
  for (std::size_t i = 0; i < g.size(); ++i) {
    CAPTURE(i);
    CHECK(distance(g[i], g_expected[i]) <=
          tolerance * std::max(largest(g_expected[i]), 1e-3 * scale));
  }
}

/// Holds a fused op against its readable twin, which it is itself under `Composed`.
inline void check_fused(const Shapes& shapes, const Function& f) {
  check_twins(shapes, f, [&](const Tensors& x) {
    const Composed textbook;
    return f(x);
  });
}

// --- PyTorch's numbers ---------------------------------------------------------------------------

using golden::Json;
using GoldenOp = std::function<Tensor(const Tensors& x, const Json& attributes)>;

/// How the cases of ops.json are called: ops_test.cpp holds each against its file.
struct Golden {
  static std::map<std::string, GoldenOp>& ops() {
    static std::map<std::string, GoldenOp> all;
    return all;
  }
  explicit Golden(std::map<std::string, GoldenOp> family) { ops().merge(family); }
};

inline Shape lengths(const Json& a) {
  const auto n = a.get<std::vector<std::size_t>>();
  return Shape(n.begin(), n.end());
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
