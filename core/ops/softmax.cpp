#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// An array seen as (outer, n, inner) around the axis that is normalised.
struct Lanes {
  std::size_t outer, n, inner;
};

Lanes lanes_of(const char* op, const Shape& shape, int axis) {
  if (shape.empty() && (axis == 0 || axis == -1)) return {1, 1, 1};  // a scalar is a row of one
  const std::size_t a = normalise_axis(op, axis, shape.size());
  return {flattened(shape, 0, a), shape[a], flattened(shape, a + 1, shape.size())};
}

// The elements of x (outer, a, b) in the order of (outer, b, a).
Array transposed(const Array& x, std::size_t outer, std::size_t a, std::size_t b) {
  Array y = empty(x.shape());
  const real* from = x.data();
  for (std::size_t o = 0; o < outer; ++o) {
    real* const to = y.data() + o * a * b;
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t j = 0; j < b; ++j) to[j * a + i] = *from++;
    }
  }
  return y;
}

// A kernel over contiguous rows, applied along any axis: the last one directly, another one on
// transposed copies.
template <class Kernel, class... Arrays>
Array along(const Lanes& lanes, const Kernel& kernel, const Array& x, const Arrays&... more) {
  const auto [outer, n, inner] = lanes;
  Array y = empty(x.shape());
  if (inner == 1) {
    kernel(x.data(), more.data()..., y.data(), outer, n);
    return y;
  }
  kernel(transposed(x, outer, n, inner).data(), transposed(more, outer, n, inner).data()...,
         y.data(), outer * inner, n);
  return transposed(y, outer, inner, n);
}

}  // namespace

// y_i = exp(x_i - max x) / sum_j exp(x_j - max x)          dx = y (g - sum(g y))
Tensor softmax(const Tensor& x, int axis) {
  given("softmax", "x", x);
  const Lanes lanes = lanes_of("softmax", x.shape(), axis);
  if (Composed::active()) return composed::softmax(x, axis);
  Array y = along(lanes, kernels::softmax<real>, x.value());
  return record("softmax", std::move(y), {x}, [lanes](const Node& n, const Array& g) {
    return cotangents(along(lanes, kernels::softmax_vjp<real>, n.value, g));
  });
}

// y_i = x_i - log sum_j exp x_j                             dx = g - exp(y) sum(g)
Tensor log_softmax(const Tensor& x, int axis) {
  given("log_softmax", "x", x);
  const Lanes lanes = lanes_of("log_softmax", x.shape(), axis);
  if (Composed::active()) return composed::log_softmax(x, axis);
  Array y = along(lanes, kernels::log_softmax<real>, x.value());
  return record("log_softmax", std::move(y), {x}, [lanes](const Node& n, const Array& g) {
    return cotangents(along(lanes, kernels::log_softmax_vjp<real>, n.value, g));
  });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
