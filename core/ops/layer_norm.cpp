#include "core/composed.hpp"
#include "core/error.hpp"
#include "core/kernels/kernels.hpp"
#include "core/ops.hpp"
#include "core/ops/given.hpp"
#include "core/ops/rows.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

void check_norm(const char* op, const Tensor& x, const Shape& normalized_shape,
                const Tensor& weight, const Tensor& bias) {
  if (normalized_shape.empty()) fail("{}: the normalized shape needs at least one axis", op);
  if (x.rank() < normalized_shape.size() ||
      !std::equal(normalized_shape.rbegin(), normalized_shape.rend(), x.shape().rbegin())) {
    fail("{}: input {} does not end in the normalized shape {}", op, to_string(x.shape()),
         to_string(normalized_shape));
  }
  if (weight && weight.shape() != normalized_shape) {
    fail("{}: weight {} but the normalized shape is {}", op, to_string(weight.shape()),
         to_string(normalized_shape));
  }
  if (bias && bias.shape() != normalized_shape) {
    fail("{}: bias {} but the normalized shape is {}", op, to_string(bias.shape()),
         to_string(normalized_shape));
  }
}

// Sizes of x as a matrix, and room for what the norm makes of its rows.
struct Normalised {
  Normalised(const Tensor& x, const Shape& normalized_shape)
      : rows(flattened(x.shape(), 0, x.rank() - normalized_shape.size())),
        n(flattened(x.shape(), x.rank() - normalized_shape.size(), x.rank())),
        y(empty(x.shape())),
        mean(empty({rows})),
        rstd(empty({rows})) {}
  std::size_t rows, n;
  Array y, mean, rstd;
};

Tensor record_norm(Normalised out, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  auto vjp = [rows = out.rows, n = out.n, mean = std::move(out.mean), rstd = std::move(out.rstd)](
                 const Node& node, const Array& g, Array* arrived) {
    // The residual stream has a cotangent already: that of what went past the norm.
    std::optional<Array> dx = arrived != nullptr ? std::nullopt : cotangent_for(node, 0);
    std::optional<Array> dw = cotangent_for(node, 1);
    std::optional<Array> db = cotangent_for(node, 2);
    kernels::layer_norm_vjp(data_of(node, 0), data_of(node, 1), mean.data(), rstd.data(), g.data(),
                            arrived != nullptr ? arrived->data() : data_of(dx), data_of(dw),
                            data_of(db), rows, n, arrived != nullptr);
    return cotangents(std::move(dx), std::move(dw), std::move(db));
  };
  return record("layer_norm", std::move(out.y), {x, weight, bias}, std::move(vjp));
}

}  // namespace

// Ba et al. 2016, arXiv 1607.06450. Over the n elements of each row, with the biased variance:
//   xh = (x - mean(x)) rstd,  rstd = 1 / sqrt(var(x) + eps)
//   y = xh w + b        dx = rstd (g w - mean(g w) - xh mean(g w xh))
//                       dw = sum over rows of g xh    db = sum over rows of g
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  given("layer_norm", "x", x);
  check_norm("layer_norm", x, normalized_shape, weight, bias);
  if (Composed::active()) return composed::layer_norm(x, normalized_shape, weight, bias, eps);
  Normalised out(x, normalized_shape);
  kernels::layer_norm(data_of(x), data_of(weight), data_of(bias), eps, out.y.data(),
                      out.mean.data(), out.rstd.data(), out.rows, out.n);
  return record_norm(std::move(out), x, weight, bias);
}

// s = a + b,  y = layer_norm(s)         da = db = ds, to which y's rule has added its part
AddLayerNorm add_layer_norm(const Tensor& a, const Tensor& b, const Shape& normalized_shape,
                            const Tensor& weight, const Tensor& bias, double eps) {
  given("add_layer_norm", "a", a);
  given("add_layer_norm", "b", b);
  check_norm("add_layer_norm", a, normalized_shape, weight, bias);
  if (a.shape() != b.shape()) {
    fail("add_layer_norm: a {} and b {} differ", to_string(a.shape()), to_string(b.shape()));
  }
  if (Composed::active()) {
    return composed::add_layer_norm(a, b, normalized_shape, weight, bias, eps);
  }
  Array s = empty(a.shape());
  Normalised out(a, normalized_shape);
  kernels::add_layer_norm(data_of(a), data_of(b), data_of(weight), data_of(bias), eps, s.data(),
                          out.y.data(), out.mean.data(), out.rstd.data(), out.rows, out.n);
  const Tensor sum = record("add_layer_norm", std::move(s), {a, b}, [](const Node&, Array& g) {
    Array da = g;
    return cotangents(std::move(da), std::move(g));
  });
  return {sum, record_norm(std::move(out), sum, weight, bias)};
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
