#pragma once

#include "vitruvian/datasets/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vitruvian {

/// n handwritten-looking digits, 28 x 28 grey, ten classes in equal parts: strokes drawn in the
/// pose and thickness of a random hand, then sized and centred as MNIST's are. Image i is a
/// function of (seed, part, i) alone, to the bit on every machine: the first 100 of 1000 are the
/// 100, and "train" and "test" never share a draw. Throws when `part` is neither or n is 0.
///
/// mean and std are MNIST's, not the digits' own: a model trained on the digits reads MNIST only if
/// the same ink gives the same number in both.
Dataset digits(std::size_t n, std::uint64_t seed, std::string_view part);

}  // namespace vitruvian
