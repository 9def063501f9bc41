// Exercise. The MLP of your ViT (after mlp, easy)
//
//   MLP(x) = GELU(x W₁ᵀ + b₁) W₂ᵀ + b₂
//
// From here on you write what a deep-learning programmer writes: ops in the right order. Your tape
// does the derivatives. The parameters come by the names that they have in a file of weights: below
// `name`, fc1.weight (M, D), fc1.bias (M), fc2.weight (D, M), fc2.bias (D).
//
// Parts: walk_back linear own_linear gelu

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

// x (B, T, D)  ->  (B, T, D)
Var own_mlp(const Weights& w, const std::string& name, const Var& x) {
  // [gap]
  //| // Yours: linear(x, W, b), gelu(x); w.at(name + ".fc1.weight") is a parameter.
  //| return {};
  // [solution]
  const Var hidden = gelu(linear(x, w.at(name + ".fc1.weight"), w.at(name + ".fc1.bias")));
  return linear(hidden, w.at(name + ".fc2.weight"), w.at(name + ".fc2.bias"));
  // [end]
}

EXERCISE(own_mlp);

// [hint 1]
// Two linear layers, and one GELU between them: none behind the second.
// [hint 2]
// The first layer makes M numbers of D, the second D of M. `linear` transposes W itself.
// [hint 3]
// const Var hidden = gelu(linear(x, w.at(name + ".fc1.weight"), w.at(name + ".fc1.bias"))); then
// the same with hidden and fc2, without gelu.
