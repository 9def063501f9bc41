#include "train/inspect_subject.hpp"

#include "core/error.hpp"
#include "datasets/batch.hpp"
#include "datasets/dataset.hpp"
#include "train/figures.hpp"
#include "train/input.hpp"

#include <algorithm>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

void read_pictures(Subject& subject, const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer) {
  const ViTConfig& config = trained.model.config;
  const Fit fit{config.H, config.W, config.C, options.filter, trained.data.dataset.empty()};
  for (const std::string& path : options.images) {
    const Image image = read_image(path, options.max_pixels);
    if (image.height != config.H || image.width != config.W) {
      observer.note(fmt::format("{}: {} x {} pixels become the model's {} x {}{}", path,
                                image.height, image.width, config.H, config.W,
                                fit.crop ? ", cut from its middle" : ""));
    }
    subject.pictures.push_back(fitted(image, fit));
    subject.inputs.push_back(normalised(subject.pictures.back(), subject.data));
  }
  subject.described =
      fmt::format("{} picture{}", subject.inputs.size(), subject.inputs.size() == 1 ? "" : "s");
}

Dataset data_set(const std::string& name, const ViTConfig& config, const InspectOptions& options) {
  static_cast<void>(default_options(name));  // says so where there is no such data set
  check_data_given(name, options.data);
  Dataset data = load_test({.name = name, .directory = options.data, .test_size = options.count});
  if (data.channels != config.C || data.height != config.H || data.width != config.W) {
    fail(Exit::checkpoint, "{}: its images are {} x {} x {}, those of {} {} x {} x {}",
         options.weights, config.H, config.W, config.C, name, data.height, data.width,
         data.channels);
  }
  return data;
}

}  // namespace

Subject subject_of(const Dataset& images, const ViTConfig& config) {
  Subject subject;
  subject.data = {images.name, images.mean, images.std};
  const std::vector<std::size_t> order = natural_order(images.size());
  for (const auto& one : batches(order, 1)) {
    Array x = empty({1, config.C, config.H, config.W});
    normalised_images(images, one, x.data());
    const std::vector<double> pixels(x.data(), x.data() + x.size());
    subject.pictures.push_back(
        figures::picture_of(pixels.data(), config.C, config.H, config.W, images.mean, images.std));
    subject.inputs.push_back(std::move(x));
  }
  subject.labels = batch_labels(images, order);
  const bool foreign = std::any_of(subject.labels.begin(), subject.labels.end(),
                                   [&](std::size_t label) { return label >= config.K; });
  if (foreign) subject.labels.clear();
  if (images.class_names.size() == config.K) subject.class_names = images.class_names;
  subject.described = fmt::format("the first {} test images of {}", images.size(), images.name);
  return subject;
}

Subject subject_of(const TrainedModel& trained, const InspectOptions& options,
                   const InspectObserver& observer) {
  for (const std::string& note : trained.notes) observer.note(note);
  const TrainedOn data =
      normalisation(trained, options.mean, options.std, options.weights, observer.note);
  std::vector<std::string> names = class_names(trained.data.dataset);
  if (names.size() != trained.model.config.K) names.clear();
  const std::string known = trained.data.dataset == "digits" ? "digits" : "";
  const std::string name = options.dataset.empty() ? known : options.dataset;
  Subject subject;
  if (options.images.empty() && !name.empty()) {
    Dataset images = data_set(name, trained.model.config, options);
    images.mean = data.mean;
    images.std = data.std;
    subject = subject_of(images, trained.model.config);
  }
  subject.data = data;
  subject.class_names = names;
  if (!options.images.empty()) {
    read_pictures(subject, trained, options, observer);
  } else if (name.empty()) {
    observer.note("no pictures and no data set: only what can be read off the weights is drawn");
    subject.described = "no images";
  }
  return subject;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
