#include "web/engine/picture.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/datasets/formats/ink.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian::web {
namespace {

constexpr int side = static_cast<int>(InkCanvas::side);
constexpr float softness = 0.9F;        // the middle of what the drawn digits have
constexpr double steady_radius = 1.27;  // the mean of theirs

Pixels bytes(const InkCanvas& canvas, InkShift shift = {}) {
  Pixels out{};
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      const float level = 255 * canvas.at(i - shift.down, j - shift.right);
      out[static_cast<std::size_t>(i * side + j)] =
          static_cast<std::uint8_t>(level + 0.5F);  // NOLINT(bugprone-incorrect-roundings): >= 0
    }
  }
  return out;
}

double coordinate(const Json& point, std::size_t axis) {
  if (!point.is_array() || point.size() != 2 || !point[axis].is_number() ||
      !(std::abs(point[axis].get<double>()) <= 100)) {
    fail("strokes: expected points [x, y], got {}", dump_json(point));
  }
  return point[axis].get<double>();
}

std::vector<InkPath> paths_of(const Json& request) {
  const double pen = field(request, "pen", steady_radius / side);
  if (pen <= 0 || pen > 0.25) fail("pen: expected above 0 and at most 0.25, got {}", pen);
  const auto strokes = request.find("strokes");
  if (strokes == request.end() || !strokes->is_array()) fail("strokes: expected a list");
  std::vector<InkPath> paths;
  for (const Json& stroke : *strokes) {
    if (!stroke.is_array()) fail("strokes: expected lists of points, got {}", dump_json(stroke));
    InkPath path;
    for (const Json& point : stroke) {
      path.push_back({side * coordinate(point, 0), side * coordinate(point, 1), side * pen});
    }
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

// An A, and an M.
const Glyph& letter(std::uint64_t index) {
  static const std::array<Glyph, 2> letters{
      Glyph{1, {{{0, 1}, {0.35, 0, true}, {0.7, 1}}, {{0.13, 0.65}, {0.57, 0.65}}}},
      Glyph{1, {{{0, 1}, {0, 0, true}, {0.35, 0.6, true}, {0.7, 0, true}, {0.7, 1}}}}};
  return letters[index % letters.size()];
}

Pixels centred(std::vector<InkPath> paths) {
  fit_to_box(paths);
  const InkCanvas canvas = inked(paths, softness);
  return bytes(canvas, shift_to_centre(canvas));
}

// A digit written by a steady hand with a pen of another width.
Pixels steady(std::uint64_t digit, double radius) {
  return centred(written(glyphs(digit).front(), radius));
}

}  // namespace

Json Picture::draw(const Json& request) {
  check_fields(request, {"strokes", "pen", "centred"});
  std::vector<InkPath> paths = paths_of(request);
  const InkCanvas where_drawn = inked(paths, softness);
  uncentred = bytes(where_drawn);
  double scale = 1;
  InkShift shift;
  pixels = uncentred;
  if (field(request, "centred", true) && !paths.empty()) {
    scale = fit_to_box(paths);
    const InkCanvas canvas = inked(paths, softness);
    shift = shift_to_centre(canvas);
    pixels = bytes(canvas, shift);
  }
  return {{"pixels", address(pixels.data())},
          {"uncentred", address(uncentred.data())},
          {"empty", std::all_of(pixels.begin(), pixels.end(), [](auto x) { return x == 0; })},
          {"scale", scale},
          {"shift", {shift.right, shift.down}}};
}

Json Picture::sample(const Json& request) {
  check_fields(request, {"kind", "seed", "index"});
  const std::string kind = field(request, "kind", std::string("digit"));
  const std::uint64_t seed = field(request, "seed", std::uint64_t{1});
  const std::uint64_t index = field(request, "index", std::uint64_t{0});
  constexpr std::uint64_t most = 10'000;
  if (index >= most) fail("index: expected below {}, got {}", most, index);
  const std::uint64_t digit = index % 10;
  Json label = digit;
  if (kind == "digit" || kind == "shifted") {
    std::copy_n(drawn_digit(seed, index).data(), pixels.size(), pixels.begin());
    if (kind == "shifted") {
      InkCanvas canvas;
      std::transform(pixels.begin(), pixels.end(), canvas.levels.begin(),
                     [](std::uint8_t x) { return static_cast<float>(x) / 255; });
      pixels = bytes(canvas, {.right = 5, .down = -4});
    }
  } else if (kind == "thick" || kind == "thin") {
    pixels = steady(digit, kind == "thick" ? 2.6 : 0.55);
  } else if (kind == "letter") {
    pixels = centred(written(letter(index), steady_radius));
    label = nullptr;
  } else if (kind == "noise") {
    const Rng rng = Rng(seed).fork("noise", {index});
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<std::uint8_t>(rng.below(256, i));
    }
    label = nullptr;
  } else {
    fail("there is no sample '{}'; {}", kind,
         did_you_mean(kind, {"digit", "thick", "thin", "shifted", "letter", "noise"}));
  }
  uncentred = pixels;
  return {{"pixels", address(pixels.data())}, {"label", label}};
}

std::span<const std::uint8_t> Picture::drawn_digit(std::uint64_t seed, std::size_t index) {
  if (seed_ != seed || index >= drawn_.size()) drawn_ = digits(2 * (index + 1), seed, "test");
  seed_ = seed;
  return drawn_.image(index);
}

Dataset as_dataset(const Pixels& pixels) {
  Dataset data = empty_digit_dataset("the picture", InkCanvas::side, InkCanvas::side);
  data.pixels.assign(pixels.begin(), pixels.end());
  data.labels = {0};
  return data;
}

}  // namespace vitruvian::web
