// Reductions over any set of axes. Each walks its input once or twice in memory order, with the
// place of the result beside it, and sums in double: no axis is slow, no float sum drifts.

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

using Sums = std::vector<double>;  // one for each element of the result

// Which element of the result each element of the input belongs to.
class Groups {
 public:
  Groups(const char* op, const Shape& shape, const Axes& axes, bool keepdim) {
    const std::vector<std::size_t> reduced = normalise_axes(op, axes, shape.size());
    Shape kept = shape;
    for (const std::size_t axis : reduced) {
      kept[axis] = 1;
      over_ *= shape[axis];
    }
    places_ = stretched(kept, shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool gone = std::binary_search(reduced.begin(), reduced.end(), axis);
      if (keepdim || !gone) result_.push_back(kept[axis]);
    }
  }

  [[nodiscard]] const Shape& result() const { return result_; }
  /// How many elements of the input meet in one of the result.
  [[nodiscard]] std::size_t over() const { return over_; }
  [[nodiscard]] Sums start(double value) const { return Sums(count(result_), value); }

  /// Calls f(i, o) for every element i of the input, in order; o is its element of the result.
  template <class F>
  void walk(const F& f) const {
    const bool scalar = places_.shape.empty();
    const std::size_t row = scalar ? 1 : places_.shape.back();
    const bool row_is_summed = scalar || places_.strides.back() == 0;
    std::size_t i = 0;
    for_each_row(places_, [&](std::ptrdiff_t place) {
      auto o = static_cast<std::size_t>(place);
      if (row_is_summed) {
        for (const std::size_t end = i + row; i < end; ++i) f(i, o);
      } else {
        for (const std::size_t end = i + row; i < end; ++i) f(i, o++);
      }
    });
  }

 private:
  Strided places_;  // in the result, of what each element of the input belongs to
  Shape result_;
  std::size_t over_ = 1;
};

// The sums, rounded to the result's precision.
Array rounded(const Groups& r, const Sums& sums) {
  Array y = empty(r.result());
  std::transform(sums.begin(), sums.end(), y.data(), [](double s) { return static_cast<real>(s); });
  return y;
}

Sums summed(const Groups& r, const Array& x) {
  Sums sums = r.start(0);
  r.walk([&, from = x.data()](std::size_t i, std::size_t o) {
    sums[o] += static_cast<double>(from[i]);
  });
  return sums;
}

Sums means(const Groups& r, const Array& x) {
  Sums m = summed(r, x);
  for (double& value : m) value /= static_cast<double>(r.over());
  return m;
}

// The largest of each group; a NaN wins.
Sums largest(const Groups& r, const Array& x) {
  Sums m = r.start(-std::numeric_limits<double>::infinity());
  r.walk([&, from = x.data()](std::size_t i, std::size_t o) {
    const auto value = static_cast<double>(from[i]);
    if (value > m[o] || std::isnan(value)) m[o] = value;
  });
  return m;
}

// An array like x whose element i is f(i, o).
template <class F>
Array spread(const Groups& r, const Array& x, const F& f) {
  Array dx = empty(x.shape());
  r.walk([&, to = dx.data()](std::size_t i, std::size_t o) { to[i] = static_cast<real>(f(i, o)); });
  return dx;
}

}  // namespace

// y = sum x                dx_i = g
Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) {
  given("sum", "x", x);
  const Groups r("sum", x.shape(), axes, keepdim);
  return record("sum", rounded(r, summed(r, x.value())), {x}, [r](const Node& n, const Array& g) {
    return cotangents(spread(r, n.in(0), [&](std::size_t, std::size_t o) { return g.data()[o]; }));
  });
}

// y = sum(x) / n           dx_i = g / n
Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
  given("mean", "x", x);
  const Groups r("mean", x.shape(), axes, keepdim);
  return record("mean", rounded(r, means(r, x.value())), {x}, [r](const Node& n, const Array& g) {
    const auto count = static_cast<real>(r.over());
    return cotangents(
        spread(r, n.in(0), [&](std::size_t, std::size_t o) { return g.data()[o] / count; }));
  });
}

