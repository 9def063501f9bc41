#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kept_weights.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <algorithm>
#include <string_view>
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

// A leaf is what it is as long as its version, where nobody is changing it.
kernels::KeptPanels* kept_panels(const Tensor& weight) {
  KeptWeights* const kept = Context::here().kept;
  const Node& node = weight.node();
  if (kept == nullptr || node.op != std::string_view("leaf") || node.writers != 0) return nullptr;
  return kept->of(weight.node_ptr(), node.version, weight.size() * sizeof(real));
}

Array product(const Tensor& x, const Tensor& weight, const Sizes& s) {
  Shape shape = x.shape();
  shape.back() = s.out;
  Array y = empty(shape);
  Matrix W{data_of(weight), s.out, s.in};
  W.kept = kept_panels(weight);
  multiply({data_of(x), s.rows, s.in}, W.t(), y.data());
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

// The sizes of the op below: of T tokens of each of B images the first Q ask.
struct QkvSizes {
  std::size_t B, T, Q, D, E;

  // The rows, n wide, of the tokens that ask, one below the other; and back to where they came
  // from.
  [[nodiscard]] Array gathered(const real* x, std::size_t n) const {
    Array rows = empty({B * Q, n});
    for (std::size_t b = 0; b < B; ++b) {
      std::copy_n(x + b * T * n, Q * n, rows.data() + b * Q * n);
    }
    return rows;
  }
  void scatter(const Array& rows, std::size_t n, real* x, std::size_t step) const {
    for (std::size_t r = 0; r < B * Q; ++r) {
      std::copy_n(rows.data() + r * n, n, x + (r / Q * T + r % Q) * step);
    }
  }
};

Cotangents qkv_vjp(const Node& n, const Array& g, const QkvSizes& s) {
  const std::size_t E = s.E;
  const Matrix X{data_of(n, 0), s.B * s.T, s.D};
  const Matrix W{data_of(n, 1), 3 * E, s.D};
  const Matrix G_kv = Matrix{g.data(), s.B * s.T, 3 * E}.column_block(E, 2 * E);
  const Array g_q = s.gathered(g.data(), 3 * E);  // of those who ask: g_q, g_k and g_v
  const Matrix G{g_q.data(), s.B * s.Q, 3 * E};
  std::optional<Array> dx = cotangent_for(n, 0);
  std::optional<Array> dw = cotangent_for(n, 1);
  std::optional<Array> db = cotangent_for(n, 2);
  if (dx) {
    multiply(G_kv, W.row_block(E, 2 * E), dx->data());
    Array dx_q = empty({G.rows, s.D});
    multiply(G, W, dx_q.data());
    s.scatter(dx_q, s.D, dx->data(), s.D);
  }
  if (dw) {
    const Array x_q = s.gathered(X.data, s.D);
    multiply(G.column_block(0, E).t(), {x_q.data(), G.rows, s.D}, dw->data());
    multiply(G_kv.t(), X, dw->data() + E * s.D);
  }
  if (db) {
    kernels::sum_rows(g.data(), db->data(), X.rows, 3 * E);
    Array g_all = zeros({X.rows, E});  // with 0 for the others: linear's order, and so its bits
    for (std::size_t r = 0; r < X.rows; ++r) {
      if (r % s.T < s.Q) std::copy_n(g.data() + r * 3 * E, E, g_all.data() + r * E);
    }
    kernels::sum_rows(g_all.data(), db->data(), X.rows, E);
  }
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
  return unread(record("linear", std::move(y), {x, weight, bias},
                       [s](const Node& n, const Array& g) { return linear_vjp(n, g, s); }));
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

// [q, k, v] = x W^T + b, W = [W_q; W_kv]; the tokens x_q ask, and q = 0 for all others
//   dx = g_kv W_kv, + g_q W_q for x_q      dW = [g_q^T x_q; g_kv^T x]      db = sums of the same
Tensor project_qkv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::size_t queries) {
  check_linear(x, weight, bias);
  if (x.rank() != 3 || weight.size(0) % 3 != 0 || queries > x.size(1)) {
    fail("project_qkv: {} queries, input {} and weight {}; expected at most T, (B, T, D), (3 E, D)",
         queries, to_string(x.shape()), to_string(weight.shape()));
  }
  if (Composed::active()) return composed::project_qkv(x, weight, bias, queries);
  const QkvSizes s{x.size(0), x.size(1), queries, x.size(2), weight.size(0) / 3};
  const std::size_t E = s.E;
  const Matrix W{data_of(weight), 3 * E, s.D};
  Array y = empty({s.B, s.T, 3 * E});
  multiply_into(y.data() + E, 3 * E, {data_of(x), s.B * s.T, s.D}, W.row_block(E, 2 * E).t());
  const Array x_q = s.gathered(data_of(x), s.D);
  Array q = empty({s.B * s.Q, E});
  multiply({x_q.data(), s.B * s.Q, s.D}, W.row_block(0, E).t(), q.data());
  s.scatter(q, E, y.data(), 3 * E);
  if (bias) kernels::add_bias(y.data(), data_of(bias), s.B * s.T, 3 * E);
  for (std::size_t r = 0; r < s.B * s.T; ++r) {
    if (r % s.T >= s.Q) std::fill_n(y.data() + r * 3 * E, E, real{0});
  }
  return record("project_qkv", std::move(y), {x, weight, bias},
                [s](const Node& n, const Array& g) { return qkv_vjp(n, g, s); });
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
