// Charts: every datum where its axes say, in SVG and in a terminal.

#include "tests/folder.hpp"
#include "tests/json.hpp"
#include "vitruvian/charts/svg.hpp"
#include "vitruvian/charts/text.hpp"
#include "vitruvian/media/image.hpp"

#include <regex>

namespace vitruvian {
namespace {

const double nan = std::nan("");
const double inf = std::numeric_limits<double>::infinity();

Colour at(const Image& image, std::size_t y, std::size_t x) {
  const std::uint8_t* const p = image.pixels.data() + 3 * (y * image.width + x);
  return {p[0], p[1], p[2]};
}

TEST_CASE("round numbers") {
  CHECK(round_numbers({0, 1}, 5) == std::vector<double>{0, 0.2, 0.4, 0.2 * 3, 0.8, 1});
  CHECK(round_numbers({0, 2.3}, 5) == std::vector<double>{0, 0.5, 1, 1.5, 2});
  CHECK(round_numbers({-1, 1}, 4) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  CHECK(round_numbers({3, 197}, 4) == std::vector<double>{50, 100, 150});
  CHECK(round_numbers({7, 7}, 5).empty());
  CHECK(round_numbers({nan, 1}, 5).empty());
  CHECK(round_numbers({-inf, inf}, 5).empty());
  CHECK(round_numbers({1e300, std::nextafter(1e300, inf)}, 5).size() < 12);
  CHECK(tick_text(0.6000000000000001, 0.2) == "0.6");
  CHECK(tick_text(150, 50) == "150");
  CHECK(tick_text(-0.25, 0.05) == "-0.25");
  CHECK(tick_text(2e-5, 1e-5) == "2e-05");
}

TEST_CASE("thinning keeps means and extremes") {
  Series line{"a"};
  for (int i = 0; i < 1000; ++i) {
    line.x.push_back(i);
    line.y.push_back(i == 5 ? nan : i);
  }
  const Series thin = thinned(line, 100);
  REQUIRE(thin.x.size() == 100);
  CHECK(thin.x[0] == 4.5);
  CHECK(thin.y[0] == doctest::Approx(40.0 / 9));  // without the 5
  CHECK(thin.low[99] == 990);
  CHECK(thin.high[99] == 999);
  CHECK(thinned(line, 1000).low.empty());
  line.y.assign(1000, nan);
  CHECK(std::isnan(thinned(line, 100).y[0]));
}

std::string svg_of(const Drawing::Panel& panel) { return vitruvian::svg_of(Drawing{{{panel}}}); }

// The matches of a pattern's groups, as numbers where they are.
std::vector<std::vector<std::string>> found(const std::string& text, const std::string& pattern) {
  std::vector<std::vector<std::string>> all;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    all.emplace_back();
    for (std::size_t g = 1; g < it->size(); ++g) all.back().push_back((*it)[g].str());
  }
  return all;
}

using Texts = std::vector<std::vector<std::string>>;

// Without its legend a chart's plot begins 22 below its upper edge and is 210 high; it is 450 wide
// and begins 56 from the left.
TEST_CASE("a datum has the place that its axes say") {
  Chart chart{"", "step", "", {{"", {0, 1, 4}, {0, 2, 4}}}};
  chart.y = Range{0, 4};
  std::string svg = svg_of(chart);
  CHECK(found(svg, "<path class=\"line k0 d0\" d=\"([^\"]*)\"") ==
        Texts{{"M56.0,214.0L168.5,109.0L506.0,4.0"}});
  // Its numbers stand beside the lines and below their places.
  CHECK(found(svg, "<text x=\"48.0\" y=\"([0-9.]*)\" text-anchor=\"end\">([^<]*)<") ==
        Texts{{"218.0", "0"}, {"165.5", "1"}, {"113.0", "2"}, {"60.5", "3"}, {"8.0", "4"}});
  const Texts below =
      found(svg, "<text x=\"([0-9.]*)\" y=\"231.0\" text-anchor=\"middle\">([^<]*)<");
  REQUIRE(below.size() == 9);
  CHECK(below[2] == std::vector<std::string>{"168.5", "1"});
  CHECK(below[1][1] == "0.5");
  chart.whole_x = true;
  CHECK(found(svg_of(chart), "y=\"231.0\" text-anchor=\"middle\">([^<]*)<") ==
        Texts{{"0"}, {"1"}, {"2"}, {"3"}, {"4"}});

  // Logarithms: 10 lies in the middle between 1 and 100; what has none is left out.
  chart.y = Range{0, 2};
  chart.log_y = true;
  chart.series[0].x = {0, 1, 2, 3, 4};
  chart.series[0].y = {1, 10, 0, -1, 100};
  svg = svg_of(chart);
  CHECK(found(svg, "d=\"([^\"]*)\"") == Texts{{"M56.0,214.0L168.5,109.0M506.0,4.0"}});
  CHECK(found(svg, "text-anchor=\"end\">([^<]*)<") == Texts{{"1"}, {"10"}, {"100"}, {"step"}});
  // Under the pointer the number itself.
  CHECK(says(svg, "step 1</text>"));
  CHECK(says(svg, ">  10.0000</text>"));

  // Bars stand on 0, each on its place.
  Chart bars{"", "", "", {{"", {1, 2}, {3, -1}, Mark::bars}}};
  bars.y = Range{-1, 3};
  CHECK(found(svg_of(bars),
              "<rect class=\"f0\" x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\" "
              "height=\"([^\"]*)\"") ==
        Texts{{"78.5", "4.0", "180.0", "157.5"}, {"303.5", "161.5", "180.0", "52.5"}});

  bars.log_y = true;  // they stand on the axis, for 0 has no place
  bars.series[0].y = {1, 100};
  bars.y = Range{-1, 3};
  CHECK(found(svg_of(bars),
              "<rect class=\"f0\" x=\"[^\"]*\" y=\"([^\"]*)\" width=\"[^\"]*\" "
              "height=\"([^\"]*)\"") == Texts{{"161.5", "52.5"}, {"56.5", "157.5"}});

  // Shares in percent, and dots that are no line.
  Chart shares{"", "", "", {{"", {0, 1}, {0.25, 0.75}, Mark::dots}}};
  shares.percent = true;
  svg = svg_of(shares);
  CHECK_FALSE(says(svg, "<path"));
  CHECK(says(svg, ">40 %</text>"));
  CHECK(found(svg, "<circle class=\"f0\" cx=\"([^\"]*)\"") == Texts{{"56.0"}, {"506.0"}});
  shares.series[0].y = {1, 1};  // nothing has a place above all of it
  CHECK(says(svg_of(shares), ">100 %</text>"));
  CHECK_FALSE(says(svg_of(shares), ">150 %</text>"));
}

TEST_CASE("what begins soon after 0 begins at 0, and what the pointer shows stays in the chart") {
  Chart chart{"", "step", "", {{"", {4, 100}, {1, 2}}}};
  const std::string svg = svg_of(chart);
  CHECK(says(svg, "d=\"M74.0,"));  // 4 of 100
  chart.series[0].x = {6, 100};
  CHECK(says(svg_of(chart), "d=\"M56.0,"));
  const Texts boxes =
      found(svg, "<rect x=\"([^\"]*)\" y=\"[^\"]*\" width=\"([^\"]*)\" height=\"[^\"]*\" rx");
  REQUIRE(boxes.size() == 2);
  for (const auto& box : boxes) CHECK(std::stod(box[0]) + std::stod(box[1]) <= 520);
}

TEST_CASE("nothing, one point, NaN and a constant are charts too") {
  CHECK(svg_of(Chart{"none"}).empty());
  CHECK(svg_of(Chart{"none", "", "", {{"a", {}, {}}}}).empty());
  CHECK(svg_of(Chart{"none", "", "", {{"a", {1, 2}, {nan, inf}}}}).empty());
  CHECK(svg_of(ImageGrid{"none"}).empty());
  CHECK(vitruvian::svg_of({}).empty());
  for (const Series& series :
       {Series{"", {3}, {7}}, Series{"", {3, 3}, {0, 0}}, Series{"", {1, 2, 3}, {5, nan, 5}},
        Series{"", {1, 2}, {-1, inf}}, Series{"", {1, 2}, {1e-300, 1e300}},
        Series{"", {nan, 2, inf, 1}, {1, 2, 3, 4}, Mark::line, {}, {1, 1, 1, -1}, {2, 3, 4, 5}}}) {
    for (const Mark mark : {Mark::line, Mark::dots, Mark::bars}) {
      Chart chart{"it", "", "", {series}};
      chart.series[0].mark = mark;
      for (const bool flag : {false, true}) {
        chart.log_y = flag;
        const std::string svg = svg_of(chart);
        const bool drawn = std::any_of(series.y.begin(), series.y.end(), [flag](double y) {
          return std::isfinite(y) && (y > 0 || !flag);
        });
        CHECK(svg.empty() != drawn);
        CHECK_FALSE(says(svg, "nan"));
        CHECK_FALSE(says(svg, "inf"));
        CHECK(text_of(chart, 60).empty() == (!drawn && mark != Mark::bars));
      }
    }
  }
  // One point lies in the middle, a constant half way up; a gap stays one.
  CHECK(says(svg_of(Chart{"", "", "", {{"", {3}, {7}}}}), "cx=\"281.0\""));
  CHECK(found(svg_of(Chart{"", "", "", {{"", {1, 2, 3}, {4, nan, 8}}}}), "d=\"([^\"]*)\"") ==
        Texts{{"M56.0,214.0M506.0,4.0"}});
  CHECK_SAYS(svg_of(Chart{"", "", "", {{"a", {1, 2}, {1}}}}),
             "chart: a has 2 numbers across and 1 up");
  const Series banded{"a", {1, 2}, {1, 2}, Mark::line, {}, {0, 1}, {3}};
  CHECK_SAYS(svg_of(Chart{"", "", "", {banded}}), "chart: a has a band of 2 to 1 numbers around 2");
  // What lies nowhere is left out, and so is its part of the band.
  const Series nowhere{"", {0, nan, 2}, {2, 9, 4}, Mark::line, {}, {0, -9, 2}, {2, 99, 4}};
  Chart odd{"", "", "", {nowhere}};
  odd.y = Range{0, 4};
  CHECK(found(svg_of(odd), "points=\"([^\"]*)\"") ==
        Texts{{"56.0,109.0 506.0,4.0 506.0,109.0 56.0,214.0 "}});
}

TEST_CASE("what a chart says is escaped, and a file of it stands alone") {
  Chart chart{"<b>&\"'", "\x1b[1m", "<y>", {{"<script>", {0, 1}, {0, 1}}, {"b", {0, 1}, {1, 0}}}};
  ImageGrid grid{"</svg>", "<x>", "&", {Image{1, 1, 1, {0}}}};
  grid.x_names = {"<i>"};
  grid.y_names = {"\xff"};
  grid.bar = ColourBar{ColourMap::viridis, {0, 1}, "<bar>"};
  const std::string file = svg_file({{{chart, grid}}});
  for (const char* raw : {"<b>", "<script", "\x1b", "<y>", "<x>", "<i>", "\xff", "<bar>"}) {
    CHECK_MESSAGE(!says(file, raw), raw);
  }
  CHECK(found(file, "(</svg>)").size() == 1);
  CHECK(says(file, "aria-label=\"&lt;b&gt;&amp;&quot;&#39;; &lt;/svg&gt;\""));
  CHECK(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(says(file, "prefers-color-scheme: dark"));
  CHECK(found(file, "(http[^\"]*)").size() == 1);  // nothing is fetched
  CHECK(found(file, "href=\"(data:image/png;base64,)?").size() == 2);
  // No line looks like another, and both are in the legend.
  CHECK(says(file, "<path class=\"line k1 d1\""));
  CHECK(says(file, ">&lt;script&gt;</text>"));
}

TEST_CASE("thirty-six lines differ in colour or dashes, and the legend shows both") {
  Chart chart{"", "", "", {}};
  for (int i = 0; i < 36; ++i) chart.series.push_back({std::to_string(i), {0, 1}, {0, 1}});
  const std::string svg = svg_of(chart);
  const Texts lines = found(svg, "<path class=\"line k([0-5]) d([0-5])\"");
  REQUIRE(lines.size() == 36);
  CHECK(std::set(lines.begin(), lines.end()).size() == 36);
  CHECK(found(svg, "<line class=\"line k([0-5]) d([0-5])\"") == lines);
  for (const std::string style : {"k0 {", "k5 {", "d1 {", "d5 {"}) {
    CHECK_MESSAGE(says(svg_file({{{chart}}}), "." + style), style);
  }
}

// The bytes of the n-th picture.
std::string png_in(const std::string& svg, std::size_t n) {
  return from_base64(found(svg, "href=\"data:image/png;base64,([^\"]*)\"").at(n).at(0));
}

TEST_CASE("pictures lie in rows, a pixel a number, with a frame around the part that is marked") {
  const Matrix matrix{2, 3, {0, 1, 2, 3, 4, 5}};
  const Image image = coloured(matrix, ColourMap::viridis, {0, 5});
  const ImageGrid grid{
      .images = {image, image, image}, .columns = 2, .width = 60, .marked = Box{1, 2, 1, 1}};
  std::string svg = svg_of(grid);
  CHECK(found(svg, "<image x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\" height=\"([^\"]*)\"") ==
        Texts{{"0.0", "0.0", "60.0", "40.0"},
              {"65.0", "0.0", "60.0", "40.0"},
              {"0.0", "45.0", "60.0", "40.0"}});
  CHECK(png_in(svg, 2) == encode_png(image));
  CHECK(found(svg,
              "<rect class=\"mark\" x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\" "
              "height=\"([^\"]*)\"")[0] ==
        std::vector<std::string>{"41.0", "21.0", "18.0", "18.0"});
  CHECK(says(svg, "viewBox=\"0 0 125 85\""));
  CHECK(says(svg, "min-width:115px"));  // letters of 12 stay above 11 pixels

  // Its parts are numbered in their middles, and the bar's numbers stand at their colours.
  svg = svg_of(heat_map(matrix, "", {ColourMap::viridis, {0, 5}, "share"}, 300));
  CHECK(png_in(svg, 0) == encode_png(image));
  const Texts below = found(svg, "x=\"([0-9.]*)\" y=\"215.0\" text-anchor=\"middle\">([^<]*)<");
  REQUIRE(below.size() == 3);
  CHECK(std::stod(below[1][0]) - std::stod(below[0][0]) == doctest::Approx(100));
  CHECK(below[2][1] == "2");
  const Texts bar = found(svg, "x=\"[0-9.]*\" y=\"([0-9.]*)\" text-anchor=\"start\">([^<]*)<");
  CHECK(bar.front() == std::vector<std::string>{"204.0", "0"});  // 4 below the bar's end at 200
  CHECK(bar.back() == std::vector<std::string>{"8.0", "5"});
}

TEST_CASE("pictures laid out in a matrix are numbered, not their rows and columns") {
  Matrix tiles{19, 19, std::vector<double>(19UL * 19, 1), 4, 4};
  const auto below = [&] {
    return found(svg_of(heat_map(tiles, "", {}, 380)), "text-anchor=\"middle\">([^<]*)<");
  };
  CHECK(below() == Texts{{"0"}, {"1"}, {"2"}, {"3"}});
  tiles = {4, 19, std::vector<double>(4UL * 19, 1), 4, 1};
  CHECK(below().empty());  // the caption names those of a single row
}

TEST_CASE("many rows are numbered as far as there is room") {
  const Matrix matrix{197, 197, std::vector<double>(197UL * 197, 1)};
  const std::string svg = svg_of(heat_map(matrix, "", {}, 480));
  const Texts rows = found(svg, "y=\"([0-9.]*)\" text-anchor=\"end\">([^<]*)<");
  REQUIRE(rows.size() > 8);
  CHECK(rows.size() < 27);
  CHECK(rows[0][1] == "0");
  const double each = 480.0 / 197;
  CHECK(std::stod(rows[1][0]) ==
        doctest::Approx((std::stod(rows[1][1]) + 0.5) * each + 4).epsilon(1e-3));
}

TEST_CASE("tiles stand in rows, with a line between them") {
  const Image a{1, 1, 1, {0}};
  const Image b{1, 1, 3, {9, 8, 7}};
  const Image tiles = tiled({a, b, a}, 2);
  CHECK(tiles.width == 3);
  CHECK(tiles.height == 3);
  CHECK(at(tiles, 0, 0) == Colour{});
  CHECK(at(tiles, 0, 2) == Colour{9, 8, 7});
  CHECK(at(tiles, 2, 0) == Colour{});
  CHECK(at(tiles, 1, 1) == Colour{128, 128, 128});
  CHECK_SAYS(tiled({a, {2, 1, 1, {0, 0}}}, 2),
             "tiled: a picture of 2 x 1 pixels among others of 1 x 1");
  CHECK(tiled({a}, 5).width == 1);  // no column is empty
  CHECK(enlarged(b, 2).pixels == std::vector<std::uint8_t>{9, 8, 7, 9, 8, 7, 9, 8, 7, 9, 8, 7});
}

TEST_CASE("charts in a terminal") {
  Chart chart{"", "", "", {{"up", {0, 1, 2}, {1, 2, 3}}, {"down", {0, 2}, {3, nan}}}};
  std::vector<std::string> lines = text_of(chart, 23);
  REQUIRE(lines.size() == 16);
  CHECK(lines[0] == "        3 │o          *");
  CHECK(lines[11] == "        1 │*           ");
  CHECK(lines[12] == "          └────────────");
  CHECK(lines[13] == "           0          2");
  CHECK(lines[15] == "           o down");
  chart.x_label = "step";
  chart.series[0].y[0] = 9e-14;  // noise
  lines = text_of(chart, 23);
  CHECK(lines[11] == "        0 │*           ");
  CHECK(lines[13] == "           0   step   2");
  chart.series = {{"", {}, {1, 2, 4}, Mark::bars}};
  chart.names = {"one", "two", "four"};
  lines = text_of(chart, 24);
  CHECK(lines == std::vector<std::string>{"one  │██ 1", "two  │████ 2", "four │████████ 4"});
  CHECK(text_of(Matrix{2, 2, {0, 1, 2, 4}}, 80) == std::vector<std::string>{"  ░░", "▒▒██"});
  CHECK(text_of(Matrix{1, 3, {5, nan, 5}}, 80) == std::vector<std::string>{"      "});
}

TEST_CASE("pictures in a terminal") {
  const console::Terminal letters{true};
  const console::Terminal of_256{true, true, false, true};
  const console::Terminal deep{true, true, true, true};
  const Image image{2, 2, 3, {255, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}};
  CHECK(text_of(image, deep) ==
        "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[38;2;0;0;0m\x1b[48;2;255;255;255m▀\x1b[0m\n");
  CHECK(text_of(image, of_256) ==
        "\x1b[38;5;196m\x1b[48;5;21m▀\x1b[38;5;16m\x1b[48;5;231m▀\x1b[0m\n");
  CHECK(text_of(image, letters) == "--\n..@@\n");
  CHECK(text_of(image, {true, true, true, false}) == "--\n..@@\n");  // half blocks are UTF-8
  CHECK(text_of({1, 4, 1, {0, 255, 255, 255}}, {true, false, false, false, 4}) == "++@@\n");
  CHECK(text_of({1, 1, 1, {128}}, of_256) == "\x1b[38;5;244m▀\x1b[0m\n");
}

TEST_CASE("boxes and arrows") {
  const Diagram tape{.boxes = {{"x", {"2"}}, {"f", {"4"}, 1}, {"y", {"8"}, 2, 1}},
                     .arrows = {{"x", "f", "", "4"}, {"f", "y"}, {"x", "y"}}};
  std::vector<std::string> lines = text_of(tape, 80);
  CHECK(lines == std::vector<std::string>{
                     "┌───┐      ┌───┐",
                     "│ x │      │ f │",
                     "│ 2 │─────▶│ 4 │────────┐",
                     "└───┘◀╌╌╌╌╌└───┘        │",
                     "  │     4               │",
                     "  │                     ▼",
                     "  │                   ┌───┐",
                     "  │                   │ y │",
                     "  └──────────────────▶│ 8 │",
                     "                      └───┘",
                 });
  const std::string svg = svg_of(tape);
  CHECK(count_of(svg, "class=\"box") == 3);
  CHECK(count_of(svg, "class=\"flow\"") == 3);
  CHECK(count_of(svg, "class=\"flow back\"") == 1);

  // Over what stands between, as a residual connection goes.
  const Diagram row{.boxes = {{"a"}, {"b", {}, 1}, {"c", {}, 2}}, .arrows = {{"a", "c"}}};
  lines = text_of(row, 80);
  CHECK(lines.at(1) == "  ┌─────────────────────┐");
  CHECK(lines.at(2) == "  │                     ▼");

  const auto layout = [](const Diagram& d) { return layout_of(d, {}); };
  CHECK_SAYS(layout({.boxes = {{"a"}}, .arrows = {{"a", "b"}}}), "a diagram has no box 'b'");
  CHECK_THROWS_AS(layout({.boxes = {{"a"}, {"b"}}}), Error);
  CHECK(svg_of(Diagram{}).empty());
  CHECK(text_of(Diagram{}, 80).empty());
}

TEST_CASE("bars with names lie below each other in both forms") {
  Chart chart{.series = {{.y = {1, 2362410, -1.5}, .mark = Mark::bars}}};
  chart.names = {"one", "two", "minus one"};
  const std::string svg = svg_of(chart);
  for (const std::string& name : chart.names) CHECK(count_of(svg, ">" + name + "<") == 1);
  for (const char* const number : {">1<", ">2362410<", ">-1.5<"}) CHECK(count_of(svg, number) == 1);
  CHECK(count_of(svg, "<rect class=\"f0\"") == 3);
  CHECK(text_of(chart, 60).size() == 3);
  chart.series[0].y = {0.25, 1, 0};
  chart.percent = true;
  CHECK(says(svg_of(chart), ">25.00 %<"));
}

TEST_CASE("pictures as shades, in the grid's rows") {
  const Image light{1, 2, 1, {255, 255}}, dark{1, 2, 1, {0, 255}};
  const ImageGrid grid{
      .images = {light, dark, dark}, .columns = 2, .x_names = {"a", "b"}, .y_names = {"up", "low"}};
  CHECK(text_of(grid, 80) ==
        std::vector<std::string>{"up:", "████    ██", "", "low:", "  ██", "a     b"});
}

}  // namespace
}  // namespace vitruvian
