// Files that somebody made on purpose, given to the program as a user gives them: each ends in one
// line that names the file and what is wrong, exit 3 (pictures) or 4 (weights), in under 5 s and
// 96 MB, with nothing half-written.

#include "tests/archives.hpp"
#include "tests/base64.hpp"
#include "tests/folder.hpp"
#include "tests/sanitized.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <functional>

namespace vitruvian {
namespace {

struct Ending {
  int exit = -1;
  std::string error;
  double seconds = 0;
  long megabytes = 0;
};

Ending run(const Folder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), VITRUVIAN_PROGRAM);
  const auto begin = std::chrono::steady_clock::now();
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int out = ::open(folder.file("out").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const int err = ::open(folder.file("err").c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::rusage usage = {};
  REQUIRE(::wait4(child, &status, 0, &usage) == child);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          content(folder.file("err")), elapsed.count(), usage.ru_maxrss / 1024};
}

struct Attack {
  std::string name;
  std::function<std::string()> make;  // made when it is used: a child inherits what we hold
  const char* message;                // what the line must say, after the file's name
};

void check(const Attack& attack, int exit, const std::vector<std::string>& before,
           const std::vector<std::string>& after) {
  CAPTURE(attack.name);
  const Folder folder;
  const std::string path = folder.file("attack");
  {
    std::ofstream out(path, std::ios::binary);
    out << attack.make();
    REQUIRE(out);
  }
  std::vector<std::string> arguments = before;
  arguments.push_back(path);
  arguments.insert(arguments.end(), after.begin(), after.end());
  const Ending ending = run(folder, arguments);
  CHECK(ending.exit == exit);
  CAPTURE(ending.error);
  CHECK(std::count(ending.error.begin(), ending.error.end(), '\n') == 1);
  CHECK(ending.error.size() < 2000);
  CHECK(ending.error.find(path + ": ") != std::string::npos);
  CHECK(ending.error.find(attack.message) != std::string::npos);
  if (!sanitized) {
    CHECK(ending.seconds < 5);
    CHECK(ending.megabytes <= 96);
  }
  CHECK(folder.files() == std::vector<std::string>{"attack", "err", "out"});
}

std::string header(const std::string& json, std::size_t data) {
  return little(json.size(), 8) + json + std::string(data, '\0');
}

std::string many(std::size_t n, const std::function<std::string(std::size_t)>& one) {
  std::string json = "{";
  for (std::size_t i = 0; i < n; ++i) json += (i == 0 ? "" : ",") + one(i);
  return json + "}";
}

const std::string digits = std::string(VITRUVIAN_TEST_DATA) + "/../models/digits.safetensors";

TEST_CASE("weights") {
  const std::string good = content(digits);
  const auto at = good.find("\\\"D\\\":64");
  REQUIRE(at != std::string::npos);
  std::string promised = good;
  promised.replace(at, 8, "\\\"D\\\":96");
  const Attack attacks[] = {
      {"a header that is longer than the file", [=] { return little(1000, 8) + "{}"; },
       "cut short"},
      {"a header of 2^63 bytes", [=] { return little(1ULL << 63U, 8) + "{}"; }, "above 16777216"},
      {"a header of 17 MB that is there", [=] { return header(std::string(17U << 20U, ' '), 0); },
       "above 16777216"},
      {"a shape that wraps to zero",
       [=] {
         return header(
             R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0);
       },
       "overflows"},
      {"100 GB in a shape",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[25000000000],"data_offsets":[0,0]}})", 0);
       },
       "needs 100000000000 bytes but has 0"},
      {"100 GB in a range",
       [=] {
         return header(
             R"({"a":{"dtype":"F32","shape":[25000000000],"data_offsets":[0,100000000000]}})", 0);
       },
       "cut short or wrong"},
      {"two tensors on the same bytes",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                       12);
       },
       "overlap"},
      {"bytes between tensors",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                       12);
       },
       "belong to nobody"},
      {"a name twice",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                       4);
       },
       "comes twice"},
      {"an unknown dtype",
       [=] { return header(R"({"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", 8); },
       "'I64'"},
      {"data cut short", [=] { return good.substr(0, good.size() - 1); }, "cut short or wrong"},
      {"a million metadata",
       [=] {
         return header(many(1,
                            [](std::size_t) {
                              return "\"__metadata__\":" + many(1'000'000, [](std::size_t i) {
                                       return '"' + std::to_string(i) + "\":\"\"";
                                     });
                            }),
                       0);
       },
       "more than 65536 names"},
      {"a hundred thousand tensors",
       [=] {
         return header(
             many(100'000,
                  [](std::size_t i) {
                    return '"' + std::to_string(i) +
                           R"(":{"dtype":"F32","shape":[0,0,0,0,0],"data_offsets":[0,0]})";
                  }),
             0);
       },
       "more than 65536 names"},
      {"as many tensors as are allowed",
       [=] {
         return header(
             many(65'000,
                  [](std::size_t i) {
                    return '"' + std::to_string(i) +
                           R"(":{"dtype":"F32","shape":[0,0,0,0,0],"data_offsets":[0,0]})";
                  }),
             0);
       },
       "no ViT of"},
      {"a name of 15 MB",
       [=] { return header("{\"" + std::string(15'000'000, 'x') + "\":{}}", 0); },
       "a name has 15000000 characters"},
      {"15 million brackets", [=] { return header(std::string(15'000'000, '['), 0); },
       "an array stands where an object was expected"},
      {"15 million brackets in a shape",
       [=] { return header(R"({"a":{"shape":)" + std::string(15'000'000, '['), 0); },
       "an array stands in"},
      {"a config that does not fit", [=] { return promised; }, ""},
      {"a file of zeros", [=] { return std::string(100'000, '\0'); }, "not valid JSON"},
      {"an empty file", [=] { return std::string(""); }, "too few"},
  };
  for (const Attack& attack : attacks) {
    check(attack, 4, {"predict", digits, "--weights"}, {});
  }
  check(attacks[10], 4, {"convert", "--to", "/dev/null/nowhere", "--scheme", "jax", "--from"}, {});
}

#if VITRUVIAN_HAS_LIBZIP
TEST_CASE("weights in .npz") {
  const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  const std::string bomb =
      zip({{"cls.npy", npy(start + "(100000000,), }", std::string(400'000'000, '\0')), true}});
  CHECK(bomb.size() < 500'000);
  const std::string one = npy(start + "(1,), }", "abcd");
  std::string damaged = zip({{"cls.npy", one, true}});
  damaged[45] ^= 1;
  const Attack attacks[] = {
      {"400 MB in 0.4 MB", [=] { return bomb; }, "it lacks"},
      {"4 GB promised by 20 bytes",
       [=] {
         return zip({{"cls.npy", one, true, 4'000'000'000}});
       },
       "packed bytes cannot hold 4000000000"},
      {"100 GB in a shape",
       [=] {
         return zip({{"cls.npy", npy(start + "(25000000000,), }", "")}});
       },
       "needs 100000000000 bytes"},
      {"a shape that wraps to zero",
       [=] {
         return zip({{"cls.npy", npy(start + "(4294967296, 4294967296), }", "")}});
       },
       "overflows"},
      {"cut short", [=] { return bomb.substr(0, bomb.size() / 2); }, "cut short"},
      {"damaged", [=] { return damaged; }, "'cls': "},
      {"a crowd",
       [=] {
         std::vector<Member> crowd;
         for (int i = 0; i < 30'000; ++i) crowd.push_back({std::to_string(i) + ".npy", one});
         return zip(crowd);
       },
       "directory of"},
      {"a name twice",
       [=] {
         return zip({{"cls.npy", one}, {"cls.npy", one}});
       },
       ""},
      {"integers",
       [=] {
         return zip({{"cls.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
                                     std::string(8, 'x'))}});
       },
       "dtype '<i8'"},
  };
  for (const Attack& attack : attacks) {
    check(attack, 4, {"predict", digits, "--weights"}, {});
  }
}
#endif

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

// A PNG of one value; only so many of its rows are there.
[[maybe_unused]] std::string png(std::uint64_t width, std::uint64_t height, std::uint64_t rows,
                                 char colour, const std::string& extra = "", char interlace = 0) {
  const std::size_t channels = colour == 2 ? 3 : 1;
  const std::string row(1 + static_cast<std::size_t>(width) * channels, '\0');
  std::string data(1'000'000, '\0');
  z_stream stream{};
  REQUIRE(deflateInit(&stream, 6) == Z_OK);
  stream.next_out = reinterpret_cast<Bytef*>(data.data());
  stream.avail_out = static_cast<uInt>(data.size());
  for (std::uint64_t y = 0; y < rows; ++y) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(row.data()));
    stream.avail_in = static_cast<uInt>(row.size());
    REQUIRE(deflate(&stream, Z_NO_FLUSH) == Z_OK);
  }
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  data.resize(stream.total_out);
  deflateEnd(&stream);
  const std::string head =
      big_endian(width) + big_endian(height) + '\x08' + colour + std::string(2, '\0') + interlace;
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + extra + chunk("IDAT", data) +
         chunk("IEND", "");
}

std::string golden_picture(const std::string& name) {
  std::ifstream file(std::string(VITRUVIAN_TEST_DATA) + "/golden/pictures.json");
  const auto golden = nlohmann::json::parse(file);
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
    check(attack, 3, {"predict", "--weights", digits}, {});
  }
}

TEST_CASE("a good picture and good weights, for comparison") {
  const Folder folder;
  std::ofstream(folder.file("p"), std::ios::binary) << golden_picture("grey.pgm");
  const Ending ending = run(folder, {"predict", "--weights", digits, folder.file("p")});
  CHECK(ending.exit == 0);
  CHECK(ending.error.empty());
  MESSAGE("a good prediction takes " << ending.megabytes << " MB");
}

}  // namespace
}  // namespace vitruvian
