#pragma once

#include "media/plots.hpp"
#include "report/figure.hpp"

#include <algorithm>
#include <string>
#include <vector>

// What the files of report/figures.hpp share. Internal to train.

namespace vitruvian::figures {

/// The product of a shape's lengths, from axis `from` on.
inline std::size_t size_of(const std::vector<std::size_t>& shape, std::size_t from = 0) {
  std::size_t n = 1;
  for (std::size_t axis = from; axis < shape.size(); ++axis) n *= shape[axis];
  return n;
}

/// How often a picture's longer side goes into `side`: at least once.
inline std::size_t scale_to(std::size_t side, std::size_t height, std::size_t width) {
  return std::max<std::size_t>(side / std::max<std::size_t>(std::max(height, width), 1), 1);
}

/// For `count` tiles of `size` pixels, `gap` apart.
inline std::vector<Tick> tile_ticks(std::size_t count, std::size_t size, std::size_t gap) {
  std::vector<Tick> ticks = cell_ticks(count, static_cast<double>(size + gap));
  for (Tick& tick : ticks) tick.at -= static_cast<double>(gap) / 2;
  return ticks;
}

/// A picture under a title alone.
inline Image titled(const Image& picture, const std::string& title) {
  Frame frame;
  frame.title = title;
  return framed(picture, frame);
}

inline Figure::File npy_file(const std::string& name, const Numbers& numbers) {
  return {name + ".npy", npy_of(numbers)};
}
/// A path or a name, in quotes, as JSON has it.
std::string quoted(const std::string& text);
inline std::string json_list(const std::vector<double>& values) {
  return json_of({{values.size()}, values});
}
inline std::string json_number(double value) { return json_of({{}, {value}}); }

}  // namespace vitruvian::figures
