// Figures: PNG as libpng reads it back, colours as matplotlib has them, pixels where they belong.

#include "media/encode_png.hpp"
#include "media/plots.hpp"
#include "media/terminal.hpp"
#include "tests/folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vitruvian {
namespace {

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

Colour at(const Image& image, std::size_t y, std::size_t x) {
  const std::uint8_t* const p = image.pixels.data() + 3 * (y * image.width + x);
  return {p[0], p[1], p[2]};
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
        }).message == "encode_png: 0 x 2 pixels are none, or more than 100000000");
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
  CHECK(hex(colour_at(ColourMap::viridis, std::nan(""))) == "808080");
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

TEST_CASE("ranges leave out what is no number") {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(range_of({nan, 2, -1, inf}).low == -1);
  CHECK(range_of({nan, 2, -1, inf}).high == 2);
  CHECK(range_of({}).high == 1);
  CHECK(symmetric_range_of({nan, 2, -3}).low == -3);
  CHECK(symmetric_range_of({nan, 2, -3}).high == 3);
  CHECK(Range{2, 2}.place(2) == 0.5);
}

TEST_CASE("a canvas paints whole pixels, and nothing outside") {
  Canvas canvas(5, 4);
  canvas.rectangle(1, 1, 2, 2, {255, 0, 0});
  canvas.rectangle(4, 3, 100, 100, {0, 0, 255});
  canvas.rectangle(-100, -100, 3, 3, black);
  std::string picture;
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 5; ++x) {
      const Colour c = at(canvas.image(), y, x);
      picture += c == white               ? '.'
                 : c == Colour{255, 0, 0} ? 'r'
                 : c == Colour{0, 0, 255} ? 'b'
                                          : '?';
    }
    picture += '\n';
  }
  CHECK(picture == ".....\n.rr..\n.rr..\n....b\n");
  CHECK(failure_of([] { static_cast<void>(Canvas(0, 3)); }).message.starts_with("canvas: 3 x 0"));
}

TEST_CASE("a stroke covers as much as its width says, smoothly") {
  Canvas canvas(40, 40);
  canvas.stroke(10, 20, 30, 20, 4, black);
  CHECK(at(canvas.image(), 19, 20) == black);
  CHECK(at(canvas.image(), 21, 20) == black);
  CHECK(at(canvas.image(), 23, 20) == white);
  double ink_of_dot = 0;
  Canvas dot(40, 40);
  dot.stroke(20, 20, 20, 20, 10, black);
  for (const std::uint8_t p : dot.image().pixels) ink_of_dot += (255 - p) / 255.0 / 3;
  CHECK(ink_of_dot == doctest::Approx(3.14159265 * 25).epsilon(0.02));
}

TEST_CASE("letters have widths, and turned text is text turned") {
  CHECK(text_width("") == 0);
  CHECK(text_width("ab") == text_width("a") + text_width("b"));
  CHECK(text_width("×") > 0);
  CHECK(text_width("\xff\xfe") == text_width("??"));
  CHECK(text_width("漢") == text_width("?"));
  const std::string text = "Layer 3";
  const std::size_t width = text_width(text);
  Canvas flat(width, line_height);
  flat.text(0, 0, text);
  Canvas up(line_height, width + 1);
  up.text_upwards(0, static_cast<double>(width) / 2, text);
  std::size_t painted = 0;
  for (std::size_t y = 0; y < line_height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      CHECK(at(flat.image(), y, x) == at(up.image(), width - x, y));
      painted += at(flat.image(), y, x) == white ? 0 : 1;
    }
  }
  CHECK(painted > 200);
}

