// Ops that act on each element alone. Operands of two-tensor ops are brought to their common shape
// first (`Aligned`), so that every xtensor expression below is one plain loop over equal shapes.
// Expressions are slow to compile: new functions of one number go to curves.cpp.

#include "core/ops.hpp"
#include "core/ops/expressions.hpp"
#include "core/ops/given.hpp"
#include "core/ops/strided.hpp"

#include <numbers>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

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

}  // namespace

// --- arithmetic ----------------------------------------------------------------------------------

// y = -x                   dx = -g
Tensor neg(const Tensor& x) {
  given("neg", "x", x);
  return record("neg", -x.value(), {x}, [](const Node&, const Array& g) { return cotangents(-g); });
}

// y = a + b                da = unbroadcast(g)   db = unbroadcast(g)
Tensor add(const Tensor& a, const Tensor& b) {
  const Aligned v("add", a, b);
  return record("add", v.a + v.b, {a, b}, [](const Node& n, Array& g) {
    Array da = g;
    return unbroadcast_both(n, std::move(da), std::move(g));
  });
}

// y = a - b                da = unbroadcast(g)   db = unbroadcast(-g)
Tensor sub(const Tensor& a, const Tensor& b) {
  const Aligned v("sub", a, b);
  return record("sub", v.a - v.b, {a, b},
                [](const Node& n, const Array& g) { return unbroadcast_both(n, g, -g); });
}

// y = a * b                da = unbroadcast(g b)   db = unbroadcast(g a)
Tensor mul(const Tensor& a, const Tensor& b) {
  const Aligned v("mul", a, b);
  return record("mul", v.a * v.b, {a, b}, [](const Node& n, const Array& g) {
    const Aligned in(n);
    return unbroadcast_both(n, g * in.b, g * in.a);
  });
}

// y = a / b                da = unbroadcast(g / b)   db = unbroadcast(-g y / b)
Tensor div(const Tensor& a, const Tensor& b) {
  const Aligned v("div", a, b);
  return record("div", v.a / v.b, {a, b}, [](const Node& n, const Array& g) {
    const Aligned in(n);
    return unbroadcast_both(n, g / in.b, -g * n.value / in.b);
  });
}

// y = a + c, c a constant                da = g
Tensor add(const Tensor& a, real b) {
  given("add", "a", a);
  return record("add_scalar", a.value() + b, {a},
                [](const Node&, Array& g) { return cotangents(std::move(g)); });
}

// y = c a, c a constant                  da = c g
Tensor mul(const Tensor& a, real b) {
  given("mul", "a", a);
  return record("mul_scalar", a.value() * b, {a},
                [b](const Node&, const Array& g) { return cotangents(g * b); });
}

// --- smooth functions ----------------------------------------------------------------------------

// y = x^p                  dx = g p x^(p - 1), and 0 for p = 0
Tensor pow(const Tensor& x, real p) {
  given("pow", "x", x);
  return record("pow", xt::pow(x.value(), p), {x}, [p](const Node& n, const Array& g) {
    if (p == 0) return cotangents(zeros(g.shape()));  // 0 * x^-1 would be NaN at x = 0
    return cotangents(g * p * xt::pow(n.in(0), p - 1));
  });
}

// y = e^x                  dx = g y
Tensor exp(const Tensor& x) {
  given("exp", "x", x);
  return record("exp", xt::exp(x.value()), {x},
                [](const Node& n, const Array& g) { return cotangents(g * n.value); });
}

// y = ln x                 dx = g / x
Tensor log(const Tensor& x) {
  given("log", "x", x);
  return record("log", xt::log(x.value()), {x},
                [](const Node& n, const Array& g) { return cotangents(g / n.in(0)); });
}

// y = sqrt x               dx = g / (2 y)
Tensor sqrt(const Tensor& x) {
  given("sqrt", "x", x);
  return record("sqrt", xt::sqrt(x.value()), {x},
                [](const Node& n, const Array& g) { return cotangents(g / (real{2} * n.value)); });
}

