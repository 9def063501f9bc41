#include "vitruvian/datasets/batch.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace vitruvian {

std::vector<std::size_t> epoch_order(std::size_t n, const Rng& rng, std::uint64_t epoch) {
  return rng.fork("epoch order", {epoch}).permutation(n);
}

std::vector<std::size_t> natural_order(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<std::span<const std::size_t>> batches(std::span<const std::size_t> order,
                                                  std::size_t batch_size) {
  if (batch_size == 0) fail(Exit::usage, "a batch of 0 images has nothing to learn from");
  std::vector<std::span<const std::size_t>> result;
  for (std::size_t begin = 0; begin < order.size(); begin += batch_size) {
    result.push_back(order.subspan(begin, std::min(batch_size, order.size() - begin)));
  }
  return result;
}

std::vector<std::span<const std::size_t>> shares(std::span<const std::size_t> order,
                                                 std::size_t parts) {
  std::vector<std::span<const std::size_t>> result;
  for (std::size_t i = 0, begin = 0; i < parts; ++i) {
    const std::size_t n = order.size() / parts + (i < order.size() % parts ? 1 : 0);
    result.push_back(order.subspan(begin, n));
    begin += n;
  }
  return result;
}

template <class T>
void normalised_images(const Dataset& data, std::span<const std::size_t> indices, T* out) {
  const std::size_t plane = data.height * data.width;
  // A pixel has 256 values: normalise each once.
  std::vector<std::array<T, 256>> table(data.channels);
  for (std::size_t c = 0; c < data.channels; ++c) {
    for (std::size_t x = 0; x < 256; ++x) {
      table[c][x] =
          static_cast<T>((static_cast<double>(x) / 255.0 - data.mean.at(c)) / data.std.at(c));
    }
  }
  for (const std::size_t index : indices) {
    const std::uint8_t* pixel = data.image(index).data();
    for (std::size_t c = 0; c < data.channels; ++c) {
      for (std::size_t i = 0; i < plane; ++i) *out++ = table[c][*pixel++];
    }
  }
}

template void normalised_images(const Dataset&, std::span<const std::size_t>, float*);
template void normalised_images(const Dataset&, std::span<const std::size_t>, double*);

std::vector<std::size_t> batch_labels(const Dataset& data, std::span<const std::size_t> indices) {
  std::vector<std::size_t> labels;
  labels.reserve(indices.size());
  for (const std::size_t index : indices) {
    if (index >= data.size()) {
      fail("{}: there is no image {} among {}", data.name, index, data.size());
    }
    labels.push_back(data.labels[index]);
  }
  return labels;
}

}  // namespace vitruvian
