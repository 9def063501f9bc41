#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/given.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  given("linear", "x", x);
  given("linear", "weight", weight);
  if (weight.rank() != 2) {
    fail("linear: weight {} is not a matrix (out, in)", to_string(weight.shape()));
  }
  if (x.rank() == 0) {
    fail("linear: input () has no features but weight {} takes {}", to_string(weight.shape()),
         weight.size(1));
  }
  if (x.size(-1) != weight.size(1)) {
    fail("linear: input {} has {} features but weight {} takes {}", to_string(x.shape()),
         x.size(-1), to_string(weight.shape()), weight.size(1));
  }
  if (bias && bias.shape() != Shape{weight.size(0)}) {
    fail("linear: bias {} but weight {} gives {} features", to_string(bias.shape()),
         to_string(weight.shape()), weight.size(0));
  }
}

// What the two ops below know of their shapes: x (R, in), W (out, in).
struct Sizes {
  std::size_t rows, in, out;
  Sizes(const Tensor& x, const Tensor& weight)
      : rows(flattened(x.shape(), 0, x.rank() - 1)), in(weight.size(1)), out(weight.size(0)) {}
};

Array product(const Tensor& x, const Tensor& weight, const Sizes& s) {
  Shape shape = x.shape();
  shape.back() = s.out;
  Array y = empty(shape);
  multiply({data_of(x), s.rows, s.in}, Matrix{data_of(weight), s.out, s.in}.t(), y.data());
  return y;
}

Cotangents linear_vjp(const Node& n, const Array& g, const Sizes& s) {
  const Matrix X{data_of(n, 0), s.rows, s.in};
  const Matrix W{data_of(n, 1), s.out, s.in};
  const Matrix G{g.data(), s.rows, s.out};
  std::optional<Array> dx = cotangent_for(n, 0);
  std::optional<Array> dw = cotangent_for(n, 1);
  std::optional<Array> db = cotangent_for(n, 2);
  if (dx) multiply(G, W, dx->data());
  if (dw) multiply(G.t(), X, dw->data());
  if (db) kernels::sum_rows(g.data(), db->data(), s.rows, s.out);
  return cotangents(std::move(dx), std::move(dw), std::move(db));
}

}  // namespace

// y = x W^T + b, x (R, in), W (out, in)          dx = g W   dW = g^T x   db = sum over rows of g
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  if (Composed::active()) return composed::linear(x, weight, bias);
  const Sizes s(x, weight);
  Array y = product(x, weight, s);
  if (bias) kernels::add_bias(y.data(), data_of(bias), s.rows, s.out);
  return record("linear", std::move(y), {x, weight, bias},
                [s](const Node& n, const Array& g) { return linear_vjp(n, g, s); });
}

// y = gelu(u), u = x W^T + b                     du = g gelu'(u), then as linear with g = du
// gelu'(u) is kept in place of u: the normal distribution is computed once, not twice.
Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  if (Composed::active()) return composed::linear_gelu(x, weight, bias);
  const Sizes s(x, weight);
  Array y = product(x, weight, s);
  Array slope = NoGrad::active() ? Array() : empty(y.shape());
  kernels::bias_gelu(y.data(), data_of(bias), NoGrad::active() ? nullptr : slope.data(), s.rows,
                     s.out);
  return record("linear_gelu", std::move(y), {x, weight, bias},
                [s, slope = std::move(slope)](const Node& n, Array& g) {
                  kernels::multiply(g.data(), slope.data(), g.size());
                  return linear_vjp(n, g, s);
                });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
