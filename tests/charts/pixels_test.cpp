// What pictures in charts are made of: PNG as libpng reads it back, colours as matplotlib has them.

#include "tests/folder.hpp"
#include "vitruvian/charts/colours.hpp"
#include "vitruvian/media/image.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vitruvian {
namespace {

const double nan = std::nan("");
const double inf = std::numeric_limits<double>::infinity();

Image noise(std::size_t height, std::size_t width, std::size_t channels) {
  Image image{height, width, channels, {}};
  unsigned state = 1;
  for (std::size_t i = 0; i < height * width * channels; ++i) {
    state = state * 1'664'525U + 1'013'904'223U;
    image.pixels.push_back(static_cast<std::uint8_t>(state >> 24U));
  }
  return image;
}

bool same(const Image& a, const Image& b) {
  return a.height == b.height && a.width == b.width && a.channels == b.channels &&
         a.pixels == b.pixels;
}

std::string hex(Colour c) { return fmt::format("{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

TEST_CASE("a PNG holds the pixels it was made from" * doctest::skip(!VITRUVIAN_HAS_PNG)) {
  const Folder folder;
  for (const Image& image :
       {noise(1, 1, 1), noise(1, 1, 3), noise(3, 7, 1), noise(17, 5, 3), noise(300, 200, 3)}) {
    write_png(folder.file("p.png"), image);
    CHECK(same(read_image(folder.file("p.png")), image));
    CHECK(content(folder.file("p.png")) == encode_png(image));
  }
}

TEST_CASE("PNG: what cannot be written is said in a sentence") {
  CHECK(failure_of([] {
          static_cast<void>(encode_png({2, 2, 4, {}}));
        }).message == "encode_png: a picture of 4 channels; PNG is written with 1 or 3");
  CHECK(failure_of([] {
          static_cast<void>(encode_png({0, 2, 1, {}}));
        }).message == "encode_png: 0 x 2 pixels; expected at least one and at most 100000000");
  CHECK(failure_of([] {
          static_cast<void>(encode_png({2, 2, 1, {1, 2, 3}}));
        }).message == "encode_png: 3 bytes, but 2 x 2 x 1 are expected");
  const Folder folder;
  const std::string path = folder.file("no such folder") + "/p.png";
  const Failure failure = failure_of([&] { write_png(path, noise(2, 2, 1)); });
  CHECK(failure.exit == Exit::failure);
  CHECK(failure.message.find(path) != std::string::npos);
  CHECK(folder.files().empty());
}

// matplotlib 3.6.3: to_hex(colormaps[name](i)) for i of 256.
TEST_CASE("colours are matplotlib's") {
  const auto of_256 = [](ColourMap map, int i) { return hex(colour_at(map, i / 255.0)); };
  CHECK(of_256(ColourMap::viridis, 0) == "440154");
  CHECK(of_256(ColourMap::viridis, 64) == "3b528b");
  CHECK(of_256(ColourMap::viridis, 128) == "21918c");
  CHECK(of_256(ColourMap::viridis, 191) == "5cc863");
  CHECK(of_256(ColourMap::viridis, 255) == "fde725");
  CHECK(of_256(ColourMap::blue_red, 0) == "053061");
  CHECK(of_256(ColourMap::blue_red, 51) == "4393c3");
  CHECK(of_256(ColourMap::blue_red, 128) == "f7f6f6");
  CHECK(of_256(ColourMap::blue_red, 204) == "d6604d");
  CHECK(of_256(ColourMap::blue_red, 255) == "67001f");
  CHECK(hex(colour_at(ColourMap::grey, 0.5)) == "808080");
  CHECK(hex(colour_at(ColourMap::viridis, -3)) == "440154");
  CHECK(hex(colour_at(ColourMap::viridis, 1e300)) == "fde725");
  CHECK(hex(colour_at(ColourMap::viridis, nan)) == "808080");
}

TEST_CASE("viridis grows brighter at every step") {
  double before = -1;
  for (int i = 0; i < 256; ++i) {
    const Colour c = colour_at(ColourMap::viridis, i / 255.0);
    const double bright = 0.2126 * std::pow(c.r / 255.0, 2.2) +
                          0.7152 * std::pow(c.g / 255.0, 2.2) + 0.0722 * std::pow(c.b / 255.0, 2.2);
    CHECK(bright > before - 1e-3);
    before = std::max(before, bright);
  }
}

TEST_CASE("ranges leave out NaN and infinity") {
  CHECK(range_of({nan, 2, -1, inf}).low == -1);
  CHECK(range_of({nan, 2, -1, inf}).high == 2);
  CHECK(range_of({}).high == 1);
  CHECK(symmetric_range_of({nan, 2, -3}).low == -3);
  CHECK(symmetric_range_of({nan, 2, -3}).high == 3);
  CHECK(Range{2, 2}.place(2) == 0.5);
}

}  // namespace
}  // namespace vitruvian
