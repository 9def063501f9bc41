#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/core/base/resample.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Looking inside a trained model: all its figures, in a folder.

namespace vitruvian {

class Loader;

struct InspectOptions {
  std::string weights;  ///< as PredictOptions has it; may be empty with `strip`
  WeightsRequest request;
  std::vector<std::string> images;  ///< PNG, JPEG, PGM or PPM; without, test images of `dataset`
  std::string dataset;  ///< empty: what the run was trained on, or the built-in digits; else none
  std::string data;     ///< the folder with the data set's files
  std::size_t count = 16;  ///< so many test images, the classes in turn
  std::string out;         ///< the folder to write to

  // Whose attention is drawn alone; counted from 0.
  std::optional<std::size_t> layer;      ///< without: the last
  std::optional<std::size_t> head;       ///< without: the mean of all
  std::optional<std::size_t> query;      ///< a patch in raster order; without: the class token, or,
                                         ///< where there is none, the patch in the middle
  std::size_t smooth_grad = 0;           ///< samples; 0: not drawn
  std::size_t integrated_gradients = 0;  ///< steps; 0: not drawn

  std::string strip;      ///< a run's folder, or one of checkpoints; empty: no strip
  std::size_t every = 1;  ///< every N-th checkpoint of it

  Filter filter = Filter::bilinear;
  std::vector<double> mean, std;  ///< as PredictOptions has them
  std::uint64_t max_pixels = usual_max_pixels;

  /// Throws (Exit::usage) for the first setting that cannot be.
  void validate() const;
};

/// Who is told, as it happens.
struct InspectObserver {
  std::function<void(const std::string& sentence)> note = [](const std::string&) {};
  std::function<void(const Figure& figure)> drawn = [](const Figure&) {};
};

/// The safetensors files of a folder, or of `checkpoints` in it, that have a number in their names,
/// in the order of these: each `every`-th and the last. (A run's `last` is no file of weights, and
/// its `best` one of the others again.) Throws (Exit::data) where the folder cannot be read.
std::vector<std::string> checkpoints_of(const std::string& folder, std::size_t every);

/// The first `count` images of a loader, each class in its turn: eight images show eight classes,
/// where there are so many.
std::vector<std::size_t> classes_in_turn(const Loader& images, std::size_t count);

inline namespace VITRUVIAN_PRECISION {
/// Reads the weights, looks at the images, and writes every figure, its numbers and index.html to
/// the folder. Returns the names of the files. Nothing is written before everything is computed.
/// Throws as load_weights, read_image and FigureFolder do, and (Exit::usage) where a layer, head or
/// patch is not there.
std::vector<std::string> inspect_model(const InspectOptions& options,
                                       const InspectObserver& observer);
}  // namespace VITRUVIAN_PRECISION

}  // namespace vitruvian
