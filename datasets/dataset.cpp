#include "vitruvian/datasets/dataset.hpp"

#include "vitruvian/core/base/error.hpp"

#include <utility>

namespace vitruvian {

std::span<const std::uint8_t> Dataset::image(std::size_t i) const {
  if (i >= size()) fail("{}: there is no image {} among {}", name, i, size());
  return std::span(pixels).subspan(i * image_size(), image_size());
}

Dataset Dataset::head(std::size_t n) const {
  if (n == 0 || n > size()) {
    fail(Exit::usage, "{}: expected from 1 to {} images, was asked for {}", name, size(), n);
  }
  Dataset first{name, channels, height, width, classes, {}, {}, class_names, mean, std};
  first.pixels.assign(pixels.begin(),
                      pixels.begin() + static_cast<std::ptrdiff_t>(n * image_size()));
  first.labels.assign(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(n));
  return first;
}

Dataset empty_digit_dataset(std::string name, std::size_t height, std::size_t width) {
  Dataset data;
  data.name = std::move(name);
  data.channels = 1;
  data.height = height;
  data.width = width;
  data.class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  data.classes = data.class_names.size();
  data.mean = {0.1307};
  data.std = {0.3081};
  return data;
}

}  // namespace vitruvian
