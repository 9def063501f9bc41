#include "train/predict.hpp"

#include "core/error.hpp"
#include "datasets/dataset.hpp"
#include "media/image.hpp"
#include "train/labels.hpp"
#include "train/run_directory.hpp"
#include "train/weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

// One number for each channel from what the user said: none, one for all, or all.
void settle(std::vector<double>& values, const std::vector<double>& said, std::size_t C,
            const char* what) {
  if (said.empty()) return;
  if (said.size() != 1 && said.size() != C) {
    fail(Exit::usage, "--{} has {} numbers, but the model's images have {} channels", what,
         said.size(), C);
  }
  values = said.size() == C ? said : std::vector<double>(C, said.front());
}

TrainedOn normalisation(const PredictOptions& options, const TrainedModel& trained,
                        const PredictObserver& observer) {
  const std::size_t C = trained.model.config.C;
  TrainedOn data = trained.data;
  settle(data.mean, options.mean, C, "mean");
  settle(data.std, options.std, C, "std");
  if (data.mean.empty() || data.std.empty()) {
    const TrainedOn usual = published_normalisation(trained.scheme, C);
    if (usual.mean.empty()) {
      fail(Exit::usage, "{}: it does not say how its images were normalised: --mean and --std?",
           options.weights);
    }
    if (data.mean.empty()) data.mean = usual.mean;
    if (data.std.empty()) data.std = usual.std;
    observer.note(fmt::format(
        "normalised by mean {} and std {}, as published weights under {} names",
        fmt::join(data.mean, " "), fmt::join(data.std, " "), names_of(scheme_of(trained.scheme))));
  }
  return data;
}

// (H, W, C) bytes to (1, C, H, W).
Array normalised(const Image& image, const TrainedOn& data) {
  const std::size_t plane = image.height * image.width;
  Array x = empty({1, image.channels, image.height, image.width});
  for (std::size_t c = 0; c < image.channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) {
      const double value = static_cast<double>(image.pixels[i * image.channels + c]) / 255;
      x.data()[c * plane + i] = static_cast<real>((value - data.mean[c]) / data.std[c]);
    }
  }
  return x;
}

std::vector<Guess> guesses(const Array& logits, std::size_t top,
                           const std::vector<std::string>& names) {
  const std::vector<double> z(logits.data(), logits.data() + logits.size());
  const double largest = *std::max_element(z.begin(), z.end());
  double sum = 0;
  for (const double x : z) sum += std::exp(x - largest);
  if (!std::isfinite(sum)) fail(Exit::checkpoint, "the model's logits are no numbers");
  std::vector<std::size_t> order(z.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&z](std::size_t a, std::size_t b) { return z[a] > z[b]; });
  order.resize(std::min(top, order.size()));
  std::vector<Guess> result;
  for (const std::size_t k : order) {
    result.push_back({k, names.empty() ? "" : names[k], std::exp(z[k] - largest) / sum});
  }
  return result;
}

}  // namespace

void predict(const PredictOptions& options, const PredictObserver& observer) {
  options.validate();
  const TrainedModel trained = load_weights(weights_file(options.weights), options.request);
  const ViTConfig& config = trained.model.config;
  for (const std::string& note : trained.notes) observer.note(note);
  if (config.C != 1 && config.C != 3) {
    fail(Exit::usage, "{}: its images have {} channels; pictures have 1 or 3", options.weights,
         config.C);
  }
  std::vector<std::string> names = class_names(trained.data.dataset);
  if (names.size() != config.K) names.clear();
  if (!options.labels.empty()) names = read_labels(options.labels, config.K);
  const TrainedOn data = normalisation(options, trained, observer);
  const Fit fit{config.H, config.W, config.C, options.filter, trained.data.dataset.empty()};

  const NoGrad no_grad;
  for (const std::string& path : options.images) {
    Prediction prediction{path, {}, {}};
    std::optional<Image> image;
    try {
      image = read_image(path, fit, options.max_pixels);
    } catch (const Error& error) {
      prediction.error = error.what();
    }
    if (image) {
      const Tensor logits = trained.model(normalised(*image, data));
      prediction.guesses = guesses(logits.value(), options.top, names);
    }
    observer.predicted(prediction);
  }
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
