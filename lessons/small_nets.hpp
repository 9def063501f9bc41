#pragma once

#include "core/ops.hpp"
#include "nn/init.hpp"
#include "nn/layers.hpp"

// What lesson 26 holds the ViT against, for digits (B, 1, 28, 28).

namespace vitruvian::lessons::inline VITRUVIAN_PRECISION {

// [region mlp and cnn]
struct MlpNet {  // 784 numbers in a row: nobody says which are neighbours
  Linear fc1, fc2;
  explicit MlpNet(const Rng& rng)
      : fc1(784, 32, rng.fork("1")),  //
        fc2(32, 10, rng.fork("2")) {}
  Tensor operator()(const Tensor& x) const {
    return fc2(gelu(fc1(reshape(x, {std::ptrdiff_t(x.size(0)), -1}))));
  }
  void visit(Visitor& v) const { v.child("fc1", fc1), v.child("fc2", fc2); }
};
struct ConvNet {  // three convolutions, then the mean over all places
  Parameter w1, w2, w3;
  Linear head;
  explicit ConvNet(const Rng& rng)
      : w1(zeros({16, 1, 5, 5})),
        w2(zeros({32, 16, 3, 3})),
        w3(zeros({32, 32, 3, 3})),
        head(32, 10, rng.fork("head")) {
    init::kaiming_uniform(w1, rng.fork("1"));
    init::kaiming_uniform(w2, rng.fork("2"));
    init::kaiming_uniform(w3, rng.fork("3"));
  }
  Tensor operator()(const Tensor& x) const {
    const Tensor a = relu(conv2d(x, w1, {}, 2, 2));  // every second place
    const Tensor b = relu(conv2d(relu(conv2d(a, w2, {}, 1, 1)), w3, {}, 1, 1));
    return head(mean(b, {2, 3}));
  }
  void visit(Visitor& v) const {
    v.parameter("w1", Role::weight, w1), v.parameter("w2", Role::weight, w2);
    v.parameter("w3", Role::weight, w3), v.child("head", head);
  }
};
// [end]

}  // namespace vitruvian::lessons::inline VITRUVIAN_PRECISION
