// Exercise. Momentum (after optimizers, easy)
//
// Descent that remembers: v is a running sum of the gradients, of which each step forgets a part.
//
//   v ← μ v + g,    w ← w − η v
//
// Take a step for each gradient in `g`, in their order; v begins at 0. Return w. (With μ = 0 it is
// plain descent; where all gradients agree, its steps grow to 1 / (1 − μ) times as long.)

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

Tensor momentum(Tensor w, const std::vector<Tensor>& g, double eta, double mu) {
  // [gap]
  //| // Yours: zeros(w.shape()) is where v begins.
  //| return {};
  // [solution]
  Tensor v = zeros(w.shape());
  for (const Tensor& gradient : g) {
    v = v * mu + gradient;
    w = w - v * eta;
  }
  return w;
  // [end]
}

EXERCISE(momentum);

// [hint 1]
// v lives as long as the loop: make it before the loop, and change it at each step.
// [hint 2]
// First v, then w with the new v. η stands at the step, not in v.
// [hint 3]
// Tensor v = zeros(w.shape()); for (const Tensor& gradient : g) { v = v * mu + gradient; w = w - v
// * eta; }
