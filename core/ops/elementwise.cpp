// Ops that act on each element alone: plain loops, which compile in a second where xtensor's
// expressions take sixteen. Operands of two-tensor ops are brought to their common shape first
// (`Aligned`).

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// y_i = f(x_i, ...), arrays of one shape.
template <class F, class... Arrays>
Array each(const F& f, const Array& x, const Arrays&... others) {
  constexpr std::size_t chunk = 8192;
  Array y = empty(x.shape());
  parallel_for(y.size(), chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) y.flat(i) = f(x.flat(i), others.flat(i)...);
  });
  return y;
}

// The same by a kernel.
Array each(void (*kernel)(const real* x, real* y, std::size_t n), const Array& x) {
  Array y = empty(x.shape());
  kernel(x.data(), y.data(), y.size());
  return y;
}

// y_i = f(x_i)             dx_i = back(g_i, x_i, y_i)
template <class F, class Back>
Tensor curve(const char* op, const Tensor& x, const F& f, const Back& back) {
  return record(op, each(f, given(op, "x", x)), {x}, [back](const Node& n, const Array& g) {
    return cotangents(each(back, g, n.in(0), n.value));
  });
}

// The operands a and b at the shape both broadcast to: copies of those that are stretched, the
// others as they are.
struct Aligned {
  Aligned(const char* op, const Array& left, const Array& right)
      : shape(broadcast_shape(op, left.shape(), right.shape())),
        room_a(left.shape() == shape ? Array() : stretch(left, shape)),
        room_b(right.shape() == shape ? Array() : stretch(right, shape)),
        a(left.shape() == shape ? left : room_a),
        b(right.shape() == shape ? right : room_b) {}
  Aligned(const char* op, const Tensor& left, const Tensor& right)
      : Aligned(op, given(op, "a", left), given(op, "b", right)) {}
  explicit Aligned(const Node& n) : Aligned(n.op, n.in(0), n.in(1)) {}
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;

  const Shape shape;
  const Array room_a;
  const Array room_b;
  const Array& a;
  const Array& b;
};

Cotangents unbroadcast_both(const Node& n, Array da, Array db) {
  return cotangents(unbroadcast(std::move(da), n.in_shape(0)),
                    unbroadcast(std::move(db), n.in_shape(1)));
}

Cotangents add_vjp(const Node& n, Array& g) {
  Array da = g;
  return unbroadcast_both(n, std::move(da), std::move(g));
}

// 1 / (1 + e^-x)
Array logistic(const Array& x) {
  Array e = each(std::negate(), x);
  kernels::exp(e.data(), e.data(), e.size());
  return each([](real e_i) { return 1 / (1 + e_i); }, e);
}

// y = a where a is before b or NaN, else b
// da = g where a is before b, g / 2 where they are equal          db = the rest of g
// Beside a NaN both have all of g.
template <class Before>
Tensor extremum(const char* op, const Tensor& a, const Tensor& b, const Before& before) {
  const Aligned v(op, a, b);
  const auto first = [before](real x, real y) { return before(x, y) || std::isnan(x) ? x : y; };
  const auto back = [before](real g, real x, real y) {
    if (before(y, x)) return real{0};
    return x == y ? g / 2 : g;
  };
  return record(op, each(first, v.a, v.b), {a, b}, [back](const Node& n, const Array& g) {
    const Aligned in(n);
    return unbroadcast_both(n, each(back, g, in.a, in.b), each(back, g, in.b, in.a));
  });
}

}  // namespace

// --- arithmetic ----------------------------------------------------------------------------------

// y = -x                   dx = -g
Tensor neg(const Tensor& x) {
  return curve("neg", x, std::negate(), [](real g, real, real) { return -g; });
}

// y = a + b                da = unbroadcast(g)   db = unbroadcast(g)
Tensor add(const Tensor& a, const Tensor& b) {
  const Aligned v("add", a, b);
  Array y = empty(v.shape);
  kernels::add(v.a.data(), v.b.data(), y.data(), y.size());
  return record("add", std::move(y), {a, b}, add_vjp);
}

// In a residual, f(z) + z, f's last value is read by no rule, and nobody else has a handle on it:
// the sum takes its memory over, and a block keeps a tenth less for the way back. The same bits.
Tensor operator+(Tensor&& a, const Tensor& b) {
  const bool ours = a && b && a.node_ptr() != b.node_ptr() && a.node_ptr().use_count() == 1;
  if (!ours || !a.node().unread || a.shape() != b.shape()) return add(a, b);
  Array& value = a.node().value;
  Array y(std::move(value.storage()), Shape(value.shape()),
          Array::inner_strides_type(value.strides()));
  add_in_place(y, b.value());
  return record("add", std::move(y), {a, b}, add_vjp);  // of a the shape stays, which rules read
}

