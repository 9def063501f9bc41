#pragma once

#include "vitruvian/media/image.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What RandAugment does to a picture: the operations of torchvision.transforms.RandAugment on
// pictures of bytes, each to the byte as Pillow computes it. Pictures are (C, H, W), C 1 or 3.

namespace vitruvian {

/// A picture somewhere in memory.
struct Planes {
  std::size_t channels = 0, height = 0, width = 0;
  std::uint8_t* pixels = nullptr;

  [[nodiscard]] std::size_t size() const { return channels * height * width; }
};

enum class AugmentOp {
  identity,
  shear_x,       ///< x += magnitude y
  shear_y,       ///< y += magnitude x
  translate_x,   ///< by magnitude pixels to the right, cut to a whole number
  translate_y,   ///< downwards
  rotate,        ///< by magnitude degrees, counter-clockwise, about the centre
  brightness,    ///< from black (factor 1 + magnitude = 0) over the picture (1) and beyond
  color,         ///< the same from its grey version; nothing happens to a grey picture
  contrast,      ///< from the mean of its grey version
  sharpness,     ///< from a smoothed version
  posterize,     ///< keeps magnitude bits of 8
  solarize,      ///< inverts what is not below magnitude
  autocontrast,  ///< stretches each channel to 0 .. 255
  equalize       ///< a flat histogram for each channel
};
inline constexpr std::size_t augment_ops = 14;

/// "shear_x".
std::string name_of(AugmentOp op);

/// torchvision's magnitude of an operation at `bin` (0 to 30) for a picture of this size;
/// `negative` turns it round where the operation has two directions.
double magnitude_of(AugmentOp op, double bin, std::size_t height, std::size_t width, bool negative);

/// Applies one operation in place. Pixels that come from outside the picture are black. `scratch`
/// is memory that calls may share, one after the other.
void apply(AugmentOp op, double magnitude, const Planes& picture,
           std::vector<std::uint8_t>& scratch);

/// The box of a picture of height x width with as many channels as `to`, resized to the size of
/// `to` by a triangle filter, as Pillow's BILINEAR does (to one grey level). They may not overlap.
void resized_crop(const std::uint8_t* from, std::size_t height, std::size_t width, const Box& box,
                  const Planes& to);

}  // namespace vitruvian
