#pragma once

#include "datasets/dataset.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

// CIFAR-10, the binary version: records of a label and 3,072 bytes, the red, green and blue planes
// in raster order. https://www.cs.toronto.edu/~kriz/cifar.html

namespace vitruvian {

/// What CIFAR-10 is, no images yet.
Dataset empty_cifar10();

/// Appends the `records` records of one file to `data`. Throws an `Error` (Exit::data) when the
/// file is not exactly that long or a label is not below 10.
void append_cifar10(Dataset& data, const std::filesystem::path& path, std::size_t records = 10'000);

/// data_batch_1.bin to data_batch_5.bin and test_batch.bin in `directory`, or in its folder
/// cifar-10-batches-bin/.
Split read_cifar10(const std::string& directory);
Dataset read_cifar10_test(const std::string& directory);

}  // namespace vitruvian
