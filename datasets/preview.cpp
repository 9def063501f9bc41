#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/loader.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace vitruvian {
namespace {

struct Row {
  std::string name;
  AugmentOptions options{};
  AugmentOp op = AugmentOp::identity;  // applied by itself
};

std::vector<Row> sheet_rows() {
  std::vector<Row> rows = {
      {"as they are"},
      {"crop, padding 4", {.crop_padding = 4}},
      {"random resized crop", {.random_resized_crop = true}},
      {"flip", {.flip = 1}},
  };
  for (std::size_t i = 1; i < augment_ops; ++i) {
    const auto op = static_cast<AugmentOp>(i);
    rows.push_back({"RandAugment's " + name_of(op) + ", magnitude 9", {}, op});
  }
  const std::vector<Row> others = {
      {"RandAugment, 2 operations, magnitude 9", {.randaugment_ops = 2}},
      {"erasing", {.erasing = 1}},
      {"erasing with noise", {.erasing = 1, .erasing_noise = true}},
      {"mixup, alpha 0.8", {.mixup = 0.8}},
      {"cutmix, alpha 1", {.cutmix = 1}},
      {"crop, flip, RandAugment, erasing, mixup or cutmix",
       {.crop_padding = 4,
        .flip = 0.5,
        .randaugment_ops = 2,
        .erasing = 0.25,
        .mixup = 0.8,
        .cutmix = 1}},
  };
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace

ContactSheet contact_sheet(const std::shared_ptr<const Images>& images, std::size_t columns,
                           std::uint64_t seed) {
  const Dataset& about = images->about();
  if (columns == 0 || columns > 64 || columns > images->size()) {
    fail(Exit::usage, "a contact sheet of {} columns cannot be made of {} images; at most 64",
         columns, images->size());
  }
  std::vector<std::size_t> chosen = Rng(seed).fork("preview").permutation(images->size());
  chosen.resize(columns);
  const std::vector<Row> rows = sheet_rows();
  const std::size_t zoom = std::max<std::size_t>(1, 64 / std::max(about.height, about.width));
  std::vector<Image> cells;
  ContactSheet result;
  std::vector<float> normalised(about.image_size());
  std::vector<std::uint8_t> bytes(about.image_size());
  std::vector<std::uint8_t> scratch;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Loader loader(images, {.augment = rows[r].options, .seed = seed});
    for (std::size_t k = 0; k < columns; ++k) {
      loader.load(std::span(chosen).subspan(k, 1), 1, normalised.data());
      const std::size_t plane = about.height * about.width;
      for (std::size_t i = 0; i < normalised.size(); ++i) {  // back to bytes
        const double x = normalised[i] * about.std[i / plane] + about.mean[i / plane];
        bytes[i] = static_cast<std::uint8_t>(std::clamp(std::floor(255 * x + 0.5), 0.0, 255.0));
      }
      const Planes planes{about.channels, about.height, about.width, bytes.data()};
      const bool negative = Rng(seed).fork("preview sign", {r, k}).below(2, 0) == 1;
      apply(rows[r].op, magnitude_of(rows[r].op, 9, about.height, about.width, negative), planes,
            scratch);
      const Image cell = from_planes(bytes.data(), about.channels, about.height, about.width);
      cells.push_back(enlarged(cell, zoom));
    }
    result.rows.push_back(rows[r].name);
  }
  result.picture = tiled(cells, columns);
  return result;
}

}  // namespace vitruvian
