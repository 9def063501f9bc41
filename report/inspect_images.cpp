#include "vitruvian/report/draw.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/report/figures.hpp"
#include "vitruvian/train/run/run_directory.hpp"
#include "vitruvian/train/training_data.hpp"
#include "vitruvian/train/weights.hpp"

#include <algorithm>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

void read_pictures(Samples& samples, const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer) {
  const ViTConfig& config = trained.model.config;
  const Fit fit{config.H, config.W, config.C, options.filter, trained.data.crops()};
  for (const std::string& path : options.images) {
    const Image image = read_image(path, options.max_pixels);
    if (image.height != config.H || image.width != config.W) {
      observer.note(fmt::format("{}: {} x {} pixels become the model's {} x {}{}", path,
                                image.height, image.width, config.H, config.W,
                                fit.crop ? ", cut from its middle" : ""));
    }
    samples.pictures.push_back(fitted(image, fit));
    samples.inputs.push_back(normalised(samples.pictures.back(), samples.data));
  }
  samples.described =
      fmt::format("{} picture{}", samples.inputs.size(), samples.inputs.size() == 1 ? "" : "s");
}

}  // namespace

Samples samples_of(const Loader& images, std::size_t count, const ViTConfig& config) {
  const Dataset& about = images.images().about();
  Samples samples;
  const std::vector<std::size_t> order = classes_in_turn(images, count);
  for (const auto& one : batches(order, 1)) {
    Array x = empty({1, config.C, config.H, config.W});
    samples.labels.push_back(images.load_plain(one, x.data()).at(0));
    samples.pictures.push_back(images.picture(one[0]));
    samples.inputs.push_back(std::move(x));
  }
  if (about.class_names.size() == config.K) samples.class_names = about.class_names;
  samples.described =
      fmt::format("{} test images of {}, the classes in turn", order.size(), about.name);
  return samples;
}

Samples samples_of(const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer) {
  for (const std::string& note : trained.notes) observer.note(note);
  const DataConfig data =
      normalisation(trained, options.mean, options.std, options.weights, observer.note);
  const bool known = trained.data.dataset == "digits" || !run_of(options.weights).empty();
  Samples samples;
  const bool asked = !options.dataset.empty() || known;
  if (options.images.empty() && asked) {
    std::string note;
    DataConfig normalised_as = trained.data;
    normalised_as.mean = data.mean;
    normalised_as.std = data.std;
    TestImageOptions said;
    said.dataset = options.dataset;
    said.data = options.data;
    const Loader images =
        test_data(said, options.weights, trained.model.config, normalised_as, note);
    if (!note.empty()) observer.note(note);
    samples = samples_of(images, options.count, trained.model.config);
  }
  samples.data = data;
  samples.class_names = trained.data.class_names(trained.model.config.K);
  if (!options.images.empty()) {
    read_pictures(samples, trained, options, observer);
  } else if (!asked) {
    observer.note("no pictures and no data set: only what can be read off the weights is drawn");
    samples.described = "no images";
  }
  return samples;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
