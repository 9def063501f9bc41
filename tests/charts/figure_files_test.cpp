// The folder of figures: all of it or nothing, numbers as numpy writes them, and figures that show
// the numbers they are given.

#include "tests/folder.hpp"
#include "vitruvian/charts/svg.hpp"
#include "vitruvian/nn/file_formats.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/report/figures.hpp"
#include "vitruvian/report/inspect.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

namespace vitruvian {
namespace {

TEST_CASE("numbers are written as numpy.save writes them") {
  // numpy 1.24: np.save of [[1, -2.5, 0], [inf, 1e300, -0.0]], its first 128 bytes.
  const std::string header = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }" +
                             std::string(58, ' ') + "\n";
  const std::vector<double> values{1,     -2.5, 0, std::numeric_limits<double>::infinity(),
                                   1e300, -0.0};
  const std::string bytes = npy_of({{2, 3}, values});
  REQUIRE(bytes.size() == 128 + 48);
  CHECK(bytes.substr(0, 128) == header);
  const NpyHeader read = parse_npy_header(bytes, "it");
  CHECK(read.type.type == FileType::f64);
  CHECK(read.shape == std::vector<std::size_t>{2, 3});
  CHECK_FALSE(read.fortran_order);
  CHECK(read.begin == 128);
  CHECK(std::memcmp(bytes.data() + 128, values.data(), 48) == 0);
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{1}, {3, 1, 4, 1, 5}, {100, 200, 1}}) {
    std::size_t n = 1;
    for (const std::size_t length : shape) n *= length;
    const std::string file = npy_of({shape, std::vector<double>(n, 1)});
    const NpyHeader again = parse_npy_header(file, "it");
    CHECK(again.shape == shape);
    CHECK(again.begin % 64 == 0);
    CHECK(again.begin + again.bytes == file.size());
  }
}

TEST_CASE("JSON has lists in lists, and null for NaN") {
  CHECK(json_of({{2, 2}, {1, -0.5, std::nan(""), 1e-9}}) == "[[1, -0.5], [null, 1e-09]]");
  CHECK(json_of({{}, {3}}) == "3");
  CHECK(json_of({{0}, {}}) == "[]");
}

Figure figure(const std::string& name) {
  Figure result;
  result.name = name;
  result.title = "A < B";
  result.text = "\"it\"";
  ImageGrid grid{"A < B"};
  grid.images = {Image{1, 1, 1, {7}}};
  result.drawing = {{{grid}}};
  result.files = {{name + ".json", "{}"}};
  return result;
}

TEST_CASE("a folder of figures holds every figure, its files, and a page of them") {
  const Folder folder;
  FigureFolder figures(folder.path / "a" / "b");
  const auto names = figures.write("Title", "Sub & title", {figure("one"), figure("two")});
  CHECK(names ==
        std::vector<std::string>{"one.svg", "one.json", "two.svg", "two.json", "index.html"});
  const std::string page = content((folder.path / "a" / "b" / "index.html").string());
  CHECK(page.find("<svg class=\"chart\"") != page.npos);
  CHECK(page.find("aria-label=\"A &lt; B\"") != page.npos);
  CHECK(page.find("<a href=\"one.svg\">") != page.npos);
  CHECK(content((folder.path / "a" / "b" / "one.svg").string()) == svg_file(figure("one").drawing));
  CHECK(page.find("Sub &amp; title") != page.npos);
  CHECK(page.find("&quot;it&quot;") != page.npos);
  CHECK(page.find("<a href=\"two.json\">") != page.npos);
  CHECK(page.find("http:") == page.npos);  // nothing from elsewhere
  CHECK(page.find("prefers-color-scheme: dark") != page.npos);
}

TEST_CASE(
    "a folder of figures that is never written leaves no folder, and keeps one that was there") {
  const Folder folder;
  { const FigureFolder figures(folder.path / "new"); }
  CHECK(folder.files().empty());
  std::filesystem::create_directory(folder.path / "old");
  { const FigureFolder figures(folder.path / "old"); }
  CHECK(folder.files() == std::vector<std::string>{"old"});
  std::ofstream(folder.file("file")) << "x";
  const Failure failure = failure_of([&] { const FigureFolder figures(folder.path / "file"); });
  CHECK(failure.exit == Exit::failure);
  CHECK(failure.message == folder.file("file") + " is no folder");
}

TEST_CASE("checkpoints come in the order of their numbers, the last one always") {
  const Folder folder;
  for (const char* name : {"epoch-0100", "epoch-20", "epoch-3", "epoch-4", "last", "best"}) {
    std::ofstream(folder.file(name) + ".safetensors") << "x";
  }
  std::ofstream(folder.file("config.json")) << "{}";
  const auto stems = [&](std::size_t every) {
    std::string all;
    for (const std::string& path : checkpoints_of(folder.path.string(), every)) {
      all += std::filesystem::path(path).stem().string() + " ";
    }
    return all;
  };
  CHECK(stems(1) == "epoch-3 epoch-4 epoch-20 epoch-0100 ");
  CHECK(stems(2) == "epoch-3 epoch-20 epoch-0100 ");
  CHECK(stems(9) == "epoch-3 epoch-0100 ");
}

TEST_CASE("pixels come back as bytes") {
  const double pixels[] = {(0.5 - 0.2) / 0.1, (1.0 - 0.2) / 0.1, 99, -99};
  const Image image = figures::picture_of(pixels, 1, 2, 2, {0.2}, {0.1});
  CHECK(image.pixels == std::vector<std::uint8_t>{128, 255, 255, 0});
}

// The colours of a grid of grids are those of its cosines: 2 x 2 patches, one pixel a cosine, lines
// between.
TEST_CASE("a grid of grids has the grid of patch (r, c) at row r and column c") {
  Numbers similarity{{2, 2, 2, 2}, std::vector<double>(16)};
  for (std::size_t i = 0; i < 16; ++i) similarity.values[i] = static_cast<double>(i) / 16;
  const Image image = figures::similarity_picture(similarity);
  REQUIRE(image.height == 5);
  REQUIRE(image.width == 5);
  const Range range{-14.0 / 16, 14.0 / 16};  // 15 is a patch's with itself
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t y = 0; y < 2; ++y) {
        for (std::size_t x = 0; x < 2; ++x) {
          const double value = similarity.values[((r * 2 + c) * 2 + y) * 2 + x];
          const Colour colour = colour_at(ColourMap::blue_red, range.place(value));
          const std::uint8_t* const p = image.pixels.data() + 3 * ((3 * r + y) * 5 + 3 * c + x);
          CHECK(Colour{p[0], p[1], p[2]} == colour);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vitruvian
