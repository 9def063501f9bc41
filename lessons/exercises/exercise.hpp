#pragma once

// What an exercise is written with: the library's tensors and ops (core/ops.hpp), in float64, and
// the structs below for answers of several parts.

#include "vitruvian/core/ops.hpp"

#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <typeinfo>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

struct MatmulGradients {
  Tensor dA, dB;
};
struct LinearGradients {
  Tensor dx, dW, db;
};
struct LayerNormGradients {
  Tensor dx, dgamma, dbeta;
};
struct AttentionGradients {
  Tensor dq, dk, dv;
};

/// What AdamW knows of one parameter.
struct AdamWState {
  Tensor w;           ///< the parameter
  Tensor m;           ///< the running mean of its gradients
  Tensor v;           ///< the running mean of their squares
  std::size_t t = 0;  ///< steps taken so far
};
struct AdamWRates {
  double eta = 1e-3;  ///< the learning rate
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double lambda = 0.01;  ///< the weight decay
};

/// A link of a chain of functions: f and its derivative.
struct Link {
  std::function<double(double)> f, df;
};
/// A function of several numbers.
using OfNumbers = std::function<double(const std::vector<double>&)>;
/// Takes the cotangent of a function's result to that of its input.
using Way = std::function<Tensor(const Tensor& g)>;

/// The sizes by which a ViT's numbers are counted; S is the side of an image.
struct CountedSizes {
  std::size_t C = 3, S = 224, P = 16, D = 768, L = 12, M = 3072, K = 1000;
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian

namespace vitruvian::lessons {

/// The function that a file hands in, its type, which is looked at before it is called, and the
/// file.
struct Submission {
  const char* type;
  void (*function)();
  const char* file;
};

}  // namespace vitruvian::lessons

/// Hands a function in: the last line of an exercise.
#define EXERCISE(function)                                                                \
  extern "C" ::vitruvian::lessons::Submission vitruvian_submission() {                    \
    return {typeid(&function).name(), reinterpret_cast<void (*)()>(&function), __FILE__}; \
  }                                                                                       \
  static_assert(true, "")
