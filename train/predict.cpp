#include "vitruvian/train/predict.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/kept_weights.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  const Array& a = tensor.value();
  return {a.data(), a.data() + a.size()};
}

std::vector<Guess> guesses(const Array& logits, std::size_t top,
                           const std::vector<std::string>& names) {
  const std::vector<double> z(logits.data(), logits.data() + logits.size());
  const double largest = *std::max_element(z.begin(), z.end());
  const bool broken = std::any_of(z.begin(), z.end(), [](double x) { return std::isnan(x); });
  if (broken || !std::isfinite(largest)) {
    fail(Exit::checkpoint, "the model's logits are NaN or infinite");
  }
  double sum = 0;
  for (const double x : z) sum += portable_exp(x - largest);
  std::vector<Guess> result;
  for (const std::size_t k : largest_of(z, top)) {
    result.push_back({k, names.empty() ? "" : names[k], portable_exp(z[k] - largest) / sum});
  }
  return result;
}

}  // namespace

void predict(const PredictOptions& options, const PredictObserver& observer) {
  options.validate();
  const TrainedModel trained = load_weights(weights_file(options.weights), options.request);
  const ViTConfig& config = trained.model.config;
  const bool has_head = config.head != Head::none;
  if (!has_head && !options.numbers) {
    fail(Exit::usage,
         "{}: it has no head, and so names no classes; --features FILE writes what it sees",
         options.weights);
  }
  for (const std::string& note : trained.notes) observer.note(note);
  std::vector<std::string> names = trained.data.class_names(config.K);
  if (!options.labels.empty()) names = read_labels(options.labels, config.K);
  const DataConfig data =
      normalisation(trained, options.mean, options.std, options.weights, observer.note);
  const Fit fit{config.H, config.W, config.C, options.filter, trained.data.crops()};

  const NoGrad no_grad;
  const KeptWeights kept(options.images.size() > 1);
  bool noted = false;  // said once
  for (const std::string& path : options.images) {
    Prediction prediction{path, {}, {}};
    std::optional<Image> image;
    try {
      image = read_image(path, fit, options.max_pixels);
    } catch (const Error& error) {
      prediction.error = error.what();
    }
    if (image) {
      const std::string unlike = note_on_picture(trained.data, *image, path);
      if (!unlike.empty() && !noted) observer.note(unlike);
      noted = noted || !unlike.empty();
      const Tensor y = trained.model.features(normalised(*image, data));
      if (options.numbers) prediction.features = numbers_of(y);
      if (has_head) {
        const Tensor logits = trained.model.classify(y);
        if (options.numbers) prediction.logits = numbers_of(logits);
        prediction.guesses = guesses(logits.value(), options.top, names);
      }
    }
    observer.predicted(prediction);
  }
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
