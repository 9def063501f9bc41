#pragma once

#include "vitruvian/datasets/dataset.hpp"
#include "web/engine/answer.hpp"

#include <array>
#include <cstdint>

// What stands on the pad: somebody's strokes, or a sample, as the 28 x 28 bytes that a model reads.

namespace vitruvian::web {

using Pixels = std::array<std::uint8_t, 28UL * 28>;

struct Picture {
  Pixels pixels{};     ///< what is read: 0 paper, 255 ink
  Pixels uncentred{};  ///< the same strokes where they were drawn

  /// As explorer_draw and explorer_sample say.
  Json draw(const Json& request);
  Json sample(const Json& request);
};

/// One grey picture as a data set of the digits, with its mean and std.
Dataset as_dataset(const Pixels& pixels);

}  // namespace vitruvian::web
