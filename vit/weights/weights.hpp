#pragma once

#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/weights/naming.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian {

/// A ViT that is given images of another size has another grid of patches: its learned position
/// embeddings are resized as if they were a picture of D channels. Four projects do it in four
/// ways, and get four different answers (requirements C6).
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

/// What the user knows better than the file, or wants otherwise.
struct WeightsRequest {
  std::optional<Scheme> scheme{};     ///< whose names; without, what the file looks like
  std::size_t heads = 0;              ///< 0: as the file says, or D / 64 as in all published models
  std::size_t height = 0, width = 0;  ///< of the images; 0: as they were
  std::optional<PosResize> pos_resize{};  ///< without: as the scheme's own project does it
  std::size_t classes = 0;                ///< 0: as they are
};

/// The weights of a ViT: our names and layouts, nothing read yet, and the config they fit.
struct VitWeights {
  ViTConfig config;
  TensorFile tensors;
  Scheme scheme = Scheme::timm;    ///< of the file
  bool ours = false;               ///< whether the file itself carries the config
  std::vector<std::string> notes;  ///< sentences about what is not as in the file
};

/// Opens safetensors, .npz or .pth under any of the four schemes. The config is the one that the
/// file carries (ours do), or follows from the tensors' shapes; then eps is the scheme's own (1e-12
/// under Hugging Face's, 1e-6 otherwise) and the image a square; without a class token the patches
/// are averaged, and without a head the model's output is y. What wraps the names ("module.") is
/// taken off, and a file of another kind of model is told what it seems to be. For images of
/// another size the position embeddings are resized; for another number of classes the head becomes
/// zeros. Throws (Exit::checkpoint), naming the file and what is wrong, and (Exit::usage) for a
/// request that no ViT can fulfil.
VitWeights open_weights(const std::string& path, const WeightsRequest& request = {});

}  // namespace vitruvian
