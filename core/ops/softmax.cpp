#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// An array seen as (outer, n, inner) around the axis that is normalised. A row of none (n = 0)
// stays one; the textbook form asks for its largest, and would refuse it.
struct Lanes {
  std::size_t outer, n, inner;
};

Lanes lanes_of(const char* op, const Tensor& x, int axis) {
  const Shape& shape = given(op, "x", x).shape();
  if (shape.empty() && (axis == 0 || axis == -1)) return {1, 1, 1};  // a scalar is a row of one
  const std::size_t a = normalise_axis(op, axis, shape.size());
  return {flattened(shape, 0, a), shape[a], flattened(shape, a + 1, shape.size())};
}

// A kernel over contiguous rows, applied along any axis: the last one directly, another one on
// transposed copies.
template <class Kernel, class... Arrays>
Array over_lanes(const Lanes& lanes, const Kernel& kernel, const Array& x, const Arrays&... more) {
  const auto [outer, n, inner] = lanes;
  Array y = empty(x.shape());
  if (inner == 1) {
    kernel(x.data(), more.data()..., y.data(), outer, n);
    return y;
  }
  const Strided last = exchanged({outer, n, inner}, 1, 2);
  kernel(read(x, last).data(), read(more, last).data()..., y.data(), outer * inner, n);
  return reshaped(read(y, exchanged({outer, inner, n}, 1, 2)), x.shape());
}

}  // namespace

// y_i = exp(x_i - max x) / sum_j exp(x_j - max x)          dx = y (g - sum(g y))
Tensor softmax(const Tensor& x, int axis) {
  const Lanes lanes = lanes_of("softmax", x, axis);
  if (Composed::active() && lanes.n != 0) return composed::softmax(x, axis);
  Array y = over_lanes(lanes, kernels::softmax<real>, x.value());
  return record("softmax", std::move(y), {x}, [lanes](const Node& n, const Array& g) {
    return cotangents(over_lanes(lanes, kernels::softmax_vjp<real>, n.value, g));
  });
}

// y_i = x_i - log sum_j exp x_j                             dx = g - exp(y) sum(g)
Tensor log_softmax(const Tensor& x, int axis) {
  const Lanes lanes = lanes_of("log_softmax", x, axis);
  if (Composed::active() && lanes.n != 0) return composed::log_softmax(x, axis);
  Array y = over_lanes(lanes, kernels::log_softmax<real>, x.value());
  return record("log_softmax", std::move(y), {x}, [lanes](const Node& n, const Array& g) {
    return cotangents(over_lanes(lanes, kernels::log_softmax_vjp<real>, n.value, g));
  });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
