#pragma once

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/tensor.hpp"

#include <cstddef>
#include <optional>

// What ops share: arrays seen as matrices, and optional arrays handed to kernels.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// The value of `x`; throws, naming the op and its argument, when the tensor is absent.
inline const Array& given(const char* op, const char* argument, const Tensor& x) {
  if (!x) fail("{}: {} is absent; it must be a tensor that has a value", op, argument);
  return x.value();
}

/// A result whose own rule does not read its value, so that a sum may take it over (`operator+`).
inline Tensor unread(Tensor y) {
  y.node().unread = true;
  return y;
}

/// The number of elements in axes [first, last): the rows or the columns of a flattened array.
inline std::size_t flattened(const Shape& shape, std::size_t first, std::size_t last) {
  std::size_t n = 1;
  for (std::size_t axis = first; axis < last; ++axis) n *= shape[axis];
  return n;
}

/// The elements of an optional input or cotangent; null where it is absent.
inline const real* data_of(const Tensor& x) { return x ? x.value().data() : nullptr; }
inline const real* data_of(const Node& n, std::size_t i) {
  return n.has(i) ? n.in(i).data() : nullptr;
}
inline real* data_of(std::optional<Array>& x) { return x ? x->data() : nullptr; }

/// An uninitialised cotangent for input `i`, or nothing where nobody wants it.
inline std::optional<Array> cotangent_for(const Node& n, std::size_t i) {
  if (!n.needs(i)) return std::nullopt;
  return empty(n.in_shape(i));
}

/// Row-major elements read as a matrix, or as its transpose.
struct Matrix {
  const real* data;
  std::size_t rows, columns;  // as they lie in memory
  bool transposed = false;
  std::size_t step = columns;           // from a row to the next
  kernels::KeptPanels* kept = nullptr;  // of a weight of a model that does not learn
  [[nodiscard]] Matrix t() const { return {data, rows, columns, !transposed, step, kept}; }
  /// Some rows, or some columns, of one that is not transposed.
  [[nodiscard]] Matrix row_block(std::size_t first, std::size_t many) const {
    return {data + first * step, many, columns, false, step};
  }
  [[nodiscard]] Matrix column_block(std::size_t first, std::size_t many) const {
    return {data + first, rows, many, false, step};
  }
};

/// c = a b + beta c. The rows of c lie `step` elements apart, or, where that is 0, side by side.
/// With `batch`, so many times: a and b advance by their strides (0 reads the same matrix again), c
/// by its own size.
inline void multiply(const Matrix& a, const Matrix& b, real* c, real beta = 0,
                     std::size_t batch = 1, std::size_t stride_a = 0, std::size_t stride_b = 0,
                     std::size_t step = 0) {
  kernels::Gemm<real> gemm;
  gemm.m = a.transposed ? a.columns : a.rows;
  gemm.k = a.transposed ? a.rows : a.columns;
  gemm.n = b.transposed ? b.rows : b.columns;
  gemm.a = a.data;
  gemm.lda = a.step;
  gemm.trans_a = a.transposed;
  gemm.b = b.data;
  gemm.ldb = b.step;
  gemm.trans_b = b.transposed;
  gemm.kept = b.kept;
  gemm.c = c;
  gemm.ldc = step == 0 ? gemm.n : step;
  gemm.beta = beta;
  kernels::gemm_batch(gemm, batch, stride_a, stride_b, gemm.m * gemm.n);
}
inline void multiply_into(real* c, std::size_t step, const Matrix& a, const Matrix& b) {
  multiply(a, b, c, 0, 1, 0, 0, step);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
