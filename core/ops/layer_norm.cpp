#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/core/ops/given.hpp"
#include "vitruvian/core/ops/rows.hpp"

#include <algorithm>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void check_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                const Tensor& bias) {
  if (normalized_shape.empty()) fail("layer_norm: the normalized shape needs at least one axis");
  if (x.rank() < normalized_shape.size() ||
      !std::equal(normalized_shape.rbegin(), normalized_shape.rend(), x.shape().rbegin())) {
    fail("layer_norm: input {} does not end in the normalized shape {}", to_string(x.shape()),
         to_string(normalized_shape));
  }
  if (weight && weight.shape() != normalized_shape) {
    fail("layer_norm: weight {} but the normalized shape is {}", to_string(weight.shape()),
         to_string(normalized_shape));
  }
  if (bias && bias.shape() != normalized_shape) {
    fail("layer_norm: bias {} but the normalized shape is {}", to_string(bias.shape()),
         to_string(normalized_shape));
  }
}

}  // namespace

// Ba et al. 2016, arXiv 1607.06450. Over the n elements of each row, with the biased variance:
//   xh = (x - mean(x)) rstd,  rstd = 1 / sqrt(var(x) + eps)
//   y = xh w + b        dx = rstd (g w - mean(g w) - xh mean(g w xh))
//                       dw = sum over rows of g xh    db = sum over rows of g
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  given("layer_norm", "x", x);
  check_norm(x, normalized_shape, weight, bias);
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

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
