#pragma once

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

// CIFAR-10 and CIFAR-100, the binary versions: records of a label (two in CIFAR-100: the coarse,
// then the fine one) and 3,072 bytes, the red, green and blue planes in raster order.
// https://www.cs.toronto.edu/~kriz/cifar.html

namespace vitruvian {

/// What CIFAR-10 is, no images yet.
Dataset empty_cifar10();

/// The same of CIFAR-100 in its 20 coarse classes, or its 100 fine ones.
Dataset empty_cifar100(bool coarse);
const std::vector<std::string>& cifar100_fine_names();
const std::vector<std::string>& cifar100_coarse_names();

/// Appends the `records` records of one file to `data`. Throws an `Error` (Exit::data) when the
/// file is not exactly that long or a label is not below 10.
void append_cifar10(Dataset& data, const ByteSource& source, std::size_t records = 10'000);
void append_cifar10(Dataset& data, const std::filesystem::path& path, std::size_t records = 10'000);

/// The same of a file of CIFAR-100; `data` says which of the two labels is kept, both are checked.
void append_cifar100(Dataset& data, const ByteSource& source, std::size_t records);
void append_cifar100(Dataset& data, const std::filesystem::path& path, std::size_t records);

/// data_batch_1.bin to data_batch_5.bin and test_batch.bin in `directory`, or in its folder
/// cifar-10-batches-bin/.
Split read_cifar10(const std::string& directory);
Dataset read_cifar10_test(const std::string& directory);

/// train.bin and test.bin in `directory`, or in its folder cifar-100-binary/.
Split read_cifar100(const std::string& directory, bool coarse);
Dataset read_cifar100_test(const std::string& directory, bool coarse);

}  // namespace vitruvian
