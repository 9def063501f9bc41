#include "train/training_data.hpp"

#include "core/error.hpp"
#include "datasets/batch.hpp"
#include "media/image.hpp"
#include "train/checkpoint_file.hpp"

#include <span>
#include <utility>
#include <vector>

namespace vitruvian {
namespace {

std::string checksum(const Dataset& data) {
  return fmt::format("{:08x}", crc32_of(data.labels.data(), data.labels.size(),
                                        crc32_of(data.pixels.data(), data.pixels.size())));
}

}  // namespace

void check_shapes(const ViTConfig& model, const Dataset& data) {
  if (model.C != data.channels || model.H != data.height || model.W != data.width ||
      model.K != data.classes) {
    fail(Exit::data,
         "{}: images of {} x {} x {} in {} classes, but the model takes {} x {} x {} in {}",
         data.name, data.channels, data.height, data.width, data.classes, model.C, model.H, model.W,
         model.K);
  }
}

Dataset resized(const Dataset& data, std::size_t height, std::size_t width) {
  Dataset result{data.name, data.channels, height,           width,     data.classes,
                 {},        data.labels,   data.class_names, data.mean, data.std};
  result.pixels.resize(data.size() * result.image_size());
  const Fit fit{height, width, data.channels, Filter::bilinear, false};
  const std::size_t C = data.channels;
  for (std::size_t n = 0; n < data.size(); ++n) {
    const std::span<const std::uint8_t> planes = data.image(n);
    Image image{data.height, data.width, C, std::vector<std::uint8_t>(planes.size())};
    const std::size_t plane = data.height * data.width;
    for (std::size_t i = 0; i < planes.size(); ++i) {
      image.pixels[i % plane * C + i / plane] = planes[i];
    }
    image = fitted(image, fit);
    std::uint8_t* const out = result.pixels.data() + n * result.image_size();
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      out[i % C * height * width + i / C] = image.pixels[i];
    }
  }
  return result;
}

TrainingData training_data(const TrainOptions& options) {
  TrainingData data;
  data.images = load({.name = options.dataset,
                      .directory = options.data,
                      .seed = digits_seed,
                      .train_size = options.train_size,
                      .test_size = options.test_size});
  data.checksum = checksum(data.images.train) + "-" + checksum(data.images.test);
  if (options.image_size != 0) {
    for (Dataset* part : {&data.images.train, &data.images.test}) {
      *part = resized(*part, options.image_size, options.image_size);
    }
  }
  check_shapes(options.model, data.images.train);
  const Dataset& train = data.images.train;
  if (options.val_fraction > 0) {
    const std::vector<std::size_t> labels(train.labels.begin(), train.labels.end());
    data.indices = split_validation(labels, options.val_fraction, options.seed);
  } else {
    data.indices.train = natural_order(train.size());
  }
  return data;
}

}  // namespace vitruvian
