// Exercise. Which gradient is wrong? (after gradient_check, middle)
//
// Somebody hands you f, a place x and what they claim to be its gradient. Compare each entry with a
// central difference,
//
//   d_i = (f(x + h e_i) − f(x − h e_i)) / (2h),    h = 10⁻⁵,
//
// and return the indices i, from the smallest, where |claimed_i − d_i| > 10⁻⁶ · max(1, |d_i|): an
// error is judged by the size of what it is an error of, but not below 1.

#include "lessons/exercises/exercise.hpp"

#include <algorithm>
#include <cmath>

using namespace vitruvian;

std::vector<std::size_t> wrong_entries(const OfNumbers& f, const std::vector<double>& x,
                                       const std::vector<double>& claimed) {
  // [gap]
  //| // Yours. f(x) is a double; move one entry of a copy of x at a time.
  //| return {};
  // [solution]
  constexpr double h = 1e-5;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> up = x, down = x;
    up[i] += h;
    down[i] -= h;
    const double d = (f(up) - f(down)) / (2 * h);
    if (std::abs(claimed[i] - d) > 1e-6 * std::max(1.0, std::abs(d))) wrong.push_back(i);
  }
  return wrong;
  // [end]
}

EXERCISE(wrong_entries);

// [hint 1]
// For each entry: two copies of x, one moved up by h there, one down. All else stays where it
// is.
// [hint 2]
// The allowed error grows with |d|: a derivative of 1000 that is off by 0.0005 is right, one of
// 0.001 is not.
// [hint 3]
// d = (f(up) − f(down)) / (2 * h); if (std::abs(claimed[i] - d) > 1e-6 * std::max(1.0,
// std::abs(d))) wrong.push_back(i);
