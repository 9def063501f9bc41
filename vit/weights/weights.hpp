#pragma once

#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/weights/naming.hpp"
#include "vitruvian/vit/weights/pos_resize.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian {

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

/// Opens safetensors or .npz under any of the four schemes. The config is the one that the file
/// carries (ours do), or follows from the tensors' shapes; then eps is the scheme's own (1e-12
/// under Hugging Face's, 1e-6 otherwise) and the image a square. For images of another size the
/// position embeddings are resized; for another number of classes the head becomes zeros. Throws
/// (Exit::checkpoint), naming the file and what is wrong, and (Exit::usage) for a request that no
/// ViT can fulfil.
VitWeights open_weights(const std::string& path, const WeightsRequest& request = {});

}  // namespace vitruvian
