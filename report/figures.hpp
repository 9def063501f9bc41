#pragma once

#include "vitruvian/report/figure.hpp"

#include <cstddef>
#include <vector>

// What the figures of a trained ViT are made of that knows no `real`. N, gh and gw as everywhere.

namespace vitruvian::figures {

/// A picture of pixels as the model takes them, (C, H, W), brought back to bytes.
Image picture_of(const double* pixels, std::size_t C, std::size_t H, std::size_t W,
                 const std::vector<double>& mean, const std::vector<double>& std);

/// Map i of (n, rows, columns) in colours, by its own largest number.
Image picture_at(const Numbers& maps, std::size_t i);

/// The cosines of all patches' positions with each other's, (gh, gw, gh, gw), and their means for
/// patches in line and for the rest.
Figure position_similarity(const Numbers& similarity, double line, double rest);
/// The small grids alone, a pixel a cosine, blue below 0 and red above; grey lines between them.
Image similarity_picture(const Numbers& similarity);

}  // namespace vitruvian::figures
