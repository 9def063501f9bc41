// Exercise. An image becomes patches (after patches, middle)
//
// Cut images (B, C, H, W) into patches of P x P pixels: (B, N, C P²), N = HW / P². Patches run in
// raster order, as one reads: along the first row of patches, then the next. Each patch is
// flattened channel by channel, each channel row by row: (C, P, P). P divides H and W.
//
// `unfold` does this in the library. Do it yourself, with loops or with two reshapes and a permute.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// images (B, C, H, W)  ->  (B, N, C P²)
Tensor patches(const Tensor& images, std::size_t P) {
  // [gap]
  //| // Yours. With loops: Array x = images.value(); is read as x(b, c, i, j).
  //| return {};
  // [solution]
  std::vector<std::ptrdiff_t> n(images.shape().begin(), images.shape().end());
  const auto p = static_cast<std::ptrdiff_t>(P);
  // (B, C, H/P, P, W/P, P) -> (B, H/P, W/P, C, P, P)
  const Tensor cut = reshape(images, {n[0], n[1], n[2] / p, p, n[3] / p, p});
  const Tensor sorted = permute(cut, {0, 2, 4, 1, 3, 5});
  return reshape(sorted, {n[0], n[2] / p * (n[3] / p), n[1] * p * p});
  // [end]
}

EXERCISE(patches);

// [hint 1]
// Pixel (i, j) lies in the patch of row i / P and column j / P, at the place (i % P, j % P). Patch
// (r, s) is number r · W/P + s.
// [hint 2]
// With loops: y(b, r * (W / P) + s, (c * P + u) * P + v) = x(b, c, r * P + u, s * P + v).
// Without: H is (H/P, P) and W is (W/P, P), so reshape to (B, C, H/P, P, W/P, P) first.
// [hint 3]
// Then bring the axes into the order (B, H/P, W/P, C, P, P): permute(x, {0, 2, 4, 1, 3, 5}). The
// last reshape joins axes that have become neighbours.
