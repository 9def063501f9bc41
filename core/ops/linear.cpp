#include "core/error.hpp"
#include "core/kernels/kernels.hpp"
#include "core/ops.hpp"
#include "core/ops/rows.hpp"

#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

void check(const Tensor& x, const Tensor& weight, const Tensor& bias) {
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

}  // namespace

// y = x W^T + b, x (R, in), W (out, in)          dx = g W   dW = g^T x   db = sum over rows of g
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(x, weight, bias);
  const std::size_t in = weight.size(1);
  const std::size_t out = weight.size(0);
  const std::size_t rows = flattened(x.shape(), 0, x.rank() - 1);
  Shape shape = x.shape();
  shape.back() = out;
  Array y = empty(shape);
  multiply({data_of(x), rows, in}, Matrix{data_of(weight), out, in}.t(), y.data());
  if (bias) kernels::add_bias(y.data(), data_of(bias), rows, out);

  auto vjp = [rows, in, out](const Node& n, const Array& g) {
    const Matrix X{data_of(n, 0), rows, in};
    const Matrix W{data_of(n, 1), out, in};
    const Matrix G{g.data(), rows, out};
    std::optional<Array> dx = cotangent_for(n, 0);
    std::optional<Array> dw = cotangent_for(n, 1);
    std::optional<Array> db = cotangent_for(n, 2);
    if (dx) multiply(G, W, dx->data());
    if (dw) multiply(G.t(), X, dw->data());
    if (db) kernels::sum_rows(g.data(), db->data(), rows, out);
    return cotangents(std::move(dx), std::move(dw), std::move(db));
  };
  return record("linear", std::move(y), {x, weight, bias}, vjp);
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
