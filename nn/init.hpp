#pragma once

#include "vitruvian/core/base/context.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/tensor.hpp"

#include <cstddef>

// Initial values. Every function fills a tensor in place from a counter-based stream: element i is
// a pure function of the stream and i, so neither order nor precision matters (float32 values are
// the float64 ones, rounded). Give each parameter its own stream, `rng.fork(name)`.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace init {

/// While it lives, this thread's initialisers leave every tensor as it is: for whoever replaces all
/// values anyway, by a clone's, a file's, or other initial ones. Drawing takes longer than reading.
class Off : Scoped<&Context::init_off> {
 public:
  Off() : Scoped(true) {}
};

/// How many inputs an output sees, and how many outputs an input reaches.
struct Fans {
  std::size_t in = 0;
  std::size_t out = 0;
};
/// Of a weight (out, in) or (out, in, kh, kw): the window counts on both sides, as in PyTorch.
/// Throws on fewer than two axes.
Fans fans(const Tensor& weight);

void constant(const Tensor& x, double value);
/// N(mean, std^2).
void normal(const Tensor& x, const Rng& rng, double std, double mean = 0);
/// U[low, high).
void uniform(const Tensor& x, const Rng& rng, double low, double high);

/// N(0, std^2) given that it lies in [low, high]: the cut is absolute, as in torch and timm, whose
/// "trunc_normal std .02" therefore cuts at 100 standard deviations.
void truncated_normal(const Tensor& x, const Rng& rng, double std, double low = -2,
                      double high = 2);
/// U[-a, a), a = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010). A matrix that fuses several
/// (q, k and v in one) takes the fans of one of them.
void xavier_uniform(const Tensor& x, const Rng& rng, const Fans& fans);
void xavier_uniform(const Tensor& x, const Rng& rng);

/// A normal of variance 1 / fan_in, cut at two standard deviations, as flax draws it: the standard
/// deviation before the cut is sqrt(1 / fan_in) / 0.8796.
void lecun_normal(const Tensor& x, const Rng& rng);

/// U[-b, b), b = sqrt(6 / ((1 + a^2) fan_in)) (He et al. 2015). With a = sqrt(5), b is
/// 1 / sqrt(fan_in): PyTorch's default of linear layers and convolutions.
void kaiming_uniform(const Tensor& x, const Rng& rng, double a = 0);

}  // namespace init
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
