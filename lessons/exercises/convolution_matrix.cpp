// Exercise. A convolution as a matrix (after inductive_bias, middle)
//
// A convolution of a row x of n numbers with a kernel w of odd length m, zeros beyond the ends, is
//
//   y_i = Σ_j w_j x_{i + j − c},    c = (m − 1) / 2 the kernel's middle.
//
// It is linear: y = A x. Return A (n, n). Look at it when it is right: of n² weights most are zero
// (locality), and the others are the same m numbers in each row (sharing). That is its inductive
// bias; the ViT's layers have to learn it, or something better.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

Tensor convolution_matrix(const std::vector<double>& w, std::size_t n) {
  // [gap]
  //| // Yours. Array A = zeros({n, n}); then A(i, k) = ...; return Tensor(A).
  //| return {};
  // [solution]
  const std::size_t c = (w.size() - 1) / 2;
  Array A = zeros({n, n});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < w.size(); ++j) {
      if (i + j >= c && i + j - c < n) A(i, i + j - c) = w[j];
    }
  }
  return A;
  // [end]
}

EXERCISE(convolution_matrix);

// [hint 1]
// Row i of A says what y_i takes of each x_k. Which x_k does w_j meet?
// [hint 2]
// k = i + j − c. Where that lies beyond an end, x is zero, and A has no such column. Mind that
// std::size_t knows no negative numbers: compare before you subtract.
// [hint 3]
// for all i, j: if (i + j >= c && i + j - c < n) A(i, i + j - c) = w[j];
