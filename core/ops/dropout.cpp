#include "core/error.hpp"
#include "core/kernels/kernels.hpp"
#include "core/ops.hpp"

#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

Array masked(const Array& x, double p, std::uint64_t key) {
  if (p == 1) return zeros(x.shape());  // x m / (1 - p) would be 0 / 0
  Array y = empty(x.shape());
  kernels::dropout(x.data(), y.data(), x.size(), p, key);
  return y;
}

}  // namespace

// y = x m / (1 - p),  m_i = 1 with probability 1 - p, else 0          dx = g m / (1 - p)
// Srivastava et al. 2014, scaled so that the mean stays. The mask is a function of (key, i): it is
// drawn again on the way back, never stored.
Tensor dropout(const Tensor& x, double p, const Rng& rng) {
  if (!(p >= 0 && p <= 1)) fail("dropout: probability {} is not in [0, 1]", p);
  if (p == 0) return x;
  return record(
      "dropout", masked(x.value(), p, rng.key()), {x},
      [p, key = rng.key()](const Node&, const Array& g) { return cotangents(masked(g, p, key)); });
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
