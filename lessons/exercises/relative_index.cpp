// Exercise. Who is how far away? (after miniature, middle)
//
// Relative positions learn one number for each offset between two patches, not one vector for each
// place. On a grid of g x g patches in raster order, patch i at row y_i and column x_i looks at
// patch j with the offset (y_i − y_j, x_i − x_j). Each of the two runs from −(g − 1) to g − 1, so
// there are (2g − 1)² offsets. Number them in raster order, from 0 for (−(g − 1), −(g − 1)).
//
// Return the number of the offset for all pairs, entry i · N + j for patches i and j, N = g².

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

std::vector<std::size_t> relative_index(std::size_t g) {
  // [gap]
  //| // Yours. Row and column of patch i are i / g and i % g.
  //| return {};
  // [solution]
  const std::size_t N = g * g, side = 2 * g - 1;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      const std::size_t down = i / g + (g - 1) - j / g, right = i % g + (g - 1) - j % g;
      index.push_back(down * side + right);
    }
  }
  return index;
  // [end]
}

EXERCISE(relative_index);

// [hint 1]
// Shift both offsets by g − 1, so that they begin at 0. Then it is the number of a place on a
// grid that is 2g − 1 wide.
// [hint 2]
// std::size_t knows no negative numbers: add g − 1 before you subtract.
// [hint 3]
// (y_i + g − 1 − y_j) · (2g − 1) + (x_i + g − 1 − x_j).
