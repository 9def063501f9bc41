#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <cstddef>
#include <string>
#include <vector>

// A ViT that is given images of another size has another grid of patches: its learned position
// embeddings are resized as if they were a picture of D channels. Four projects do it in four ways,
// and get four different answers (requirements C6).

namespace vitruvian {

enum class PosResize {
  jax,          ///< scipy.ndimage.zoom(order=1): linear, ends on ends
  torchvision,  ///< F.interpolate(mode="bicubic", align_corners=True)
  timm,         ///< F.interpolate(mode="bicubic", antialias=True)
  hf            ///< F.interpolate(mode="bicubic", align_corners=False)
};

/// "jax", "torchvision", "timm", "hf"; and back, which throws (Exit::usage) on another.
const std::vector<std::string>& pos_resize_names();
PosResize pos_resize_of(const std::string& name);

struct Grid {
  std::size_t height = 0, width = 0;
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// `channels` numbers at each point of a grid (height, width, channels) on another grid.
std::vector<double> resize_grid(const std::vector<double>& values, Grid from, Grid to,
                                std::size_t channels, PosResize how);

/// pos_embed (1, 1 + N, D), or (1, N, D) without a class token, resized when it is read. The class
/// token's row, the first, stays as it is.
StoredTensor resize_positions(const StoredTensor& pos_embed, Grid from, Grid to, PosResize how);

}  // namespace vitruvian
