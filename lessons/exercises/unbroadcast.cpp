// Exercise. What broadcasting owes (after broadcasting, middle)
//
// In y = x + b, a bias b (D) is stretched to the shape of x (B, T, D): each of its entries is used
// B·T times. So the cotangent of an entry of b is the sum of all cotangents that come back to its
// copies. Take g, the cotangent of the stretched array, and sum it back to the shape that the array
// had before.
//
// An axis was added when g has more axes than `shape` (new ones stand in front), and stretched
// where `shape` says 1 and g does not. `shape` may also be g's own: then nothing was stretched.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// g, of a shape that `shape` broadcasts to  ->  an array of shape `shape`
Tensor unstretched(const Tensor& g, const Shape& shape) {
  // [gap]
  //| // Yours: find the axes to sum over, sum, and give the result its shape.
  //| // sum(g, {}) means all axes, as everywhere in this library.
  //| return {};
  // [solution]
  const std::size_t added = g.rank() - shape.size();
  Axes axes;
  for (std::size_t i = 0; i < g.rank(); ++i) {
    const bool stretched = i < added || (shape[i - added] == 1 && g.shape()[i] != 1);
    if (stretched) axes.push_back(static_cast<int>(i));
  }
  if (axes.empty()) return g;
  return reshape(sum(g, axes), shape);
  // [end]
}

EXERCISE(unstretched);

// [hint 1]
// Shapes are compared from their last axes. With g (2, 3, 4) and shape (3, 1), axis 1 of g
// belongs to the 3 and axis 2 to the 1; axis 0 was added.
// [hint 2]
// added = g.rank() - shape.size(). Axis i of g was added if i < added, and stretched if
// shape[i - added] is 1 while g.shape()[i] is not. Collect those i in an `Axes`.
// [hint 3]
// return reshape(sum(g, axes), shape); but when `axes` is empty return g:
// summing over {} sums over everything.
