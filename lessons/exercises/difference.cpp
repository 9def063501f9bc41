// Exercise. A derivative by differences (after differences, easy)
//
// The derivative of f at x says how fast f changes there. Compute it from values of f alone: look a
// step h to the right and a step h to the left. Looking at one side only costs digits: the error is
// then proportional to h instead of h².

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// f′(x), nearly
double difference(const std::function<double(double)>& f, double x, double h) {
  // [gap]
  //| // Yours: one line.
  //| return 0;
  // [solution]
  return (f(x + h) - f(x - h)) / (2 * h);
  // [end]
}

EXERCISE(difference);

// [hint 1]
// Draw a curve and the line through its points above x − h and x + h. You want its slope.
// [hint 2]
// A slope is a rise divided by a run. The run from x − h to x + h is 2h, not h.
// [hint 3]
// f′(x) ≈ (f(x + h) − f(x − h)) / 2h. Mind the brackets: a / 2 * h is not a / (2 * h).
