#pragma once

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

// The IDX files of MNIST, Fashion-MNIST and KMNIST, plain or gzip: big-endian u32 magic number and
// dimensions, then bytes. http://yann.lecun.com/exdb/mnist/

namespace vitruvian {

struct IdxImages {
  std::size_t count = 0, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  ///< (count, height, width)
};

/// Magic 0x00000803, then count, rows, columns. Throws an `Error` (Exit::data) that names file,
/// offset, what was expected and what was found.
IdxImages read_idx_images(const ByteSource& source);

/// Magic 0x00000801, then count. Throws likewise, and for a label that is not below `classes`.
std::vector<std::uint8_t> read_idx_labels(const ByteSource& source, std::size_t classes);

/// The data sets that lie in such files, a row each, no images yet: mnist, fashion-mnist, kmnist.
const std::vector<Dataset>& idx_datasets();

/// Reads one part of such a data set, its file of images and its file of labels.
void read_idx(Dataset& data, const std::vector<std::filesystem::path>& files);

}  // namespace vitruvian
