#pragma once

#include "report/figures.hpp"
#include "report/inspect.hpp"
#include "report/inspect_images.hpp"

#include <utility>
#include <vector>

// The figures of a model, each a function from the model to pictures. Internal to train.

namespace vitruvian::inline VITRUVIAN_PRECISION {

/// Collects figures, and tells of each.
struct FigureList {
  const InspectObserver& observer;
  std::vector<Figure> figures{};
  void add(Figure figure) {
    if (observer.drawn) observer.drawn(figure);
    figures.push_back(std::move(figure));
  }
};

/// Patches of the first image, filters and their components, similarity of positions.
void draw_patches(const VisionTransformer& model, const Samples& samples, FigureList& list);
void draw_weights(const VisionTransformer& model, FigureList& list);
/// Everything that attention tells.
void draw_attention(const VisionTransformer& model, const Samples& samples,
                    const InspectOptions& options, FigureList& list);
/// What of each image the output comes from, by attention and by derivatives.
void draw_explanations(const VisionTransformer& model, const Samples& samples,
                       const InspectOptions& options, FigureList& list);
/// Norms of activations and gradients, and what the hidden units do.
void draw_layers(const VisionTransformer& model, const Samples& samples, FigureList& list);
/// Similarity of positions, checkpoint by checkpoint.
void draw_strip(const std::vector<std::string>& checkpoints, const WeightsRequest& request,
                FigureList& list);

/// Whether something is added to the tokens that tells their places, and whether it is learned.
bool has_position_table(const ViTConfig& config);
bool learns_position_table(const ViTConfig& config);

/// In either precision's stead.
Numbers numbers(const Array& array);

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
