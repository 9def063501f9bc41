// Exercise. The matrix product goes back (after matmul, easy)
//
// Y = A B, with A (..., n, k), B (..., k, m) and Y (..., n, m). Given g, the cotangent of Y, return
// the cotangents of A and B. Leading axes, if there are any, are batches of matrices: equal in A, B
// and g, and `matmul` and `transpose` treat each matrix by itself.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

MatmulGradients matmul_vjp(const Tensor& g, const Tensor& A, const Tensor& B) {
  // [gap]
  //| // Yours: one product each.
  //| return {.dA = {}, .dB = {}};
  // [solution]
  return {.dA = matmul(g, transpose(B)), .dB = matmul(transpose(A), g)};
  // [end]
}

EXERCISE(matmul_vjp);

// [hint 1]
// Let shapes guide you. dA must be (n, k); you have g (n, m) and B (k, m once it is turned over).
// There is one product of the two that fits.
// [hint 2]
// A_ij meets row j of B and lands in row i of Y. So its cotangent is row i of g times row j of B:
// dA = g Bᵀ. Think the same way about B_jl, which lands in column l of Y.
// [hint 3]
// dA = g Bᵀ and dB = Aᵀ g; `transpose(x)` exchanges the last two axes.
