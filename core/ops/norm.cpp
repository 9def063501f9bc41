#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/rows.hpp"
#include "vitruvian/core/ops/strided.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void check_layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                      const Tensor& bias) {
  if (normalized_shape.empty()) fail("layer_norm: the normalized shape needs at least one axis");
  if (x.rank() < normalized_shape.size() ||
      !std::equal(normalized_shape.rbegin(), normalized_shape.rend(), x.shape().rbegin())) {
    fail("layer_norm: input {} does not end in the normalized shape {}", to_string(x.shape()),
         to_string(normalized_shape));
  }
  for (const auto& [name, p] : {std::pair{"weight", &weight}, std::pair{"bias", &bias}}) {
    if (*p && p->shape() != normalized_shape) {
      fail("layer_norm: {} {} but the normalized shape is {}", name, to_string(p->shape()),
           to_string(normalized_shape));
    }
  }
}

void check_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (x.rank() < 2) fail("batch_norm: input {} is not (B, C, ...)", to_string(x.shape()));
  for (const auto& [name, p] : {std::pair{"weight", &weight}, std::pair{"bias", &bias}}) {
    if (*p && p->shape() != Shape{x.size(1)}) {
      fail("batch_norm: {} {} but input {} has {} channels", name, to_string(p->shape()),
           to_string(x.shape()), x.size(1));
    }
  }
}

void check_eps(const char* op, double eps) {
  if (!(eps >= 0)) fail("{}: eps is {}: expected at least 0", op, eps);
}

}  // namespace

// Ba et al. 2016, arXiv 1607.06450. Over the n elements of each row, with the biased variance:
//   xh = (x - mean(x)) rstd,  rstd = 1 / sqrt(var(x) + eps)
//   y = xh w + b        dx = rstd (g w - mean(g w) - xh mean(g w xh))
//                       dw = sum over rows of g xh    db = sum over rows of g
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  given("layer_norm", "x", x);
  check_layer_norm(x, normalized_shape, weight, bias);
  check_eps("layer_norm", eps);
  if (Composed::active()) return composed::layer_norm(x, normalized_shape, weight, bias, eps);
  const std::size_t leading = x.rank() - normalized_shape.size();
  const std::size_t rows = flattened(x.shape(), 0, leading);
  const std::size_t n = flattened(x.shape(), leading, x.rank());
  Array y = empty(x.shape());
  Array mean = empty({rows});
  Array rstd = empty({rows});
  kernels::layer_norm(data_of(x), data_of(weight), data_of(bias), eps, y.data(), mean.data(),
                      rstd.data(), rows, n);

  auto vjp = [rows, n, mean = std::move(mean), rstd = std::move(rstd)](const Node& node,
                                                                       const Array& g) {
    std::optional<Array> dx = cotangent_for(node, 0);
    std::optional<Array> dw = cotangent_for(node, 1);
    std::optional<Array> db = cotangent_for(node, 2);
    kernels::layer_norm_vjp(data_of(node, 0), data_of(node, 1), mean.data(), rstd.data(), g.data(),
                            data_of(dx), data_of(dw), data_of(db), rows, n);
    return cotangents(std::move(dx), std::move(dw), std::move(db));
  };
  return record("layer_norm", std::move(y), {x, weight, bias}, std::move(vjp));
}

// Ioffe and Szegedy 2015, arXiv 1502.03167: for each channel c, over the other axes,
//   xh = (x - mean_c) rstd_c,   y = xh w_c + b_c
// With the channels in front this is a layer norm of rows (C, n), with one weight for each row:
//   dx = layer norm's rule for g w_c      dw_c = sum(g xh)      db_c = sum(g)
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  given("batch_norm", "x", x);
  check_batch_norm(x, weight, bias);
  check_eps("batch_norm", eps);
  if (Composed::active()) return composed::batch_norm(x, weight, bias, eps);
  const std::size_t B = x.size(0);
  const std::size_t C = x.size(1);
  const std::size_t pixels = flattened(x.shape(), 2, x.rank());
  const std::size_t n = B * pixels;
  const Strided channels_first = exchanged({B, C, pixels}, 0, 1);
  const Strided images_first = exchanged({C, B, pixels}, 0, 1);
  const Array rows = read(x.value(), channels_first);
  Array xh = empty({C, n});
  Array mean = empty({C});
  Array rstd = empty({C});
  kernels::layer_norm<real>(rows.data(), nullptr, nullptr, eps, xh.data(), mean.data(), rstd.data(),
                            C, n);
  if (weight || bias) {
    for (std::size_t c = 0; c < C; ++c) {
      const real w = weight ? data_of(weight)[c] : real{1};
      const real b = bias ? data_of(bias)[c] : real{0};
      std::transform(xh.data() + c * n, xh.data() + (c + 1) * n, xh.data() + c * n,
                     [w, b](real v) { return v * w + b; });
    }
  }

  auto vjp = [C, n, channels_first, images_first, mean = std::move(mean), rstd = std::move(rstd)](
                 const Node& node, const Array& g) {
    std::optional<Array> dx;
    std::optional<Array> dw = cotangent_for(node, 1);
    std::optional<Array> db = cotangent_for(node, 2);
    const Array x_rows = read(node.in(0), channels_first);
    Array g_rows = read(g, channels_first);
    for (std::size_t c = 0; c < C; ++c) {
      double sum_g = 0;
      double sum_g_d = 0;
      double sum_d = 0;  // not 0: the mean was rounded
      const real w = node.has(1) ? data_of(node, 1)[c] : real{1};
      for (std::size_t i = c * n; i < (c + 1) * n; ++i) {
        real& g_i = g_rows.data()[i];
        const double d_i = double{x_rows.data()[i]} - double{mean.data()[c]};
        sum_g += double{g_i};
        sum_g_d += double{g_i} * d_i;
        sum_d += d_i;
        g_i *= w;
      }
      const auto count = static_cast<double>(n);
      const double sum_g_xh =
          n == 0 ? 0 : (sum_g_d - sum_d / count * sum_g) * double{rstd.data()[c]};
      if (dw) dw->data()[c] = static_cast<real>(sum_g_xh);
      if (db) db->data()[c] = static_cast<real>(sum_g);
    }
    if (node.needs(0)) {
      Array dx_rows = empty({C, n});
      kernels::layer_norm_vjp<real>(x_rows.data(), nullptr, mean.data(), rstd.data(), g_rows.data(),
                                    dx_rows.data(), nullptr, nullptr, C, n);
      dx = reshaped(read(dx_rows, images_first), node.in_shape(0));
    }
    return cotangents(std::move(dx), std::move(dw), std::move(db));
  };
  Array y = reshaped(read(xh, images_first), x.shape());
  return record("batch_norm", std::move(y), {x, weight, bias}, std::move(vjp));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
