// Weights, pictures and metrics that somebody made on purpose: see tests/apps/attacks.hpp.

#include "tests/apps/attacks.hpp"
#include "tests/json.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/report/run_record.hpp"

namespace vitruvian {
namespace {

// A tensor of a header.
std::string tensor(const std::string& name, const std::string& shape, const std::string& range,
                   const std::string& dtype = "F32") {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype,
                     shape, range);
}

std::string many(std::size_t n, const std::function<std::string(std::size_t)>& one) {
  std::string json = "{";
  for (std::size_t i = 0; i < n; ++i) json += (i == 0 ? "" : ",") + one(i);
  return json + "}";
}

std::string empty_tensor(std::size_t i) { return tensor(std::to_string(i), "0,0,0,0,0", "0,0"); }

TEST_CASE("weights") {
  const std::string good = content(digit_model);
  std::string promised = good;
  REQUIRE(says(good, "\\\"D\\\":64"));
  promised.replace(good.find("\\\"D\\\":64"), 8, "\\\"D\\\":96");
  std::vector<Attack> attacks{
      {"a header that is longer than the file", "cut short", [] { return little(1000, 8) + "{}"; }},
      {"a header of 2^63 bytes", "above 16777216", [] { return little(1ULL << 63U, 8) + "{}"; }},
      {"a header of 17 MB that is there", "above 16777216",
       [] { return bytes_of(std::string(17U << 20U, ' ')); }},
      {"a header behind a space", "does not begin with '{'", [] { return bytes_of(" {}"); }},
      {"another file behind a NUL", "holds a NUL",
       [] { return bytes_of("{}" + std::string(1, '\0') + "MZ a program"); }},
      {"data cut short", "cut short or wrong", [=] { return good.substr(0, good.size() - 1); }},
      {"a million metadata", "more than 65536 names",
       [] {
         const auto one = [](std::size_t i) { return fmt::format(R"("{}":"")", i); };
         return bytes_of(R"({"__metadata__":)" + many(1'000'000, one) + "}");
       }},
      {"a hundred thousand tensors", "more than 65536 names",
       [] { return bytes_of(many(100'000, empty_tensor)); }},
      {"as many tensors as are allowed", "no ViT of",
       [] { return bytes_of(many(65'000, empty_tensor)); }},
      {"a name of 15 MB", "a name has 15000000 characters",
       [] { return bytes_of("{\"" + std::string(15'000'000, 'x') + "\":{}}"); }},
      {"15 million brackets", "does not begin with",
       [] { return bytes_of(std::string(15'000'000, '[')); }},
      {"15 million brackets in a shape", "an array stands in",
       [] { return bytes_of(R"({"a":{"shape":)" + std::string(15'000'000, '[')); }},
      {"a config that does not fit", "'cls_token' is (1, 1, 64), not (1, 1, 96)",
       [=] { return promised; }},
      {"a file of zeros", "does not begin with", [] { return std::string(100'000, '\0'); }},
      {"an empty file", "too few", [] { return std::string(); }},
  };
  // Tensors that cannot be, and the bytes behind them.
  struct Odd {
    const char *name, *message;
    std::string tensors;
    std::size_t bytes;
  };
  const std::vector<Odd> odd{
      {"a shape that wraps to zero", "overflows", tensor("a", "4294967296,4294967296", "0,0"), 0},
      {"100 GB in a shape", "needs 100000000000 bytes but has 0", tensor("a", "25000000000", "0,0"),
       0},
      {"100 GB in a range", "cut short or wrong", tensor("a", "25000000000", "0,100000000000"), 0},
      {"two tensors on the same bytes", "overlap",
       tensor("a", "2", "0,8") + "," + tensor("b", "2", "4,12"), 12},
      {"bytes between tensors", "belong to nobody",
       tensor("a", "1", "0,4") + "," + tensor("b", "1", "8,12"), 12},
      {"a name twice", "comes twice", tensor("a", "", "0,4") + "," + tensor("a", "", "0,4"), 4},
      {"an unknown dtype", "'I63'", tensor("a", "", "0,8", "I63"), 8},
      {"a class token of integers", "it lacks", tensor("cls_token", "", "0,8", "I64"), 8}};
  for (const Odd& o : odd) {
    attacks.push_back(
        {o.name, o.message, [o] { return bytes_of("{" + o.tensors + "}", o.bytes); }});
  }
  for (const Attack& attack : attacks) check(attack, 4, {"predict", digit_model, "--weights"});
  const Attack& unknown_dtype = attacks[attacks.size() - 2];
  check(unknown_dtype, 4, {"convert", "--to", "never.safetensors", "--scheme", "jax", "--from"});
}

#if VITRUVIAN_HAS_LIBZIP
TEST_CASE("weights in .npz") {
  const auto array = [](const std::string& shape, const std::string& bytes,
                        const std::string& type = "<f4") {
    return npy(
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape),
        bytes);
  };
  const std::string bomb =
      zip({{"cls.npy", array("100000000,", std::string(400'000'000, '\0')), true}});
  CHECK(bomb.size() < 500'000);
  const std::string one = array("1,", "abcd");
  std::string damaged = zip({{"cls.npy", one, true}});
  damaged[45] ^= 1;
  const auto only = [](const std::string& bytes) { return zip({{"cls.npy", bytes}}); };
  std::vector<Member> crowd;
  for (int i = 0; i < 30'000; ++i) crowd.push_back({std::to_string(i) + ".npy", one});
  const std::vector<std::pair<const char*, std::string>> attacks{
      {"it lacks", bomb},  // 400 MB in 0.4 MB
      {"packed bytes cannot hold 4000000000", zip({{"cls.npy", one, true, 4'000'000'000}})},
      {"needs 100000000000 bytes", only(array("25000000000,", ""))},
      {"overflows", only(array("4294967296, 4294967296", ""))},
      {"cut short", bomb.substr(0, bomb.size() / 2)},
      {"'cls': ", damaged},
      {"directory of", zip(crowd)},
      {"the name 'cls' comes twice", zip({{"cls.npy", one}, {"cls.npy", one}})},
      {"it lacks", only(array("", std::string(8, 'x'), "<i8"))},
      {"dtype '|O'", only(array("", std::string(8, 'x'), "|O"))}};  // that Python would make
  for (const auto& [message, bytes] : attacks) {
    check({message, message, [&bytes = bytes] { return bytes; }}, 4,
          {"predict", digit_model, "--weights"});
  }
}
#endif

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
  const JsonValue golden = JsonValue::read(VITRUVIAN_TEST_DATA "/golden/pictures.json");
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

TEST_CASE("pictures") {
  std::vector<Attack> attacks{
      {"a PPM that promises 300 MB", "cut short in row 1",
       [] { return std::string("P6 10000 10000 255\nabc"); }},
      {"a PGM of 400 MB", "more than 100000000",
       [] { return std::string("P5 20000 20000 255\n"); }},
      {"a PGM whose sizes overflow", "above 65535",
       [] { return std::string("P5 4294967297 4294967297 255\n"); }},
      {"not a picture", "not a picture", [] { return std::string("GIF89a"); }},
      {"an empty file", "an empty file", [] { return std::string(); }},
  };
  const std::string good = golden_picture("rgb.png");
  std::string damaged = good;
  damaged[good.find("IDAT") + 40] ^= 1;
  attacks.insert(
      attacks.end(),
      {{"a PNG of 400 MB in 0.4 MB", "more than 100000000",
        [=] { return png(20'000, 20'000, 20'000, 0); }},
       {"a PNG of 270 MB, cut", "damaged PNG: ", [=] { return png(9'900, 9'900, 9'000, 2); }},
       {"an interlaced PNG of 240 MB", "interlaced",
        [=] { return png(9'000, 9'000, 1, 2, "", 1); }},
       {"an interlaced PNG of 75 MB, cut",
        "damaged PNG: ", [=] { return png(5'000, 5'000, 10, 2, "", 1); }},
       {"a PNG cut short", "cut short", [=] { return good.substr(0, good.size() - 20); }},
       {"a PNG with a damaged stream", "damaged PNG: ", [=] { return damaged; }},
       {"a PNG of 2^31 pixels a side", "above 65535", [=] { return png(0x7fffffff, 1, 0, 0); }},
       {"256 MB behind 28 rows", "more data than its rows need",
        [=] { return png(28, 28, 9'000'000, 0); }},
       {"50 MB behind 28 rows, packed to less than a row may take",
        "damaged PNG: ", [=] { return png(28, 28, 1'700'000, 0); }},
       {"one row too many", "damaged PNG: ", [=] { return png(28, 28, 29, 0); }},
       {"a second stream behind the first", "more data than its rows need",
        [=] {
          const std::string whole = png(28, 28, 28, 0);
          return whole.substr(0, whole.size() - 12) + chunk("IDAT", std::string(100'000, 'x')) +
                 chunk("IEND", "");
        }},
       {"a colour beyond the palette", "beyond its palette",
        [=] { return png(28, 28, 28, 3, chunk("PLTE", "abcdef"), 0, '\2'); }},
       {"a colour far beyond the palette", "beyond its palette",
        [=] { return png(28, 28, 28, 3, chunk("PLTE", "abcdef"), 0, '\xFF'); }},
       {"an interlaced colour beyond the palette", "beyond its palette",
        [=] { return png(1, 1, 1, 3, chunk("PLTE", "abcdef"), 1, '\2'); }},
       {"a PNG of no pixels", "damaged PNG: ", [=] { return png(0, 1, 0, 0); }},
       {"a chunk of 2 GB",
        "damaged PNG: ", [=] { return good.substr(0, 33) + big_endian(0x7fffffff) + "zTXtx"; }}});
#if VITRUVIAN_HAS_JPEG
  const std::string jpeg = golden_picture("rgb.jpg");
  std::string torn = jpeg;
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(jpeg.size() - 200), torn.end() - 100,
            '\xFF');
  attacks.insert(
      attacks.end(),
      {{"a JPEG cut short", "damaged JPEG: ", [=] { return jpeg.substr(0, jpeg.size() / 2); }},
       {"a JPEG of 65000 x 1500 with the data of a stamp",
        "damaged JPEG: ", [=] { return resized_jpeg("rgb.jpg", 65000, 1500); }},
       {"a JPEG of 64000 x 64000", "more than 100000000",
        [=] { return resized_jpeg("rgb.jpg", 64000, 64000); }},
       {"a progressive JPEG of 290 MB", "progressive",
        [=] { return resized_jpeg("rgb_progressive.jpg", 10000, 9900); }},
       {"a progressive JPEG of 70 MB with the data of a stamp",
        "damaged JPEG: ", [=] { return resized_jpeg("rgb_progressive.jpg", 5000, 4800); }},
       {"a JPEG of four colours", "CMYK", [=] { return golden_picture("cmyk"); }}});
#endif
  for (const Attack& attack : attacks) check(attack, 3, {"predict", "--weights", digit_model});
}

TEST_CASE("a good picture and good weights, for comparison") {
  const Folder folder;
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
  write(folder.path / "p", golden_picture("grey.pgm"));
  const Ending ending = run(folder, {"predict", "--weights", digit_model, folder.file("p")});
  CHECK(ending.exit == 0);
  CHECK(ending.error ==
        "note: " + folder.file("p") +
            " is dark on light; this model learned light digits on black: invert the picture\n");
  MESSAGE("a good prediction takes " << ending.megabytes << " MB");
}

TEST_CASE("metrics of a million keys and of a config of a hundred thousand are read in time") {
  std::string line = "{\"kind\":\"step\",\"step\":1";
  for (int i = 0; i < 200'000; ++i) line += fmt::format(",\"{}\":0", i);
  RunRecord record;
  const std::string text = line + "}\n";
  read_metrics(MemorySource(text, "m", Exit::data), record);
  CHECK(record.steps.size() == 1);

  const Folder folder;
  std::string config = "{\"epochs\":1";
  for (int i = 0; i < 80'000; ++i) config += fmt::format(",\"{}\":0", i);
  write(folder.path / "run/config.json", config + "}");
  CHECK_FAILS_WITH(read_run(folder.file("run")), "config.json: more than 1000 settings");
}

}  // namespace
}  // namespace vitruvian
