#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/augment_ops.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// Training pictures, changed at random in ways that leave their class alone. Everything drawn is a
// function of the generator that is handed in: the loader keys it by seed, epoch and picture.

namespace vitruvian {

/// What is done to a training picture, in this order; nothing as it stands. The values in comments
/// are torchvision's reference settings.
struct AugmentOptions {
  std::size_t crop_padding = 0;      ///< black on every side, then a random part of the old size; 4
  bool random_resized_crop = false;  ///< a random part, resized
  double crop_scale = 0.08;          ///< the smallest share of the picture's area in that part
  double flip = 0;                   ///< the chance to be mirrored left to right; 0.5
  std::size_t randaugment_ops = 0;   ///< so many random operations, one after the other; 2
  double randaugment_magnitude = 9;  ///< 0 to 30: how strong they are
  double erasing = 0;                ///< the chance that a random rectangle is erased; 0.1
  bool erasing_noise = false;        ///< with normal noise, not with the data set's mean
  double mixup = 0;                  ///< alpha of mixup's Beta distribution; 0.2
  double cutmix = 0;           ///< the same of cutmix; with both on, each has half the pictures
  double mix_probability = 1;  ///< the chance that a picture is mixed with another at all

  /// Whether targets are shares of two classes.
  [[nodiscard]] bool mixes() const { return (mixup > 0 || cutmix > 0) && mix_probability > 0; }
  /// Whether anything at all happens.
  [[nodiscard]] bool any() const;
  /// Throws (Exit::usage), naming the flag, for the first setting that cannot be.
  void validate() const;
};

/// The part that a random resized crop takes: an area uniform in [scale, 1] of the picture's, an
/// aspect ratio log-uniform in [3/4, 4/3], after ten misses the centre (torchvision's
/// RandomResizedCrop).
Box random_box(std::size_t height, std::size_t width, double scale, const Rng& rng);

/// Crop with padding, flip and RandAugment of a picture, in place. `scratch` is memory that calls
/// may share.
void augment(const AugmentOptions& options, const Rng& rng, const Planes& picture,
             std::vector<std::uint8_t>& scratch);

/// The rectangle that random erasing fills: 2 to 33 % of the area, an aspect ratio log-uniform in
/// [0.3, 3.3] (torchvision's RandomErasing); empty when it does not happen this time.
Box random_erased(const AugmentOptions& options, std::size_t height, std::size_t width,
                  const Rng& rng);

/// How a picture is mixed with another: the share `lambda` of it stays. With an empty box the whole
/// pictures are averaged (mixup), else the other's box is pasted (cutmix).
struct Mixing {
  double lambda = 1;
  Box box{};
};
Mixing random_mixing(const AugmentOptions& options, std::size_t height, std::size_t width,
                     const Rng& rng);

/// A draw from Beta(alpha, alpha), alpha in (0, 100].
double symmetric_beta(double alpha, const Rng& rng);

}  // namespace vitruvian
