#include "train/inspect_subject.hpp"

#include "core/error.hpp"
#include "datasets/batch.hpp"
#include "datasets/dataset.hpp"
#include "train/figures.hpp"
#include "train/input.hpp"
#include "train/run_directory.hpp"

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

void read_pictures(Subject& subject, const InspectOptions& options,
                   const InspectObserver& observer) {
  const ViTConfig& config = subject.trained.model.config;
  const Fit fit{config.H, config.W, config.C, options.filter, subject.trained.data.dataset.empty()};
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

void read_data_set(Subject& subject, const std::string& name, const InspectOptions& options) {
  const ViTConfig& config = subject.trained.model.config;
  static_cast<void>(default_options(name));  // says so where there is no such data set
  check_data_given(name, options.data);
  Dataset data = load_test({.name = name, .directory = options.data, .test_size = options.count});
  if (data.channels != config.C || data.height != config.H || data.width != config.W) {
    fail(Exit::checkpoint, "{}: its images are {} x {} x {}, those of {} {} x {} x {}",
         options.weights, config.H, config.W, config.C, name, data.height, data.width,
         data.channels);
  }
  data.mean = subject.data.mean;
  data.std = subject.data.std;
  const std::vector<std::size_t> order = natural_order(data.size());
  for (const auto& one : batches(order, 1)) {
    Array x = empty({1, config.C, config.H, config.W});
    normalised_images(data, one, x.data());
    const std::vector<double> pixels(x.data(), x.data() + x.size());
    subject.pictures.push_back(
        figures::picture_of(pixels.data(), config.C, config.H, config.W, data.mean, data.std));
    subject.inputs.push_back(std::move(x));
  }
  subject.labels = batch_labels(data, order);
  for (const std::size_t label : subject.labels) {
    if (label >= config.K) subject.labels.clear();  // of other classes than the model's
    if (subject.labels.empty()) break;
  }
  subject.described = fmt::format("the first {} test images of {}", data.size(), name);
}

}  // namespace

Subject subject_of(const InspectOptions& options, const InspectObserver& observer) {
  Subject subject{
      load_weights(weights_file(options.weights), options.request), {}, {}, {}, {}, {}, {}};
  for (const std::string& note : subject.trained.notes) observer.note(note);
  subject.data =
      normalisation(subject.trained, options.mean, options.std, options.weights, observer.note);
  subject.class_names = class_names(subject.trained.data.dataset);
  if (subject.class_names.size() != subject.trained.model.config.K) subject.class_names.clear();
  const std::string known = subject.trained.data.dataset == "digits" ? "digits" : "";
  const std::string name = options.dataset.empty() ? known : options.dataset;
  if (!options.images.empty()) {
    read_pictures(subject, options, observer);
  } else if (!name.empty()) {
    read_data_set(subject, name, options);
  } else {
    observer.note("no pictures and no data set: only what can be read off the weights is drawn");
    subject.described = "no images";
  }
  return subject;
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