// y = sum((x - mean x)^2) / (n - c)                dx_i = g 2 (x_i - mean x) / (n - c)
Tensor var(const Tensor& x, const Axes& axes, int correction, bool keepdim) {
  given("var", "x", x);
  const Groups r("var", x.shape(), axes, keepdim);
  const double divisor = std::max(0.0, static_cast<double>(r.over()) - correction);
  Sums mean = means(r, x.value());
  Sums squares = r.start(0);
  r.walk([&, from = x.value().data()](std::size_t i, std::size_t o) {
    const double deviation = static_cast<double>(from[i]) - mean[o];
    squares[o] += deviation * deviation;
  });
  for (double& value : squares) value /= divisor;
  return record("var", rounded(r, squares), {x},
                [r, divisor, mean = std::move(mean)](const Node& n, const Array& g) {
                  const real* const from = n.in(0).data();
                  return cotangents(spread(r, n.in(0), [&](std::size_t i, std::size_t o) {
                    return static_cast<double>(g.data()[o]) * 2 *
                           (static_cast<double>(from[i]) - mean[o]) / divisor;
                  }));
                });
}

// y = max x, of which a NaN is the largest
//                          dx_i = g / (number of x_j that equal y) where x_i = y, else 0
Tensor amax(const Tensor& x, const Axes& axes, bool keepdim) {
  given("amax", "x", x);
  const Groups r("amax", x.shape(), axes, keepdim);
  if (r.over() == 0) fail("amax: no elements to choose from in {}", to_string(x.shape()));
  return record("amax", rounded(r, largest(r, x.value())), {x}, [r](const Node& n, const Array& g) {
    const real* const from = n.in(0).data();
    const real* const y = n.value.data();
    const auto chosen = [&](std::size_t i, std::size_t o) {
      return std::isnan(y[o]) ? std::isnan(from[i]) : from[i] == y[o];
    };
    Sums ties = r.start(0);
    r.walk([&](std::size_t i, std::size_t o) { ties[o] += chosen(i, o) ? 1 : 0; });
    return cotangents(spread(r, n.in(0), [&](std::size_t i, std::size_t o) {
      return chosen(i, o) ? static_cast<double>(g.data()[o]) / ties[o] : 0.0;
    }));
  });
}

// y = m + log s, m = max x, s = sum exp(x - m)         dx_i = g exp(x_i - m) / s
// Not exp(x_i - y): beyond 2^53, y would have rounded log s away.
Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdim) {
  given("logsumexp", "x", x);
  const Groups r("logsumexp", x.shape(), axes, keepdim);
  Sums m = largest(r, x.value());
  // inf - inf is NaN. Where all are -inf nothing is taken out; beside inf all else is as nothing.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double& value : m) value = value == -infinity ? 0 : value;
  std::vector<double> e(x.size());
  r.walk([&, from = x.value().data()](std::size_t i, std::size_t o) {
    const auto v = static_cast<double>(from[i]);
    e[i] = v == infinity ? v : v - m[o];
  });
  kernels::exp(e.data(), e.data(), e.size());
  Sums s = r.start(0);
  r.walk([&](std::size_t i, std::size_t o) { s[o] += e[i]; });
  Sums y = s;
  kernels::log(s.data(), y.data(), s.size());
  for (std::size_t o = 0; o < y.size(); ++o) y[o] += m[o];
  return record("logsumexp", rounded(r, y), {x},
                [r, e = std::move(e), s = std::move(s)](const Node& n, const Array& g) {
                  return cotangents(spread(r, n.in(0), [&](std::size_t i, std::size_t o) {
                    return static_cast<double>(g.data()[o]) * e[i] / s[o];
                  }));
                });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