// y = a - b                da = unbroadcast(g)   db = unbroadcast(-g)
Tensor sub(const Tensor& a, const Tensor& b) {
  const Aligned v("sub", a, b);
  return record("sub", each(std::minus(), v.a, v.b), {a, b}, [](const Node& n, const Array& g) {
    return unbroadcast_both(n, g, each(std::negate(), g));
  });
}

// y = a * b                da = unbroadcast(g b)   db = unbroadcast(g a)
Tensor mul(const Tensor& a, const Tensor& b) {
  const Aligned v("mul", a, b);
  return record("mul", each(std::multiplies(), v.a, v.b), {a, b},
                [](const Node& n, const Array& g) {
                  const Aligned in(n);
                  return unbroadcast_both(n, each(std::multiplies(), g, in.b),
                                          each(std::multiplies(), g, in.a));
                });
}

// y = a / b                da = unbroadcast(g / b)   db = unbroadcast(-g y / b)
Tensor div(const Tensor& a, const Tensor& b) {
  const Aligned v("div", a, b);
  return record("div", each(std::divides(), v.a, v.b), {a, b}, [](const Node& n, const Array& g) {
    const Aligned in(n);
    const auto db = [](real g_i, real y, real b_i) { return -g_i * y / b_i; };
    return unbroadcast_both(n, each(std::divides(), g, in.b), each(db, g, n.value, in.b));
  });
}

// y = a + c, c a constant                da = g
Tensor add(const Tensor& a, real c) {
  given("add", "a", a);
  return curve(
      "add_scalar", a, [c](real v) { return v + c; }, [](real g, real, real) { return g; });
}

// y = c a, c a constant                  da = c g
Tensor mul(const Tensor& a, real c) {
  given("mul", "a", a);
  return curve(
      "mul_scalar", a, [c](real v) { return v * c; }, [c](real g, real, real) { return g * c; });
}

// y = a / c, c a constant                da = g / c; times 1 / c, 41 / 41 is 0.99999994
Tensor div(const Tensor& a, real c) {
  given("div", "a", a);
  return curve(
      "div_scalar", a, [c](real v) { return v / c; }, [c](real g, real, real) { return g / c; });
}

// --- smooth functions ----------------------------------------------------------------------------

// y = x^p                  dx = g p x^(p - 1), and 0 for p = 0
Tensor pow(const Tensor& x, real p) {
  return curve(
      "pow", x, [p](real v) { return std::pow(v, p); },
      [p](real g, real v, real) {
        return p == 0 ? real{0} : g * p * std::pow(v, p - 1);  // 0 * x^-1 would be NaN at x = 0
      });
}

// y = e^x                  dx = g y
Tensor exp(const Tensor& x) {
  return curve("exp", x, kernels::exp<real>, [](real g, real, real y) { return g * y; });
}

// y = e^x - 1              dx = g (y + 1)
Tensor expm1(const Tensor& x) {
  return curve(
      "expm1", x, [](real v) { return std::expm1(v); },
      [](real g, real, real y) { return g * (y + 1); });
}

// y = ln x                 dx = g / x
Tensor log(const Tensor& x) {
  return curve("log", x, kernels::log<real>, [](real g, real v, real) { return g / v; });
}

// y = ln(1 + x)            dx = g / (1 + x)
Tensor log1p(const Tensor& x) {
  return curve(
      "log1p", x, [](real v) { return std::log1p(v); },
      [](real g, real v, real) { return g / (1 + v); });
}

// y = sqrt x               dx = g / (2 y)
Tensor sqrt(const Tensor& x) {
  return curve(
      "sqrt", x, [](real v) { return std::sqrt(v); },
      [](real g, real, real y) { return g / (2 * y); });
}

// y = 1 / sqrt x           dx = -g y^3 / 2
Tensor rsqrt(const Tensor& x) {
  return curve(
      "rsqrt", x, [](real v) { return 1 / std::sqrt(v); },
      [](real g, real, real y) { return real(-0.5) * g * y * y * y; });
}

// y = x^2                  dx = 2 g x
Tensor square(const Tensor& x) {
  return curve(
      "square", x, [](real v) { return v * v; }, [](real g, real v, real) { return 2 * g * v; });
}

// y = 1 / (1 + e^-x)       dx = g y (1 - y)
Tensor sigmoid(const Tensor& x) {
  return record(
      "sigmoid", logistic(given("sigmoid", "x", x)), {x}, [](const Node& n, const Array& g) {
        return cotangents(each([](real g_i, real y) { return g_i * y * (1 - y); }, g, n.value));
      });
}

