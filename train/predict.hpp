#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/core/base/resample.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// What a model says of pictures.

namespace vitruvian {

struct PredictOptions {
  std::string weights;  ///< safetensors, .npz or .pth, under any naming scheme, or a run directory
  WeightsRequest request;
  std::vector<std::string> images;  ///< PNG, JPEG, PGM or PPM
  bool numbers = false;  ///< tell features and logits too; a model without a head will do
  std::string labels;    ///< a file of class names, one a line; may be empty
  std::size_t top = 5;
  Filter filter = Filter::bilinear;
  std::vector<double> mean, std;  ///< of pixels in [0, 1]; one for all channels, or one for each.
                                  ///< Empty: as the file says, or as the scheme's project has it
  std::uint64_t max_pixels = 100'000'000;

  /// Throws (Exit::usage) for the first setting that cannot be.
  void validate() const;
};

struct Guess {
  std::size_t index = 0;
  std::string name;  ///< empty where classes have no names
  double probability = 0;
};

struct Prediction {
  std::string image;
  std::vector<Guess> guesses;  ///< the likeliest first; equal ones by index
  std::string error;           ///< why there are none: a sentence that names the file
  /// y, what the head sees (D), and the logits (K), where they were asked for.
  std::vector<double> features{}, logits{};

  /// As one line of JSON.
  [[nodiscard]] std::string to_json() const;
};

/// Who is told, as it happens.
struct PredictObserver {
  std::function<void(const std::string& sentence)> note = [](const std::string&) {};
  std::function<void(const Prediction& prediction)> predicted = [](const Prediction&) {};
};

inline namespace VITRUVIAN_PRECISION {
/// Reads the weights, then picture after picture, in their order. Models trained here get a picture
/// stretched to their size; others torchvision's reference transforms: see Fit. A picture that
/// cannot be read is a prediction with an error; the others go on. Throws as load_weights and
/// read_labels do, and (Exit::usage) where
/// a model without a head is to name classes.
void predict(const PredictOptions& options, const PredictObserver& observer);
}  // namespace VITRUVIAN_PRECISION

/// {"image": path, what: numbers}, as one line of JSON.
std::string numbers_to_json(const std::string& image, const std::string& what,
                            const std::vector<double>& numbers);

/// Pictures by their paths, those of a directory in its place and sorted. Throws (Exit::data) for a
/// directory that holds no files or cannot be read.
std::vector<std::string> pictures_of(const std::vector<std::string>& paths);

/// The names of K classes from a text file, one a line. Throws (Exit::data), naming the file, when
/// it cannot be read, is larger than any such file (16 MB), or has not K lines (empty ones at the
/// end aside).
std::vector<std::string> read_labels(const std::string& path, std::size_t K);

}  // namespace vitruvian
