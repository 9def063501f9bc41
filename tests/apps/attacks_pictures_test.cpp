// Pictures that somebody made on purpose: see tests/apps/attacks.hpp.

#include "tests/apps/attacks.hpp"
#include "tests/json.hpp"
#include "tests/nn/archives.hpp"

#include <algorithm>
#include <fstream>
#include <ios>

namespace vitruvian {
namespace {

std::string big_endian(std::uint64_t n) {
  std::string text = little(n, 4);
  return {text.rbegin(), text.rend()};
}

std::string chunk(const std::string& kind, const std::string& data) {
  const std::string body = kind + data;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(data.size()) + body + big_endian(crc);
}

// A PNG of one value; so many of its rows are there, which may be fewer or more than it says.
[[maybe_unused]] std::string png(std::uint64_t width, std::uint64_t height, std::uint64_t rows,
                                 char colour, const std::string& extra = "", char interlace = 0,
                                 char value = '\0') {
  const std::size_t channels = colour == 2 ? 3 : 1;
  const std::string row = '\0' + std::string(static_cast<std::size_t>(width) * channels, value);
  std::string data(1'000'000, '\0');
  z_stream stream{};
  REQUIRE(deflateInit(&stream, 6) == Z_OK);
  stream.next_out = reinterpret_cast<Bytef*>(data.data());
  stream.avail_out = static_cast<uInt>(data.size());
  bool good = true;
  for (std::uint64_t y = 0; y < rows; ++y) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(row.data()));
    stream.avail_in = static_cast<uInt>(row.size());
    good = good && deflate(&stream, Z_NO_FLUSH) == Z_OK;
  }
  REQUIRE(good);
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  data.resize(stream.total_out);
  deflateEnd(&stream);
  const std::string head =
      big_endian(width) + big_endian(height) + '\x08' + colour + std::string(2, '\0') + interlace;
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + extra + chunk("IDAT", data) +
         chunk("IEND", "");
}

std::string golden_picture(const std::string& name) {
  const Json golden = Json::read(VITRUVIAN_TEST_DATA "/golden/pictures.json");
  if (name == "cmyk") return from_base64(golden["cmyk"]);
  for (const auto& picture : golden["files"]) {
    if (picture["name"] == name) return from_base64(picture["bytes"]);
  }
  FAIL(name);
  return "";
}

// A JPEG whose frame header states another size.
[[maybe_unused]] std::string resized_jpeg(const std::string& name, std::size_t height,
                                          std::size_t width) {
  std::string bytes = golden_picture(name);
  std::size_t at = bytes.find("\xFF\xC0");
  if (at == std::string::npos) at = bytes.find("\xFF\xC2");
  REQUIRE(at != std::string::npos);
  const std::string size = big_endian(height << 16U | width);
  return bytes.replace(at + 5, 4, size);
}

