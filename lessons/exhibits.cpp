#include "lessons/exhibits.hpp"

#include "datasets/batch.hpp"
#include "datasets/digits.hpp"
#include "lessons/source.hpp"
#include "train/weights.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace vitruvian::lessons::inline VITRUVIAN_PRECISION {

Tensor digit_image(std::size_t i, std::uint64_t seed) {
  const Dataset data = digits(i + 1, seed, "test");
  Array image = empty({1, 1, data.height, data.width});
  normalised_images(data, std::vector<std::size_t>{i}, image.data());
  return {std::move(image)};
}

VisionTransformer digits_model() {
  return load_weights(project_path("models/digits.safetensors")).model;
}

Picture tiles(std::string caption, const Array& numbers, std::size_t across, std::size_t zoom) {
  const std::size_t n = numbers.shape()[0];
  const std::size_t h = numbers.shape()[1];
  const std::size_t w = numbers.shape()[2];
  const std::size_t columns = std::min(across, n);
  const std::size_t rows = (n + columns - 1) / columns;
  Picture picture{std::move(caption), rows * (h * zoom + 1) - 1, columns * (w * zoom + 1) - 1, {}};
  // What is no number is drawn as nothing.
  picture.values.assign(picture.rows * picture.columns, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t top = i / columns * (h * zoom + 1);
    const std::size_t left = i % columns * (w * zoom + 1);
    for (std::size_t y = 0; y < h * zoom; ++y) {
      for (std::size_t x = 0; x < w * zoom; ++x) {
        picture.values[(top + y) * picture.columns + left + x] =
            static_cast<double>(numbers(i, y / zoom, x / zoom));
      }
    }
  }
  return picture;
}

}  // namespace vitruvian::lessons::inline VITRUVIAN_PRECISION
