// Exercise. Momentum (after optimizers, easy)
//
// Descent that remembers: m is a running sum of the gradients, of which each step forgets a part.
//
//   m ← μ m + g,    w ← w − η m
//
// Take a step for each gradient in `g`, in their order; m begins at 0. Return w. (With μ = 0 it is
// plain descent; where all gradients agree, its steps grow to 1 / (1 − μ) times as long.)

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

Tensor momentum(Tensor w, const std::vector<Tensor>& g, double eta, double mu) {
  // [gap]
  //| // Yours: zeros(w.shape()) is where m begins.
  //| return {};
  // [solution]
  Tensor m = zeros(w.shape());
  for (const Tensor& gradient : g) {
    m = m * mu + gradient;
    w = w - m * eta;
  }
  return w;
  // [end]
}

EXERCISE(momentum);

// [hint 1]
// m lives as long as the loop: make it before the loop, and change it at each step.
// [hint 2]
// First m, then w with the new m. η stands at the step, not in m.
// [hint 3]
// Tensor m = zeros(w.shape()); for (const Tensor& gradient : g) { m = m * mu + gradient; w = w - m
// * eta; }