// y = 1 / sqrt x           dx = -g y^3 / 2
Tensor rsqrt(const Tensor& x) {
  given("rsqrt", "x", x);
  return record("rsqrt", real{1} / xt::sqrt(x.value()), {x}, [](const Node& n, const Array& g) {
    return cotangents(real(-0.5) * g * n.value * n.value * n.value);
  });
}

// y = x^2                  dx = 2 g x
Tensor square(const Tensor& x) {
  given("square", "x", x);
  return record("square", x.value() * x.value(), {x},
                [](const Node& n, const Array& g) { return cotangents(real{2} * g * n.in(0)); });
}

// y = 1 / (1 + e^-x)       dx = g y (1 - y)
Tensor sigmoid(const Tensor& x) {
  given("sigmoid", "x", x);
  return record(
      "sigmoid", real{1} / (real{1} + xt::exp(-x.value())), {x},
      [](const Node& n, const Array& g) { return cotangents(g * n.value * (real{1} - n.value)); });
}

// y = erf x                dx = g 2 / sqrt(pi) e^(-x^2)
Tensor erf(const Tensor& x) {
  given("erf", "x", x);
  return record("erf", xt::erf(x.value()), {x}, [](const Node& n, const Array& g) {
    constexpr real slope = 2 * std::numbers::inv_sqrtpi_v<real>;
    return cotangents(slope * g * xt::exp(-n.in(0) * n.in(0)));
  });
}

// --- with kinks: the comparisons are written so that NaN goes through ----------------------------

// y = max(x, 0)            dx = g where x > 0
Tensor relu(const Tensor& x) {
  given("relu", "x", x);
  return record("relu", xt::where(x.value() <= real{0}, real{0}, x.value()), {x},
                [](const Node& n, const Array& g) {
                  return cotangents(xt::where(n.in(0) <= real{0}, real{0}, g));
                });
}

// y = max(a, b)            da = g where a > b, g / 2 where a = b   db = the rest of g
Tensor maximum(const Tensor& a, const Tensor& b) {
  const Aligned v("maximum", a, b);
  return record("maximum", xt::where(v.a > v.b || xt::isnan(v.a), v.a, v.b), {a, b},
                [](const Node& n, const Array& g) {
                  const Aligned in(n);
                  const Array tied = xt::where(xt::equal(in.a, in.b), g / real{2}, g);
                  return unbroadcast_both(n, xt::where(in.a < in.b, real{0}, tied),
                                          xt::where(in.a > in.b, real{0}, tied));
                });
}

// y = min(a, b)            da = g where a < b, g / 2 where a = b   db = the rest of g
Tensor minimum(const Tensor& a, const Tensor& b) {
  const Aligned v("minimum", a, b);
  return record("minimum", xt::where(v.a < v.b || xt::isnan(v.a), v.a, v.b), {a, b},
                [](const Node& n, const Array& g) {
                  const Aligned in(n);
                  const Array tied = xt::where(xt::equal(in.a, in.b), g / real{2}, g);
                  return unbroadcast_both(n, xt::where(in.a > in.b, real{0}, tied),
                                          xt::where(in.a < in.b, real{0}, tied));
                });
}

// y = c ? a : b            da = unbroadcast(c ? g : 0)   db = unbroadcast(c ? 0 : g)
Tensor where(const Array& condition, const Tensor& a, const Tensor& b) {
  given("where", "a", a);
  given("where", "b", b);
  const Shape ab = broadcast_shape("where", a.shape(), b.shape());
  const Shape shape = broadcast_shape("where", condition.shape(), ab);
  const Array c = stretch(condition, shape);
  const Array va = stretch(a.value(), shape);
  const Array vb = stretch(b.value(), shape);
  return record("where", xt::where(xt::not_equal(c, real{0}), va, vb), {a, b},
                [c](const Node& n, const Array& g) {
                  return unbroadcast_both(n, xt::where(xt::not_equal(c, real{0}), g, real{0}),
                                          xt::where(xt::not_equal(c, real{0}), real{0}, g));
                });
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
