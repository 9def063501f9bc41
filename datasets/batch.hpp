#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vitruvian {

/// The order in which epoch `epoch` visits n examples: a uniformly random permutation that depends
/// on nothing but the generator's key, n and the epoch.
std::vector<std::size_t> epoch_order(std::size_t n, const Rng& rng, std::uint64_t epoch);

/// 0, 1, ..., n - 1: the order of an evaluation.
std::vector<std::size_t> natural_order(std::size_t n);

/// Cuts an order into batches of `batch_size`, in order; the last may be smaller. The spans point
/// into `order`. Throws (Exit::usage) when `batch_size` is 0.
std::vector<std::span<const std::size_t>> batches(std::span<const std::size_t> order,
                                                  std::size_t batch_size);

/// The same cut into `parts` runs whose lengths differ by one at most, the longer ones first.
std::vector<std::span<const std::size_t>> shares(std::span<const std::size_t> order,
                                                 std::size_t parts);

/// Writes the images as (B, C, H, W), each pixel x as (x / 255 - mean) / std of its channel.
/// Throws when an index is not in the data set.
template <class T>
void normalised_images(const Dataset& data, std::span<const std::size_t> indices, T* out);

/// The labels of the same images, (B).
std::vector<std::size_t> batch_labels(const Dataset& data, std::span<const std::size_t> indices);

}  // namespace vitruvian