TEST_CASE("round numbers") {
  CHECK(round_numbers({0, 1}, 5) == std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(round_numbers({-1, 1}, 4) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  CHECK(round_numbers({3, 197}, 4) == std::vector<double>{50, 100, 150});
  CHECK(round_numbers({2, 2}, 4) == std::vector<double>{2});
  CHECK(tick_text(0.6000000000000001, 0.2) == "0.6");
  CHECK(tick_text(150, 50) == "150");
  CHECK(tick_text(-0.25, 0.05) == "-0.25");
  CHECK(tick_text(2e-5, 1e-5) == "2e-05");
  const auto ticks = cell_ticks(197, 3);
  CHECK(ticks.front().text == "0");
  CHECK(ticks.front().at == 1.5);
  CHECK(ticks[1].at == (std::stod(ticks[1].text) + 0.5) * 3);
}

TEST_CASE("a heat map of 197 x 197 is sharp: every cell is 3 x 3 equal pixels") {
  constexpr std::size_t n = 197;
  Matrix matrix{n, n, {}};
  for (std::size_t i = 0; i < n * n; ++i)
    matrix.values.push_back(static_cast<double>(i * 7919 % 1000));
  const Image small = coloured(matrix, ColourMap::viridis, {0, 999});
  const Image figure = drawn(HeatMap{matrix, "Attention", "key", "query", "share"}, 640);
  // Its corner is where the first cell's colour first fills 3 x 3.
  std::size_t x0 = 0;
  std::size_t y0 = 0;
  bool found = false;
  for (std::size_t y = 0; y < 100 && !found; ++y) {
    for (std::size_t x = 0; x < 200 && !found; ++x) {
      if (at(figure, y, x) == at(small, 0, 0) && at(figure, y + 2, x + 2) == at(small, 0, 0)) {
        found = true;
        x0 = x;
        y0 = y;
      }
    }
  }
  REQUIRE(found);
  REQUIRE(x0 + 3 * n < figure.width);
  REQUIRE(y0 + 3 * n < figure.height);
  std::size_t wrong = 0;
  for (std::size_t y = 0; y < 3 * n; ++y) {
    for (std::size_t x = 0; x < 3 * n; ++x) {
      wrong += at(figure, y0 + y, x0 + x) == at(small, y / 3, x / 3) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a chart has its dots where its numbers say") {
  Chart chart{"", "", "", {{"", {1}, {2}, false}}, Range{0, 4}, Range{0, 4}};
  const Image figure = drawn(chart, 400, 400);
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::size_t y = 0; y < figure.height; ++y) {
    for (std::size_t x = 0; x < figure.width; ++x) {
      if (!(at(figure, y, x) == colour_of_series(0))) continue;
      xs.push_back(static_cast<double>(x));
      ys.push_back(static_cast<double>(y));
    }
  }
  REQUIRE(xs.size() > 60);
  const Range x = range_of(xs);
  const Range y = range_of(ys);
  // The frame's line is the left and upper end of the plot.
  std::size_t left = 0;
  while (left < figure.width && !(at(figure, figure.height / 3, left) == ink)) ++left;
  std::size_t top = 0;
  while (top < figure.height && !(at(figure, top, figure.width / 3) == ink)) ++top;
  CHECK((x.low + x.high) / 2 + 0.5 ==
        doctest::Approx(static_cast<double>(left) + 1 + 100).epsilon(0.01));
  CHECK((y.low + y.high) / 2 + 0.5 ==
        doctest::Approx(static_cast<double>(top) + 1 + 200).epsilon(0.01));
  chart.series[0].y.clear();
  CHECK(failure_of([&] { static_cast<void>(drawn(chart)); }).message.starts_with("chart: "));
}

// Four layers in a wide chart: round numbers are half a layer apart.
TEST_CASE("an axis that counts has marks at whole numbers, and has some") {
  Chart chart{"", "", "", {{"", {0, 1, 2, 3}, {1, 2, 3, 4}}}};
  const std::size_t with_halves = drawn(chart).height;
  chart.whole_x = true;
  const Image counted = drawn(chart);
  CHECK(counted.height == with_halves);  // marks take room below
  std::size_t marks = 0;
  const std::size_t below = 16 + 480 + 5;  // the plot begins 16 pixels down, a mark is 8 long
  for (std::size_t x = 64; x < counted.width; ++x) {  // beside the numbers of the other axis
    marks += at(counted, below, x) == ink && !(at(counted, below, x - 1) == ink) ? 1 : 0;
  }
  CHECK(marks == 4);
}

TEST_CASE("tiles stand in rows, as wide as the widest") {
  const Image a{1, 1, 1, {0}};
  const Image b{2, 2, 3, std::vector<std::uint8_t>(12, 9)};
  const Image tiles = tiled({a, b, a}, 2, 1);
  CHECK(tiles.width == 4);
  CHECK(tiles.height == 4);
  CHECK(at(tiles, 0, 0) == black);
  CHECK(at(tiles, 1, 3) == Colour{9, 9, 9});
  CHECK(at(tiles, 3, 0) == black);
  CHECK(at(tiles, 1, 0) == white);
}

TEST_CASE("pictures in a terminal") {
  const Image image{2, 2, 3, {255, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}};
  CHECK(in_terminal(image, {Shown::colours, 80}) ==
        "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[38;2;0;0;0m\x1b[48;2;255;255;255m▀\x1b[0m\n");
  CHECK(in_terminal(image, {Shown::colours_256, 80}) ==
        "\x1b[38;5;196m\x1b[48;5;21m▀\x1b[38;5;16m\x1b[48;5;231m▀\x1b[0m\n");
  CHECK(in_terminal(image, {Shown::letters, 80}) == "--\n..@@\n");
  const Image wide{1, 4, 1, {0, 255, 255, 255}};
  CHECK(in_terminal(wide, {Shown::letters, 4}) == "++@@\n");
  const Image odd{1, 1, 1, {128}};
  CHECK(in_terminal(odd, {Shown::colours_256, 80}) == "\x1b[38;5;244m▀\x1b[0m\n");
}

}  // namespace
}  // namespace vitruvian
