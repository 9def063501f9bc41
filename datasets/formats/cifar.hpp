#pragma once

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

// CIFAR-10 and CIFAR-100, the binary versions: records of a label (two in CIFAR-100: the coarse,
// then the fine one) and 3,072 bytes, the red, green and blue planes in raster order.
// https://www.cs.toronto.edu/~kriz/cifar.html

namespace vitruvian {

/// What CIFAR-10 is, no images yet.
Dataset empty_cifar10();

/// The same of CIFAR-100 in its 20 coarse classes, or its 100 fine ones.
Dataset empty_cifar100(bool coarse);

/// Appends the `records` records of one file to `data`, one of the two. Throws an `Error`
/// (Exit::data) when the file is not exactly that long, or a label (both of CIFAR-100's, of which
/// `data` says which is kept) is no class.
void append_cifar(Dataset& data, const ByteSource& source, std::size_t records);

/// The same of the data set's own files: 50,000 records in CIFAR-100's train.bin, else 10,000.
void read_cifar(Dataset& data, const std::vector<std::filesystem::path>& files);

}  // namespace vitruvian
