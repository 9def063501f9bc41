// What figures are made of: PNG as libpng reads it back, colours as matplotlib has them, numbers as
// numpy writes them; and their folder, all of it or nothing.

#include "vitruvian/report/figures.hpp"
#include "tests/folder.hpp"
#include "tests/json.hpp"
#include "vitruvian/charts/colours.hpp"
#include "vitruvian/charts/svg.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/nn/file_formats.hpp"
#include "vitruvian/report/figure.hpp"
#include "vitruvian/report/inspect.hpp"

#include <nlohmann/json.hpp>

namespace vitruvian {
namespace {

const double no_number = std::nan("");
const double infinite = std::numeric_limits<double>::infinity();

Image noise(std::size_t height, std::size_t width, std::size_t channels) {
  const std::string bytes = vitruvian::noise(height * width * channels);
  return {height, width, channels, {bytes.begin(), bytes.end()}};
}

bool same(const Image& a, const Image& b) {
  return a.height == b.height && a.width == b.width && a.channels == b.channels &&
         a.pixels == b.pixels;
}

std::string hex(Colour c) { return fmt::format("{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

TEST_CASE("a PNG holds the pixels it was made from") {
  const Folder folder;
  for (const Image& image :
       {noise(1, 1, 1), noise(1, 1, 3), noise(3, 7, 1), noise(17, 5, 3), noise(300, 200, 3)}) {
    write_png(folder.file("p.png"), image);
    CHECK(same(read_image(folder.file("p.png")), image));
    CHECK(content(folder.file("p.png")) == encode_png(image));
  }
}

TEST_CASE("PNG: what cannot be written is said in a sentence") {
  CHECK_SAYS(encode_png({2, 2, 4, {}}),
             "encode_png: a picture of 4 channels; PNG is written with 1 or 3");
  CHECK_SAYS(encode_png({0, 2, 1, {}}),
             "encode_png: 0 x 2 pixels; expected at least one and at most 100000000");
  CHECK_SAYS(encode_png({2, 2, 1, {1, 2, 3}}), "3 bytes are no picture of 2 x 2 x 1");
  const Folder folder;
  const std::string path = folder.file("no such folder") + "/p.png";
  check_error(Exit::failure, {path}, [&] { write_png(path, noise(2, 2, 1)); });
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
  CHECK(hex(colour_at(ColourMap::viridis, no_number)) == "808080");
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

TEST_CASE("text is escaped, and what is no text is replaced") {
  CHECK(html_escaped("<b a=\"1\" b='2'>&") == "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
  CHECK(html_escaped("caf\xC3\xA9\n") == "caf\xC3\xA9\n");
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(html_escaped(std::string("a\0b", 3)) == "a" + bad + "b");
  CHECK(html_escaped("\x1b[1m") == bad + "[1m");
  CHECK(html_escaped("\xC0\xBC") == bad + bad);                   // an overlong '<'
  CHECK(html_escaped("\xED\xA0\x80") == bad + bad + bad);         // a surrogate
  CHECK(html_escaped("\xF5\x80") == bad + bad);                   // beyond U+10FFFF
  CHECK(html_escaped("\xE2\x96") == bad + bad);                   // cut short
  CHECK(html_escaped("\xF0\x9F\x90\x88") == "\xF0\x9F\x90\x88");  // a cat
  for (const std::string bytes : {"", "a", "ab", "abc", "abcd", "\xFF\xFE\x00"}) {
    const std::string uri = data_uri("image/png", bytes);
    CHECK(uri.starts_with("data:image/png;base64,"));
    CHECK(uri.size() % 4 == std::string("data:image/png;base64,").size() % 4);
    CHECK(from_base64(uri.substr(22)) == bytes);
  }
}

TEST_CASE("ranges leave out NaN and infinity") {
  CHECK(range_of({no_number, 2, -1, infinite}).low == -1);
  CHECK(range_of({no_number, 2, -1, infinite}).high == 2);
  CHECK(range_of({}).high == 1);
  CHECK(symmetric_range_of({no_number, 2, -3}).low == -3);
  CHECK(symmetric_range_of({no_number, 2, -3}).high == 3);
  CHECK(Range{2, 2}.place(2) == 0.5);
}

TEST_CASE("numbers are written as numpy.save writes them") {
  // numpy 1.24: np.save of [[1, -2.5, 0], [inf, 1e300, -0.0]], its first 128 bytes.
  const std::string header = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }" +
                             std::string(58, ' ') + "\n";
  const std::vector<double> values{1, -2.5, 0, infinite, 1e300, -0.0};
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
    const std::string file = npy_of({shape, std::vector<double>(size_of(shape), 1)});
    const NpyHeader again = parse_npy_header(file, "it");
    CHECK(again.shape == shape);
    CHECK(again.begin % 64 == 0);
    CHECK(again.begin + again.bytes == file.size());
  }
}

TEST_CASE("JSON has lists in lists, and null for NaN") {
  using Written = nlohmann::ordered_json;
  CHECK(Written(Numbers{{2, 2}, {1, -0.5, no_number, 1e-9}}).dump() == "[[1.0,-0.5],[null,1e-09]]");
  CHECK(Written(Numbers{{}, {3}}).dump() == "3.0");
  CHECK(Written(Numbers{{0}, {}}).dump() == "[]");
}

Figure figure(const std::string& name) {
  const ImageGrid grid{.title = "A < B", .images = {Image{1, 1, 1, {7}}}};
  return {.name = name,
          .title = "A < B",
          .text = "\"it\"",
          .drawing = {{{grid}}},
          .files = {{name + ".json", "{}"}}};
}

TEST_CASE("a folder of figures holds every figure, its files, and a page of them") {
  const Folder folder;
  FigureFolder figures(folder.path / "a" / "b");
  const auto names = figures.write("Title", "Sub & title", {figure("one"), figure("two")});
  CHECK(names ==
        std::vector<std::string>{"one.svg", "one.json", "two.svg", "two.json", "index.html"});
  const std::string page = content((folder.path / "a" / "b" / "index.html").string());
  CHECK(says(page, "<svg class=\"chart\""));
  CHECK(says(page, "aria-label=\"A &lt; B\""));
  CHECK(says(page, "<a href=\"one.svg\">"));
  CHECK(content((folder.path / "a" / "b" / "one.svg").string()) == svg_file(figure("one").drawing));
  CHECK(says(page, "Sub &amp; title"));
  CHECK(says(page, "&quot;it&quot;"));
  CHECK(says(page, "<a href=\"two.json\">"));
  CHECK_FALSE(says(page, "http:"));  // nothing from elsewhere
  CHECK(says(page, "prefers-color-scheme: dark"));
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
  CHECK(error_of(Exit::failure, [&] { const FigureFolder figures(folder.path / "file"); }) ==
        folder.file("file") + " is no folder");
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
