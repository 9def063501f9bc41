// Exercise. Positions as waves (after class_and_positions, easy)
//
// Vaswani et al. gave each position t a row of D numbers that nobody has to learn:
//
//   E(t, 2i) = sin(t / 10000^(2i/D)),    E(t, 2i + 1) = cos(t / 10000^(2i/D)).
//
// The first pair turns once in about six positions, the last one hardly moves. D is even.

#include "lessons/exercises/exercise.hpp"

#include <cmath>

using namespace vitruvian;

// positions 0 to T − 1  ->  (T, D)
Tensor sine_cosine(std::size_t T, std::size_t D) {
  // [gap]
  //| // Yours. Array E = zeros({T, D}); is written as E(t, d) = ...
  //| return {};
  // [solution]
  Array E = zeros({T, D});
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t d = 0; d < D; d += 2) {  // d = 2i
      const double exponent = static_cast<double>(d) / static_cast<double>(D);
      const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
      E(t, d) = std::sin(angle);
      E(t, d + 1) = std::cos(angle);
    }
  }
  return E;
  // [end]
}

EXERCISE(sine_cosine);

// [hint 1]
// Two loops: one over positions t, one over pairs of columns. Both columns of a pair have the same
// angle.
// [hint 2]
// If d is the even column, 2i is d: the exponent is d / D. Mind that 3 / 8 of two integers is 0;
// static_cast<double>(d) / static_cast<double>(D) is not.
// [hint 3]
// for (std::size_t d = 0; d < D; d += 2) with angle = t / std::pow(10000.0, d / D), all in double,
// then E(t, d) = std::sin(angle) and E(t, d + 1) = std::cos(angle).
