#pragma once

#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/report/inspect.hpp"
#include "vitruvian/train/weights.hpp"

#include <utility>
#include <vector>

// The figures of a model, each a function from the model to pictures. Internal to report.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// What there is to look at. Images go through the model one by one: their number costs time alone.
struct Samples {
  DataConfig data;  ///< how its images are normalised
  std::vector<Image> pictures;
  std::vector<Array> inputs;        ///< (1, C, H, W)
  std::vector<std::size_t> labels;  ///< of a data set's images
  std::vector<std::string> class_names;
  std::string described;  ///< "16 test images of digits, the classes in turn"
};

/// Reads the pictures or the data set's images. Throws as read_image and load_test do.
Samples samples_of(const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer);
/// The first images of a loader, the classes in turn, which have the model's shape; `data` stays
/// empty.
Samples samples_of(const Loader& images, std::size_t count, const ViTConfig& config);

/// Collects figures, and tells of each.
struct FigureList {
  const InspectObserver& observer;
  std::vector<Figure> figures{};
  void add(Figure figure) {
    observer.drawn(figure);
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

/// Whether something is added to the tokens that tells their places, and is learned.
bool learns_position_table(const ViTConfig& config);

/// In either precision's stead.
Numbers numbers(const Array& array);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
