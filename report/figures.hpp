#pragma once

#include "vitruvian/report/figure.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// The figures of a trained ViT: from the numbers that vit/inspect/ computes to pictures. Shapes
// are those of the functions there; L, h, N, gh and gw as everywhere. Layers and heads count from
// 0, as in the tensors' names.

namespace vitruvian::figures {

/// A picture of pixels as the model takes them, (C, H, W), brought back to bytes.
Image picture_of(const double* pixels, std::size_t C, std::size_t H, std::size_t W,
                 const std::vector<double>& mean, const std::vector<double>& std);

/// The image beside its patches (N, C, P, P), in raster order.
Figure patches(const Image& image, const Numbers& patches, std::size_t grid_width,
               const std::vector<double>& mean, const std::vector<double>& std);
/// Rows of E as pictures (D, C, P, P).
Figure filters(const Numbers& filters);
/// Their principal components (k, C, P, P); `variances` of each, and of all together.
Figure filter_components(const Numbers& components, const std::vector<double>& variances,
                         double total);
/// (gh, gw, gh, gw), and the mean cosines of patches in line and of the rest.
Figure position_similarity(const Numbers& similarity, double line, double rest);
/// The small grids alone, a pixel a cosine, blue below 0 and red above; grey lines between them.
Image similarity_picture(const Numbers& similarity);

/// What heads do, each (L, h); `on_class_token` is empty where there is none.
struct HeadNumbers {
  Numbers distance, on_class_token, entropy, saturated;
};
/// Whose attention it is. A patch is marked in the figures.
struct Asker {
  std::string name;
  std::optional<std::size_t> patch;
  bool class_token = true;  ///< whether the model has one
};
Figure attention_distance(const HeadNumbers& heads, std::size_t images);
Figure attention_entropy(const HeadNumbers& heads, std::size_t tokens);
/// (L, h, gh, gw): one query's attention to the patches.
Figure attention_maps(const Numbers& maps, const Asker& asker);
/// One of them, (gh, gw), over the image; `which` says of which layer and head.
Figure attention_map(const Image& image, const Numbers& map, const Asker& asker,
                     const std::string& which);
/// (T, T).
Figure attention_matrix(const Numbers& matrix, const std::string& which, bool class_token);

/// Maps that explain pictures, a row for each picture, a column for each kind.
struct Explained {
  std::string name;  ///< of its files: "rollout"
  std::string title;
  Numbers maps;  ///< (B, gh, gw) or (B, H, W)
};
Figure explanations(const std::vector<Image>& images, const std::vector<std::string>& labels,
                    const std::vector<Explained>& columns, const std::string& text);

/// Root mean squares of what flows through the model, in the order of computation.
struct Flow {
  std::vector<std::string> names;
  std::vector<double> activations, gradients;
};
Figure norms(const Flow& flow, double loss);
/// Shares of the hidden units of each MLP.
struct Units {
  std::vector<double> dead, never_on, always_on, on;
};
Figure hidden_units(const Units& units);
Figure block_graph(std::size_t layer, const std::string& dot, const std::string& text);

/// One checkpoint of a run: its name and what its positions are like.
struct Moment {
  std::string name;
  Numbers similarity;
  double line = 0, rest = 0;
};
Figure strip(const std::vector<Moment>& moments);

}  // namespace vitruvian::figures
