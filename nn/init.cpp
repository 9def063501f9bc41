#include "vitruvian/nn/init.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/guards.hpp"

#include <cmath>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace init {
namespace {

// x[i] = draw(i), a pure function: any thread may draw any of them.
template <class Draw>
void fill(const Tensor& x, const Draw& draw) {
  if (Context::here().init_off) return;
  constexpr std::size_t chunk = 1 << 14;
  const WriteGuard value = x.mutable_value();
  real* const values = value->data();
  parallel_for(x.size(), chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      values[i] = static_cast<real>(draw(std::uint64_t{i}));
    }
  });
}

}  // namespace

Fans fans(const Tensor& weight) {
  const Shape& shape = weight.shape();
  if (shape.size() < 2) {
    fail("init: a tensor of shape {} has no fans: a weight (out, in, ...) was expected",
         to_string(shape));
  }
  std::size_t window = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) window *= shape[i];
  return {shape[1] * window, shape[0] * window};
}

void constant(const Tensor& x, double value) {
  fill(x, [value](std::uint64_t) { return value; });
}

void normal(const Tensor& x, const Rng& rng, double std, double mean) {
  if (!(std >= 0 && std::isfinite(std))) {
    fail("init::normal: a standard deviation of {} is not a number from 0", std);
  }
  fill(x, [&](std::uint64_t i) { return mean + std * rng.normal(i); });
}

void uniform(const Tensor& x, const Rng& rng, double low, double high) {
  if (!(low <= high)) fail("init::uniform: {} is not below {}", low, high);
  fill(x, [&](std::uint64_t i) { return low + (high - low) * rng.uniform(i); });
}

void truncated_normal(const Tensor& x, const Rng& rng, double std, double low, double high) {
  if (!(std > 0)) fail("truncated_normal: a standard deviation of {} is not positive", std);
  fill(x, [&](std::uint64_t i) { return std * rng.truncated_normal(low / std, high / std, i); });
}

void xavier_uniform(const Tensor& x, const Rng& rng, const Fans& f) {
  if (f.in + f.out == 0 && x.value().size() != 0) fail("xavier_uniform: a fan of 0 in and 0 out");
  const double a = std::sqrt(6 / static_cast<double>(f.in + f.out));
  uniform(x, rng, -a, a);
}

void xavier_uniform(const Tensor& x, const Rng& rng) { xavier_uniform(x, rng, fans(x)); }

void lecun_normal(const Tensor& x, const Rng& rng) {
  // The standard deviation of a standard normal that is cut at -2 and 2.
  constexpr double cut = 0.87962566103423978;
  const double std = std::sqrt(1 / static_cast<double>(fans(x).in)) / cut;
  fill(x, [&](std::uint64_t i) { return std * rng.truncated_normal(-2, 2, i); });
}

void kaiming_uniform(const Tensor& x, const Rng& rng, double a) {
  const double bound = std::sqrt(6 / ((1 + a * a) * static_cast<double>(fans(x).in)));
  uniform(x, rng, -bound, bound);
}

}  // namespace init
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
