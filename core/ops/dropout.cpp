#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

Array masked(const Array& x, double p, std::uint64_t key) {
  if (p == 1) return zeros(x.shape());  // x m / (1 - p) would be 0 / 0
  const std::size_t leading = x.dimension() < 2 ? 0 : x.dimension() - 2;
  Array y = empty(x.shape());
  kernels::dropout(x.data(), y.data(), flattened(x.shape(), 0, leading),
                   flattened(x.shape(), leading, x.dimension()), p, key);
  return y;
}

// The same with one number for all of x[b].
Array masked_by_image(const Array& x, double p, std::uint64_t key) {
  Array y = empty(x.shape());
  const Rng rng(key);
  const std::size_t B = x.shape()[0];
  const std::size_t each = B == 0 ? 0 : x.size() / B;
  for (std::size_t b = 0; b < B; ++b) {
    const bool kept = rng.uniform(b) >= p;
    const real factor = kept ? static_cast<real>(1 / (1 - p)) : real{0};
    for (std::size_t i = b * each; i < (b + 1) * each; ++i) {
      y.data()[i] = kept ? factor * x.data()[i] : factor;
    }
  }
  return y;
}

}  // namespace

// y = x m / (1 - p),  m_i = 1 with probability 1 - p, else 0          dx = g m / (1 - p)
// Srivastava et al. 2014, scaled so that the mean stays. The mask is a function of the key, the
// matrix (of the last two axes) and the place in it: it is drawn again on the way back, never
// stored.
Tensor dropout(const Tensor& x, double p, const Rng& rng) {
  given("dropout", "x", x);
  if (!(p >= 0 && p <= 1)) fail("dropout: probability {} is not in [0, 1]", p);
  if (p == 0) return x;
  return unread(record(
      "dropout", masked(x.value(), p, rng.key()), {x},
      [p, key = rng.key()](const Node&, const Array& g) { return cotangents(masked(g, p, key)); }));
}

// y_b = x_b m_b / (1 - p),  m_b = 1 with probability 1 - p, else 0    dx_b = g_b m_b / (1 - p)
Tensor stochastic_depth(const Tensor& x, double p, const Rng& rng) {
  given("stochastic_depth", "x", x);
  if (!(p >= 0 && p <= 1)) fail("stochastic_depth: probability {} is not in [0, 1]", p);
  if (x.rank() == 0) fail("stochastic_depth: a scalar has no images");
  if (p == 0) return x;
  return unread(record("stochastic_depth", masked_by_image(x.value(), p, rng.key()), {x},
                       [p, key = rng.key()](const Node&, const Array& g) {
                         return cotangents(masked_by_image(g, p, key));
                       }));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
