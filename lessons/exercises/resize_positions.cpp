// Exercise. Positions for a larger image (after fine_tuning, hard)
//
// A ViT that was trained on a grid of n x n patches is to read m x m of them. Its position
// embeddings (1, 1 + n², D) are seen as a picture of n x n pixels with D colours, behind the class
// token's row, which is copied as it is. The picture is resized bilinearly, corners staying
// corners: row i of the new grid lies at i (n − 1) / (m − 1) of the old one, columns likewise. n
// and m are at least 2. Rows of the embedding follow the patches' raster order.

#include "lessons/exercises/exercise.hpp"

#include <algorithm>

using namespace vitruvian;

// positions (1, 1 + n², D)  ->  (1, 1 + m², D)
Tensor resize_positions(const Tensor& positions, std::size_t n, std::size_t m) {
  const std::size_t D = positions.size(2);
  const Array& from = positions.value();  // read as from(0, token, d)
  Array to = zeros({1, 1 + m * m, D});
  // [gap]
  //| // Yours: fill `to`. Token 1 + row * n + column is the patch at (row, column).
  //| return {};
  // [solution]
  const double ratio = static_cast<double>(n - 1) / static_cast<double>(m - 1);
  const auto token = [&](std::size_t row, std::size_t column) { return 1 + row * n + column; };
  for (std::size_t d = 0; d < D; ++d) {
    to(0, 0, d) = from(0, 0, d);
    for (std::size_t i = 0; i < m; ++i) {
      const double y = static_cast<double>(i) * ratio;
      const std::size_t top = std::min(static_cast<std::size_t>(y), n - 2);
      const double down = y - static_cast<double>(top);
      for (std::size_t j = 0; j < m; ++j) {
        const double x = static_cast<double>(j) * ratio;
        const std::size_t left = std::min(static_cast<std::size_t>(x), n - 2);
        const double right = x - static_cast<double>(left);
        const double above =
            (1 - right) * from(0, token(top, left), d) + right * from(0, token(top, left + 1), d);
        const double below = (1 - right) * from(0, token(top + 1, left), d) +
                             right * from(0, token(top + 1, left + 1), d);
        to(0, 1 + i * m + j, d) = (1 - down) * above + down * below;
      }
    }
  }
  return to;
  // [end]
}

EXERCISE(resize_positions);

// [hint 1]
// First along one line: the new point i lies at y = i (n − 1) / (m − 1), between the old points
// floor(y) and floor(y) + 1. Its value is a mixture of theirs, by nearness.
// [hint 2]
// In two directions: mix the two upper neighbours along the row, the two lower ones likewise, and
// then those two results along the column. Four products in all.
// [hint 3]
// At the last point y is n − 1, and floor(y) + 1 would lie outside:
// top = std::min(static_cast<std::size_t>(y), n - 2); down = y - top; then
// (1 - down) * above + down * below.
