// Functions of one number, as plain loops: quick to compile, where an xtensor expression is not.

#include "core/kernels/kernels.hpp"
#include "core/ops.hpp"
#include "core/ops/given.hpp"
#include "core/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

constexpr std::size_t chunk = 8192;

// y_i = f(x_i)             dx_i = g_i slope(x_i, y_i)
template <class F, class Slope>
Tensor curve(const char* op, const Tensor& x, const F& f, const Slope& slope) {
  given(op, "x", x);
  Array y = empty(x.shape());
  parallel_for(y.size(), chunk, [&, from = x.value().data()](std::size_t begin, std::size_t end) {
    std::transform(from + begin, from + end, y.data() + begin, f);
  });
  return record(op, std::move(y), {x}, [slope](const Node& n, const Array& g) {
    Array dx = empty(g.shape());
    const real* const from = n.in(0).data();
    parallel_for(g.size(), chunk, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        dx.data()[i] = g.data()[i] * slope(from[i], n.value.data()[i]);
      }
    });
    return cotangents(std::move(dx));
  });
}

real logistic(real x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

// y = e^x - 1              dx = g (y + 1)
Tensor expm1(const Tensor& x) {
  return curve(
      "expm1", x, [](real v) { return std::expm1(v); }, [](real, real y) { return y + 1; });
}

// y = ln(1 + x)            dx = g / (1 + x)
Tensor log1p(const Tensor& x) {
  return curve(
      "log1p", x, [](real v) { return std::log1p(v); }, [](real v, real) { return 1 / (1 + v); });
}

// y = sin x                dx = g cos x
Tensor sin(const Tensor& x) {
  return curve(
      "sin", x, [](real v) { return std::sin(v); }, [](real v, real) { return std::cos(v); });
}

// y = cos x                dx = -g sin x
Tensor cos(const Tensor& x) {
  return curve(
      "cos", x, [](real v) { return std::cos(v); }, [](real v, real) { return -std::sin(v); });
}

// y = x s, s = 1 / (1 + e^-x)            dx = g s (1 + x (1 - s))
Tensor silu(const Tensor& x) {
  return curve(
      "silu", x, [](real v) { return v * logistic(v); },
      [](real v, real) {
        const real s = logistic(v);
        return s * (1 + v * (1 - s));
      });
}

// y = ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)             dx = g / (1 + e^-x)
Tensor softplus(const Tensor& x) {
  return curve(
      "softplus", x,
      [](real v) { return (v < 0 ? real{0} : v) + std::log1p(std::exp(-std::abs(v))); },
      [](real v, real) { return logistic(v); });
}

// y = |x|                  dx = g sign(x), where sign is 0 at 0 and NaN at NaN
Tensor abs(const Tensor& x) {
  return curve(
      "abs", x, [](real v) { return std::abs(v); },
      [](real v, real) { return v > 0   ? real{1}
                                : v < 0 ? real{-1}
                                        : v; });
}

// y = min(max(x, low), high)             dx = g where low <= x <= high, g 0 outside, NaN at NaN
Tensor clamp(const Tensor& x, real low, real high) {
  return curve(
      "clamp", x,
      [=](real v) {
        const real raised = v < low ? low : v;
        return raised > high ? high : raised;
      },
      [=](real v, real) {
        if (std::isnan(v)) return v;
        return v >= low && v <= high ? real{1} : real{0};
      });
}

// y = tanh x               dx = g (1 - y^2)
Tensor tanh(const Tensor& x) {
  given("tanh", "x", x);
  Array y = empty(x.shape());
  kernels::tanh(x.value().data(), y.data(), y.size());
  return record("tanh", std::move(y), {x}, [](const Node& n, const Array& g) {
    Array dx = empty(g.shape());
    for (std::size_t i = 0; i < g.size(); ++i) {
      const real y_i = n.value.data()[i];
      dx.data()[i] = g.data()[i] * (1 - y_i * y_i);
    }
    return cotangents(std::move(dx));
  });
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
