// Exercise. How many numbers does a ViT learn? (after vit, easy)
//
// Images (C, S, S) in patches of P x P, tokens of width D, L blocks, an MLP of hidden width M, K
// classes. Every linear layer has a bias, every layer norm γ and β:
//
//   patches C P² → D, class token D, positions (1 + N) × D
//   each block: layer norm, D → 3D, D → D, layer norm, D → M, M → D
//   layer norm, head D → K
//
// Return how many numbers that are. For ViT-Base at 224 pixels with P = 16: 86,567,656.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

std::size_t parameter_count(const CountedSizes& s) {
  // [gap]
  //| // Yours. The letters are s.C, s.S, s.P, s.D, s.L, s.M, s.K.
  //| return 0;
  // [solution]
  const auto linear = [](std::size_t in, std::size_t out) { return in * out + out; };
  const std::size_t N = (s.S / s.P) * (s.S / s.P), norm = 2 * s.D;
  const std::size_t block =
      norm + linear(s.D, 3 * s.D) + linear(s.D, s.D) + norm + linear(s.D, s.M) + linear(s.M, s.D);
  return linear(s.C * s.P * s.P, s.D) + s.D + (1 + N) * s.D + s.L * block + norm + linear(s.D, s.K);
  // [end]
}

EXERCISE(parameter_count);

// [hint 1]
// A linear layer from `in` to `out` numbers has in · out weights and `out` biases. A function for
// that makes the rest a sum.
// [hint 2]
// N = (S / P)². The number of heads does not matter: they share the D columns among them.
// [hint 3]
// block = 2D + (3D² + 3D) + (D² + D) + 2D + (DM + M) + (MD + D); all = (CP²D + D) + D + (1 + N) D +
// L block + 2D + (DK + K).