// y = x s, s = 1 / (1 + e^-x)            dx = g s (1 + x (1 - s))
Tensor silu(const Tensor& x) {
  const Array& v = given("silu", "x", x);
  return record("silu", each(std::multiplies(), v, logistic(v)), {x},
                [](const Node& n, const Array& g) {
                  const auto back = [](real g_i, real x_i, real s) {
                    return g_i * (s * (1 + x_i * (1 - s)));
                  };
                  return cotangents(each(back, g, n.in(0), logistic(n.in(0))));
                });
}

// y = ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)             dx = g / (1 + e^-x)
Tensor softplus(const Tensor& x) {
  const auto f = [](real v) { return (v < 0 ? real{0} : v) + std::log1p(std::exp(-std::abs(v))); };
  return record("softplus", each(f, given("softplus", "x", x)), {x},
                [](const Node& n, const Array& g) {
                  return cotangents(each(std::multiplies(), g, logistic(n.in(0))));
                });
}

// y = tanh x               dx = g (1 - y^2)
Tensor tanh(const Tensor& x) {
  return curve("tanh", x, kernels::tanh<real>,
               [](real g, real, real y) { return g * (1 - y * y); });
}

// y = erf x                dx = g 2 / sqrt(pi) e^(-x^2)
Tensor erf(const Tensor& x) {
  return record(
      "erf", each(kernels::erf<real>, given("erf", "x", x)), {x},
      [](const Node& n, const Array& g) {
        constexpr real slope = 2 * std::numbers::inv_sqrtpi_v<real>;
        Array bell = each([](real v) { return -v * v; }, n.in(0));
        kernels::exp(bell.data(), bell.data(), bell.size());
        return cotangents(each([](real g_i, real b) { return slope * g_i * b; }, g, bell));
      });
}

// y = sin x                dx = g cos x
Tensor sin(const Tensor& x) {
  return curve(
      "sin", x, [](real v) { return std::sin(v); },
      [](real g, real v, real) { return g * std::cos(v); });
}

// y = cos x                dx = -g sin x
Tensor cos(const Tensor& x) {
  return curve(
      "cos", x, [](real v) { return std::cos(v); },
      [](real g, real v, real) { return -g * std::sin(v); });
}

// --- with kinks: the comparisons are written so that NaN goes through ----------------------------

// y = max(x, 0)            dx = g where x > 0
Tensor relu(const Tensor& x) {
  return curve(
      "relu", x, [](real v) { return v <= 0 ? real{0} : v; },
      [](real g, real v, real) { return v <= 0 ? real{0} : g; });
}

// y = |x|                  dx = g sign(x), where sign is 0 at 0 and NaN at NaN
Tensor abs(const Tensor& x) {
  return curve(
      "abs", x, [](real v) { return std::abs(v); },
      [](real g, real v, real) {
        const real sign = v > 0 ? real{1} : v < 0 ? real{-1} : v;
        return g * sign;
      });
}

// y = min(max(x, low), high)             dx = g where low <= x <= high, g 0 outside, NaN at NaN
Tensor clamp(const Tensor& x, real low, real high) {
  if (std::isnan(low) || std::isnan(high)) fail("clamp: NaN is no bound");
  return curve(
      "clamp", x,
      [=](real v) {
        const real raised = v < low ? low : v;
        return raised > high ? high : raised;
      },
      [=](real g, real v, real) {
        if (std::isnan(v)) return v;
        return v >= low && v <= high ? g : real{0};
      });
}

// y = max(a, b)            da = g where a > b, g / 2 where a = b   db = the rest of g
Tensor maximum(const Tensor& a, const Tensor& b) {
  return extremum("maximum", a, b, std::greater());
}

// y = min(a, b)            da = g where a < b, g / 2 where a = b   db = the rest of g
Tensor minimum(const Tensor& a, const Tensor& b) { return extremum("minimum", a, b, std::less()); }

// y = c ? a : b            da = unbroadcast(c ? g : 0)   db = unbroadcast(c ? 0 : g)
Tensor where(const Array& condition, const Tensor& a, const Tensor& b) {
  given("where", "a", a);
  given("where", "b", b);
  const Shape ab = broadcast_shape("where", a.shape(), b.shape());
  const Shape shape = broadcast_shape("where", condition.shape(), ab);
  const Array c = stretch(condition, shape);
  const auto choose = [](real c_i, real a_i, real b_i) { return c_i != 0 ? a_i : b_i; };
  return record("where", each(choose, c, stretch(a.value(), shape), stretch(b.value(), shape)),
                {a, b}, [c](const Node& n, const Array& g) {
                  const auto da = [](real c_i, real g_i) { return c_i != 0 ? g_i : real{0}; };
                  const auto db = [](real c_i, real g_i) { return c_i != 0 ? real{0} : g_i; };
                  return unbroadcast_both(n, each(da, c, g), each(db, c, g));
                });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
