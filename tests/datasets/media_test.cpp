// Pictures: decoded as they were written, resized as Pillow does it, refused where they are
// damaged.

#include "tests/folder.hpp"
#include "tests/json.hpp"
#include "vitruvian/media/decode.hpp"
#include "vitruvian/media/image.hpp"

namespace vitruvian {
namespace {

const JsonValue& golden() {
  static const JsonValue document = JsonValue::read(VITRUVIAN_TEST_DATA "/golden/pictures.json");
  return document;
}

bool readable(const std::string& name) { return !name.ends_with(".jpg") || VITRUVIAN_HAS_JPEG; }

Image picture(const JsonValue& file) {
  const std::string pixels = from_base64(file["pixels"]);
  return {file["height"], file["width"], file["channels"], {pixels.begin(), pixels.end()}};
}

// The largest difference of two pictures' bytes; 256 when they have not the same shape.
int difference(const Image& a, const Image& b) {
  if (a.height != b.height || a.width != b.width || a.channels != b.channels ||
      a.pixels.size() != b.pixels.size()) {
    return 256;
  }
  int worst = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    worst = std::max(worst, std::abs(int{a.pixels[i]} - int{b.pixels[i]}));
  }
  return worst;
}

Image picture_in(const std::string& bytes, std::uint64_t max_pixels = usual_max_pixels) {
  return read_image(MemorySource(bytes, "p", Exit::data), max_pixels);
}

// What is said of the file "p" that holds these bytes; "" where it can be read.
std::string refusal(const std::string& bytes, std::uint64_t max_pixels = usual_max_pixels) {
  return said_of("p", failure_of([&] { return picture_in(bytes, max_pixels); }), Exit::data);
}

std::string file_named(const std::string& name) {
  for (const auto& file : golden()["files"]) {
    if (file["name"] == name) return from_base64(file["bytes"]);
  }
  FAIL(name);
  return "";
}

TEST_CASE("every kind of picture is decoded to the pixels that it means") {
  std::size_t read = 0;
  for (const auto& file : golden()["files"]) {
    const std::string name = file["name"];
    CAPTURE(name);
    const std::string bytes = from_base64(file["bytes"]);
    if (!readable(name)) {
      CHECK(refusal(bytes).find("this build cannot read") == 0);
      continue;
    }
    CHECK(difference(picture_in(bytes), picture(file)) <= file["tolerance"].get<int>());
    ++read;
  }
  CHECK(read >= 6);
}

TEST_CASE("resizing and cropping is Pillow's and torchvision's, to one grey level") {
  std::size_t exact = 0;
  std::size_t total = 0;
  for (const auto& fit : golden()["fits"]) {
    const auto& file = golden()["files"].at(fit["source"].get<std::size_t>());
    CAPTURE(fit["size"].dump());
    CAPTURE(fit["filter"].get<std::string>());
    CAPTURE(fit["crop"].get<bool>());
    const Fit how{fit["size"][0], fit["size"][1], fit["channels"],
                  fit["filter"] == "bilinear" ? Filter::bilinear : Filter::bicubic, fit["crop"]};
    const std::string pixels = from_base64(fit["pixels"]);
    const Image expected{how.height, how.width, how.channels, {pixels.begin(), pixels.end()}};
    const Image ours = fitted(picture(file), how);
    CHECK(difference(ours, expected) <= 1);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      exact += ours.pixels.at(i) == expected.pixels[i] ? 1U : 0U;
    }
    total += pixels.size();
  }
  CHECK(total > 50'000);
  // Where a sum falls between two levels, Pillow's 22-bit weights may round to the other one.
  CHECK(static_cast<double>(exact) > 0.99 * static_cast<double>(total));
}

TEST_CASE("a picture fitted as it is read is the picture read and then fitted") {
  const Folder folder;
  write(folder.file("p"), file_named("large.ppm"));
  const Fit fit{.height = 30, .width = 30, .channels = 1, .filter = Filter::bicubic, .crop = true};
  CHECK(difference(read_image(folder.file("p"), fit), fitted(read_image(folder.file("p")), fit)) ==
        0);
}

TEST_CASE("a picture without all its bytes is refused, whatever is to be done with it") {
  for (const Image& image : {Image{}, Image{4, 4, 3, {1, 2, 3}}, Image{0, 4, 1, {}}}) {
    CHECK_FAILS_WITH(fitted(image, {.height = 2, .width = 2}), "bytes are no picture of");
    CHECK_FAILS_WITH(shrunk(image, 2, 2), "bytes are no picture of");
    CHECK_FAILS_WITH(enlarged(image, 2), "bytes are no picture of");
    CHECK_FAILS_WITH(tiled({image}, 1), "bytes are no picture of");
    std::uint8_t planes = 0;
    CHECK_FAILS_WITH(to_planes(image, &planes), "bytes are no picture of");
  }
}

TEST_CASE("a long thin picture is cropped, not blown up") {
  Image line{1, 60'000, 1, std::vector<std::uint8_t>(60'000, 7)};
  const Image square = fitted(line, {.height = 16, .width = 16, .channels = 3});
  CHECK(square.pixels == std::vector<std::uint8_t>(std::size_t{16} * 16 * 3, 7));
}

