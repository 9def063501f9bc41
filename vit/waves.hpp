#pragma once

#include "vitruvian/vit/config.hpp"

#include <cstddef>
#include <vector>

// Positions that are not learned, in double precision, and which place in a table learned ones
// have.

namespace vitruvian {

/// Waves of the place p (Vaswani et al. 2017, arXiv 1706.03762, section 3.5), (places, D):
///   E[p, 2i] = sin(p / 10000^(2i / D))    E[p, 2i + 1] = cos(the same)
std::vector<double> sincos_waves(std::size_t places, std::size_t D);
/// Waves of the column x in the first half, of the row y in the second (Chen et al. 2021, MoCo v3,
/// arXiv 2104.02057), (height width, D), with f_i = 10000^(-i / (D / 4)):
///   E[(y, x)] = [sin(x f), cos(x f), sin(y f), cos(y f)]
std::vector<double> sincos_2d_waves(std::size_t height, std::size_t width, std::size_t D);

/// E_pos (places, D) of a config whose positions are sincos or sincos_2d. Under sincos the class
/// token has place 0; where places are those of the grid it is nowhere, and its row is zero, as a
/// distillation token's is.
std::vector<double> fixed_positions(const ViTConfig& config);

/// For Positions::relative, of each pair (query, key) of the T tokens the row, among
/// config.relative_offsets(), of what they are to each other, (T T).
std::vector<std::size_t> relative_rows(const ViTConfig& config);

}  // namespace vitruvian
