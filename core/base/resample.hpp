#pragma once

#include <cstddef>
#include <vector>

// Resampling along one axis: output i is the sum of weight j times input first + j. Pictures and
// grids of position embeddings are resized by it, one axis after the other.

namespace vitruvian {

/// Where one output comes from.
struct Taps {
  std::size_t first = 0;
  std::vector<double> weights;
};

enum class Filter { bilinear, bicubic };

/// The outputs [begin, begin + count) of an axis of `n_in` that becomes one of `n_out`, as Pillow
/// and PyTorch's antialias=True do it: a filter that widens as the axis shrinks (a triangle, or
/// Keys' cubic with a = -1/2), cut at the ends and normalised. Pixels are areas: pixel i is centred
/// at i + 1/2.
std::vector<Taps> antialiased(Filter filter, std::size_t n_in, std::size_t n_out, std::size_t begin,
                              std::size_t count);

/// How a point between inputs is found: `align_corners` puts the first and the last output onto the
/// first and the last input; without it pixels are areas.
struct Interpolation {
  Filter filter = Filter::bicubic;
  bool align_corners = false;
};

/// All outputs by interpolation, which does not widen, as PyTorch's interpolate does it without
/// antialias: two neighbours, or four under Keys' cubic with a = -3/4. A neighbour beyond an end is
/// the end.
std::vector<Taps> interpolated(const Interpolation& how, std::size_t n_in, std::size_t n_out);

/// Numbers (outer, length, inner) resampled along their middle axis: (outer, taps, inner).
std::vector<double> along_axis(const std::vector<double>& values, const std::vector<Taps>& taps,
                               std::size_t outer, std::size_t length, std::size_t inner);

}  // namespace vitruvian