std::vector<Attack> picture_attacks() {
  std::vector<Attack> attacks{
      {"a PPM that promises 300 MB", [=] { return std::string("P6 10000 10000 255\nabc"); },
       "cut short in row 1"},
      {"a PGM of 400 MB", [=] { return std::string("P5 20000 20000 255\n"); },
       "more than 100000000"},
      {"a PGM whose sizes overflow", [=] { return std::string("P5 4294967297 4294967297 255\n"); },
       "above 65535"},
      {"not a picture", [=] { return std::string("GIF89a"); }, "not a picture"},
      {"an empty file", [=] { return std::string(""); }, "an empty file"},
  };
#if VITRUVIAN_HAS_PNG
  const std::string good = golden_picture("rgb.png");
  std::string damaged = good;
  damaged[good.find("IDAT") + 40] ^= 1;
  attacks.insert(
      attacks.end(),
      {{"a PNG of 400 MB in 0.4 MB", [=] { return png(20'000, 20'000, 20'000, 0); },
        "more than 100000000"},
       {"a PNG of 270 MB, cut", [=] { return png(9'900, 9'900, 9'000, 2); }, "damaged PNG: "},
       {"an interlaced PNG of 240 MB", [=] { return png(9'000, 9'000, 1, 2, "", 1); },
        "interlaced"},
       {"an interlaced PNG of 75 MB, cut", [=] { return png(5'000, 5'000, 10, 2, "", 1); },
        "damaged PNG: "},
       {"a PNG cut short", [=] { return good.substr(0, good.size() - 20); }, "cut short"},
       {"a PNG with a damaged stream", [=] { return damaged; }, "damaged PNG: "},
       {"a PNG of 2^31 pixels a side", [=] { return png(0x7fffffff, 1, 0, 0); }, "above 65535"},
       {"256 MB behind 28 rows", [=] { return png(28, 28, 9'000'000, 0); },
        "more data than its rows need"},
       {"50 MB behind 28 rows, packed to less than a row may take",
        [=] { return png(28, 28, 1'700'000, 0); }, "damaged PNG: "},
       {"one row too many", [=] { return png(28, 28, 29, 0); }, "damaged PNG: "},
       {"a second stream behind the first",
        [=] {
          const std::string whole = png(28, 28, 28, 0);
          return whole.substr(0, whole.size() - 12) + chunk("IDAT", std::string(100'000, 'x')) +
                 chunk("IEND", "");
        },
        "more data than its rows need"},
       {"a colour beyond the palette",
        [=] { return png(28, 28, 28, 3, chunk("PLTE", "abcdef"), 0, '\2'); }, "beyond its palette"},
       {"a colour far beyond the palette",
        [=] { return png(28, 28, 28, 3, chunk("PLTE", "abcdef"), 0, '\xFF'); },
        "beyond its palette"},
       {"an interlaced colour beyond the palette",
        [=] { return png(1, 1, 1, 3, chunk("PLTE", "abcdef"), 1, '\2'); }, "beyond its palette"},
       {"a PNG of no pixels", [=] { return png(0, 1, 0, 0); }, "damaged PNG: "},
       {"a chunk of 2 GB", [=] { return good.substr(0, 33) + big_endian(0x7fffffff) + "zTXtx"; },
        "damaged PNG: "}});
#endif
#if VITRUVIAN_HAS_JPEG
  const std::string jpeg = golden_picture("rgb.jpg");
  std::string torn = jpeg;
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(jpeg.size() - 200), torn.end() - 100,
            '\xFF');
  attacks.insert(
      attacks.end(),
      {{"a JPEG cut short", [=] { return jpeg.substr(0, jpeg.size() / 2); }, "damaged JPEG: "},
       {"a JPEG of 65000 x 1500 with the data of a stamp",
        [=] { return resized_jpeg("rgb.jpg", 65000, 1500); }, "damaged JPEG: "},
       {"a JPEG of 64000 x 64000", [=] { return resized_jpeg("rgb.jpg", 64000, 64000); },
        "more than 100000000"},
       {"a progressive JPEG of 290 MB",
        [=] { return resized_jpeg("rgb_progressive.jpg", 10000, 9900); }, "progressive"},
       {"a progressive JPEG of 70 MB with the data of a stamp",
        [=] { return resized_jpeg("rgb_progressive.jpg", 5000, 4800); }, "damaged JPEG: "},
       {"a JPEG of four colours", [=] { return golden_picture("cmyk"); }, "CMYK"}});
#endif
  return attacks;
}

TEST_CASE("pictures") {
  for (const Attack& attack : picture_attacks()) {
    check(attack, 3, {"predict", "--weights", digit_model}, {});
  }
}

TEST_CASE("a good picture and good weights, for comparison") {
  const Folder folder;
#if VITRUVIAN_HAS_PNG
  // The last of a palette's colours, and data in pieces of which the last hold only the checksum.
  const std::string whole = png(28, 28, 28, 3, chunk("PLTE", "abcdef"), 0, '\1');
  const std::size_t data = whole.find("IDAT") + 4;
  std::string pieces = whole.substr(0, data - 8);
  const std::string packed = whole.substr(data, whole.size() - data - 16);
  for (const char c : packed) pieces += chunk("IDAT", std::string(1, c));
  pieces += chunk("IDAT", "") + chunk("tEXt", "a note") + chunk("IEND", "");
  for (const std::string& bytes : {whole, pieces}) {
    write(folder.path / "p", bytes);
    const Ending seen = run(folder, {"predict", "--weights", digit_model, folder.file("p")});
    CAPTURE(seen.error);
    CHECK(seen.exit == 0);
  }
  std::filesystem::remove(folder.path / "p");
#endif
  std::ofstream(folder.file("p"), std::ios::binary) << golden_picture("grey.pgm");
  const Ending ending = run(folder, {"predict", "--weights", digit_model, folder.file("p")});
  CHECK(ending.exit == 0);
  CHECK(ending.error.empty());
  MESSAGE("a good prediction takes " << ending.megabytes << " MB");
}

}  // namespace
}  // namespace vitruvian