TEST_CASE("too large a picture is refused by its header, and what is no picture says so") {
  const std::string rgb = file_named("rgb.ppm");  // 23 x 19
  struct Row {
    std::string bytes, message;
    std::uint64_t max_pixels = usual_max_pixels;
  };
  std::vector<Row> rows{
      {"P5 20000 20000 255\n",
       "20000 x 20000 pixels are more than 100000000; --max-pixels of predict and inspect raises "
       "it"},
      {"P6 65536 1 255\n", "65536 x 1 pixels: sides above 65535 are not read"},
      {"P5 99999999999999999999 1 255\n", "damaged PNM: a number of its header is missing"},
      {"P5 0 3 255\n", "a picture of 0 x 3 pixels"},
      {rgb, "", 19 * 23},
      {rgb, "23 x 19 pixels are more than 436; --max-pixels of predict and inspect raises it", 436},
      {"", "an empty file; PNG, JPEG, PGM and PPM are read"},
      {"GIF89a", "not a picture that is known here; PNG, JPEG, PGM and PPM are read"},
      {"P3 1 1 255 1 2 3", "PNM of kind P3; P5 (PGM) and P6 (PPM) are read"},
      {"P5 1 1 0\n\1", "damaged PNM: a largest value of 0; 1 to 65535 are allowed"},
      {"P5 1 1 7\n\11", "damaged PNM: a value of 9 above its largest, 7"}};
  for (const auto& [by_rows, whole] :
       {std::pair{"rgb.png", "rgb_interlaced.png"}, std::pair{"rgb.jpg", "rgb_progressive.jpg"}}) {
    if (!readable(by_rows)) continue;
    rows.push_back({file_named(by_rows), rows[5].message, 436});
    rows.push_back({file_named(whole),
                    "23 x 19 pixels are more than 250, the limit for interlaced and progressive "
                    "pictures; --max-pixels of predict and inspect raises it",
                    1000});
  }
  if (VITRUVIAN_HAS_JPEG) {
    rows.push_back(
        {from_base64(golden()["cmyk"]), "a JPEG of 4 components (CMYK?); grey and RGB are read"});
  }
  for (const Row& row : rows) CHECK(refusal(row.bytes, row.max_pixels) == row.message);
  const Folder folder;
  CHECK(error_of(Exit::data, [&] { return read_image(folder.path.string()); }) ==
        folder.path.string() + ": expected a file, found a directory");
}

TEST_CASE("every truncation is refused, every flipped bit refused or harmless") {
  for (const char* const name : {"rgb.png", "rgb_interlaced.png", "palette_4.png", "rgb.jpg",
                                 "rgb_progressive.jpg", "grey.jpg", "rgb.ppm", "grey_16.pgm"}) {
    if (!readable(name)) continue;
    CAPTURE(name);
    const std::string good = file_named(name);
    for (std::size_t n = 0; n < good.size(); ++n) {
      CAPTURE(n);
      CHECK(refusal(good.substr(0, n)) != "");
    }
    // A flip in a JPEG's or PNM's samples is another picture; PNG has checksums, but a chunk that
    // says nothing of pixels may change.
    for (std::size_t byte = 0; byte < good.size(); ++byte) {
      std::string bad = good;
      bad[byte] = static_cast<char>(bad[byte] ^ (1 << byte % 8));
      static_cast<void>(refusal(bad, 1'000'000));
    }
  }
}

TEST_CASE("a picture is made smaller in proportion, so that both sides fit") {
  const Image wide{4, 12, 1, std::vector<std::uint8_t>(48, 9)};
  const auto size = [&](std::size_t width, std::size_t height) {
    const Image image = shrunk(wide, width, height);
    CHECK(image.pixels == std::vector<std::uint8_t>(image.height * image.width, 9));
    return std::pair{image.width, image.height};
  };
  CHECK(size(6, 100) == std::pair<std::size_t, std::size_t>{6, 2});
  CHECK(size(100, 2) == std::pair<std::size_t, std::size_t>{6, 2});
  CHECK(size(6, 1) == std::pair<std::size_t, std::size_t>{3, 1});
  CHECK(size(12, 4) == std::pair<std::size_t, std::size_t>{12, 4});
  CHECK(size(1, 4) == std::pair<std::size_t, std::size_t>{1, 1});
}

}  // namespace
}  // namespace vitruvian
