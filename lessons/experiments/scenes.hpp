#pragma once

#include "lessons/telling/narrate.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/train/weights.hpp"

#include <string>
#include <vector>

// Pictures in colour for the model that was trained on CIFAR-10's photographs: drawn by this
// program, since the photographs are not ours to give away.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// The model of models/cifar.safetensors (scripts/make_model.sh makes it), and what its
/// pictures are. Throws (Exit::checkpoint) when it is not there or damaged.
TrainedModel cifar_model();

/// A picture of 32 x 32, and the class of CIFAR-10 that it is meant to be.
struct Scene {
  std::string name;
  std::size_t label;
  Image picture;
};
/// A ship, a car, an aeroplane and a lorry.
std::vector<Scene> scenes();

/// Numbers (n, h, w) as pictures of viridis, each in a range of its own: dark is the least.
std::vector<Image> shades(const Array& numbers);
/// The picture, as bright as the map (h, w) over it says: its largest number leaves it as it is.
Image lit_by(const Image& picture, const Array& map);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
