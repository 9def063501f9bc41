#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

// y = x Phi(x),  Phi(x) = (1 + erf(x / sqrt 2)) / 2        dx = g (Phi(x) + x phi(x))
// Hendrycks and Gimpel, arXiv 1606.08415; phi = Phi' is the normal density.
Tensor gelu(const Tensor& x) {
  given("gelu", "x", x);
  if (Composed::active()) return composed::gelu(x);
  Array y = empty(x.shape());
  kernels::gelu(x.value().data(), y.data(), y.size());
  return record("gelu", std::move(y), {x}, [](const Node& n, const Array& g) {
    Array dx = empty(g.shape());
    kernels::gelu_vjp(n.in(0).data(), g.data(), dx.data(), g.size());
    return cotangents(std::move(dx));
  });
}

// y = x / 2 (1 + tanh u),  u = c (x + a x^3),  c = sqrt(2 / pi),  a = 0.044715
//   dx = g ((1 + tanh u) / 2 + x / 2 (1 - tanh^2 u) c (1 + 3 a x^2))
Tensor gelu_tanh(const Tensor& x) {
  given("gelu_tanh", "x", x);
  if (Composed::active()) return composed::gelu_tanh(x);
  Array y = empty(x.shape());
  kernels::gelu_tanh(x.value().data(), y.data(), y.size());
  return record("gelu_tanh", std::move(y), {x}, [](const Node& n, const Array& g) {
    Array dx = empty(g.shape());
    kernels::gelu_tanh_vjp(n.in(0).data(), g.data(), dx.data(), g.size());
    return cotangents(std::move(dx));
  });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
