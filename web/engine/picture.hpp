#pragma once

#include "vitruvian/datasets/dataset.hpp"
#include "web/engine/answer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// What stands on the pad: somebody's strokes, or a sample, as the 28 x 28 bytes that a model reads.

namespace vitruvian::web {

using Pixels = std::array<std::uint8_t, 28UL * 28>;

struct Picture {
  Pixels pixels{};     ///< what is read: 0 paper, 255 ink
  Pixels uncentred{};  ///< the same strokes where they were drawn

  /// As explorer_draw and explorer_sample say.
  Json draw(const Json& request);
  Json sample(const Json& request);

 private:
  std::span<const std::uint8_t> drawn_digit(std::uint64_t seed, std::size_t index);

  Dataset drawn_;  // the digits of a seed so far: to draw one is to draw those before it
  std::uint64_t seed_ = 0;
};

/// One grey picture as a data set of the digits, with its mean and std.
Dataset as_dataset(const Pixels& pixels);

}  // namespace vitruvian::web
