#pragma once

#include "train/figures.hpp"
#include "train/inspect.hpp"
#include "train/inspect_subject.hpp"

#include <utility>
#include <vector>

// The figures of a model, each a function from the model to pictures. Internal to train.

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// Collects figures, and tells of each.
struct Gallery {
  const InspectObserver& observer;
  std::vector<Figure> figures{};
  void add(Figure figure) {
    if (observer.drawn) observer.drawn(figure);
    figures.push_back(std::move(figure));
  }
};

/// Patches of the first image, filters and their components, similarity of positions.
void draw_patches(const VisionTransformer& model, const Subject& subject, Gallery& gallery);
void draw_weights(const VisionTransformer& model, Gallery& gallery);
/// Everything that attention tells.
void draw_attention(const VisionTransformer& model, const Subject& subject,
                    const InspectOptions& options, Gallery& gallery);
/// What of each image the output comes from, by attention and by derivatives.
void draw_explanations(const VisionTransformer& model, const Subject& subject,
                       const InspectOptions& options, Gallery& gallery);
/// Norms of activations and gradients, and what the hidden units do.
void draw_layers(const VisionTransformer& model, const Subject& subject, Gallery& gallery);
/// Similarity of positions, checkpoint by checkpoint.
void draw_strip(const std::vector<std::string>& checkpoints, const WeightsRequest& request,
                Gallery& gallery);

/// Whether something is added to the tokens that tells their places, and whether it is learned.
bool has_position_table(const ViTConfig& config);
bool learns_position_table(const ViTConfig& config);

/// In either precision's stead.
Numbers numbers(const Array& array);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
