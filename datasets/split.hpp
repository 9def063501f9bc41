#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vitruvian {

/// Numbers of pictures, each in ascending order.
struct Parts {
  std::vector<std::size_t> train, validation;
};

/// Sets aside round(fraction n) pictures for validation, of each class in proportion (to one
/// picture), chosen by the seed. Throws (Exit::usage) when the fraction is not above 0 and below 1,
/// or so extreme that one part is empty.
Parts split_validation(std::span<const std::size_t> labels, double fraction, std::uint64_t seed);

}  // namespace vitruvian
