#pragma once

#include "tests/folder.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/datasets/loader.hpp"

// What the tests of the data sets share.

namespace vitruvian {

using ByteVector = std::vector<std::uint8_t>;
using Classes = std::vector<std::uint32_t>;

// n pictures, each of one grey value of its own in every channel, each of a class of its own.
inline Dataset plain(std::size_t n, std::size_t channels, std::size_t height, std::size_t width) {
  Dataset data{"plain", channels, height, width, n, {}, {}, {}, {}, {}};
  data.mean.assign(channels, 0.25);
  data.std.assign(channels, 0.5);
  for (std::size_t i = 0; i < n; ++i) {
    data.labels.push_back(static_cast<std::uint32_t>(i));
    data.pixels.insert(data.pixels.end(), data.image_size(), static_cast<std::uint8_t>(10 * i + 5));
  }
  return data;
}

inline std::vector<double> load_all(const Loader& loader, std::uint64_t epoch,
                                    Labels* labels = nullptr) {
  std::vector<double> out(loader.size() * loader.images().about().image_size());
  Labels got = loader.load(natural_order(loader.size()), epoch, out.data());
  if (labels != nullptr) *labels = std::move(got);
  return out;
}

inline bool has_checksums() {
  if (!can_sum()) skip("this build has no OpenSSL");
  return can_sum();
}

}  // namespace vitruvian
