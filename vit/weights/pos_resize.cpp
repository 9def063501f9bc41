#include "vitruvian/vit/weights/weights.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/resample.hpp"

#include <utility>

namespace vitruvian {
namespace {

std::vector<Taps> taps_of(PosResize how, std::size_t from, std::size_t to) {
  switch (how) {
    case PosResize::jax:
      return interpolated({Filter::bilinear, true}, from, to);
    case PosResize::torchvision:
      return interpolated({Filter::bicubic, true}, from, to);
    case PosResize::hf:
      return interpolated({Filter::bicubic, false}, from, to);
    default:
      return antialiased(Filter::bicubic, from, to, 0, to);
  }
}

}  // namespace

const std::vector<std::string>& pos_resize_names() {
  static const std::vector<std::string> names{"jax", "torchvision", "timm", "hf"};
  return names;
}

PosResize pos_resize_of(const std::string& name) {
  return static_cast<PosResize>(
      index_of(name, pos_resize_names(), "way to resize position embeddings"));
}

std::vector<double> resize_grid(const std::vector<double>& values, Grid from, Grid to,
                                std::size_t channels, PosResize how) {
  const std::vector<double> wide =
      along_axis(values, taps_of(how, from.width, to.width), from.height, from.width, channels);
  return along_axis(wide, taps_of(how, from.height, to.height), 1, from.height,
                    to.width * channels);
}

StoredTensor resize_positions(const StoredTensor& pos_embed, Grid from, Grid to, PosResize how) {
  const std::size_t D = pos_embed.shape.at(2);
  const std::size_t kept =
      pos_embed.shape.at(1) - from.height * from.width;  // the class token's row
  StoredTensor result = pos_embed;
  result.shape[1] = kept + to.height * to.width;
  result.read = [pos_embed, shape = result.shape, kept, from, to, how, D] {
    const std::vector<double> all = pos_embed.values();
    const auto patches = all.begin() + static_cast<std::ptrdiff_t>(kept * D);
    std::vector<double> resized(all.begin(), patches);
    const std::vector<double> grid = resize_grid({patches, all.end()}, from, to, D, how);
    resized.insert(resized.end(), grid.begin(), grid.end());
    return stored(pos_embed.name, shape, std::move(resized), pos_embed.dtype).read();
  };
  return result;
}

}  // namespace vitruvian
