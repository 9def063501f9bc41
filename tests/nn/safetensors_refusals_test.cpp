// Files of weights that are wrong: each is refused in one clear line.

#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/nn/safetensors.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

Failure parse_failure(const std::string& bytes) {
  return failure_of([&] { static_cast<void>(parse_safetensors(bytes, "f")); });
}

TEST_CASE("malformed files are refused in one line that says why") {
  struct Row {
    std::string bytes;
    const char* message;
  };
  const std::string x4 = R"("x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const Row rows[] = {
      {"", "f: 0 bytes are too few for a safetensors file"},
      {std::string("\x02\0\0", 3), "f: 3 bytes are too few for a safetensors file"},
      {std::string("\x40\0\0\0\0\0\0\0{}", 10),
       "f: its header has 64 bytes, but only 2 follow: the file is cut short"},
      {std::string(16, '\xFF'),
       "f: it promises a header of 18446744073709551615 bytes, above 16777216: not a safetensors "
       "file?"},
      {bytes_of("", 0), "f: its header does not begin with '{'"},
      {bytes_of("[]", 0), "f: its header does not begin with '{'"},
      {bytes_of(" {" + x4 + "}", 4), "f: its header does not begin with '{'"},
      {bytes_of("{" + x4 + "}\n", 4), "f: its header is padded with more than spaces"},
      {bytes_of("{" + x4 + "}" + std::string(1, '\0') + "anything", 4),
       "f: its header holds a NUL"},
      {bytes_of("{" + x4 + "}" + std::string(7, '\0'), 4), "f: its header holds a NUL"},
      {bytes_of("{", 0), "f: in its header, it is not valid JSON at byte 2"},
      {bytes_of("{} {}", 0), "f: in its header, it is not valid JSON at byte 4"},
      {bytes_of("{\"\xFF\":1}", 0), "f: in its header, it is not valid JSON at byte 3"},
      {bytes_of("{" + x4 + "," + x4 + "}", 4), "f: in its header, the name 'x' comes twice"},
      {bytes_of(R"({"x":3})", 0),
       "f: in its header, a number stands in 'x' where none was expected"},
      {bytes_of(R"({"x":{"dtype":"F32","dtype":"F64","shape":[1],"data_offsets":[0,4]}})", 4),
       "f: in its header, 'x' has two 'dtype'"},
      {bytes_of(R"({"x":{"dtype":"I7","shape":[1],"data_offsets":[0,4]}})", 4),
       "f: in its header, 'x' has dtype 'I7', which the format does not have"},
      {bytes_of(R"({"x":{"dtype":"I64","shape":[1],"data_offsets":[0,4]}})", 4),
       "f: 'x' of shape (1) needs 8 bytes but has 4"},
      {bytes_of(R"({"x":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2),
       "f: 'x': its shape (3,) does not end with a byte"},
      {bytes_of(R"({"x":{"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,0]}})", 0),
       "f: 'x': its shape (1152921504606846976,) overflows"},
      {bytes_of(R"({"x":{"shape":[1],"data_offsets":[0,4]}})", 4),
       "f: in its header, 'x' has no dtype"},
      {bytes_of(R"({"x":{"dtype":"F32","data_offsets":[0,4]}})", 4),
       "f: in its header, 'x' has no shape"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[1]}})", 4),
       "f: in its header, 'x' has no data_offsets [begin, end]"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4]}})", 4),
       "f: in its header, 'x' has no data_offsets [begin, end]"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
       "f: in its header, a negative number stands in 'x' where none was expected"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4),
       "f: in its header, a number that is not whole, or too large stands in 'x' where none was "
       "expected"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4),
       "f: in its header, an array stands in 'x' where none was expected"},
      {bytes_of(
           R"({"x":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})",
           4),
       "f: in its header, 'x' has more than 16 axes"},
      {bytes_of(R"({"__metadata__":{"a":1}})", 0),
       "f: in its header, __metadata__ holds a number, not only strings"},
      {bytes_of(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
       "f: in its header, the __metadata__ 'a' comes twice"},
      {bytes_of(R"({"x\ny":{}})", 0), "f: in its header, a name holds the control character 0x0a"},
      {bytes_of("{\"" + std::string(1001, 'x') + "\":{}}", 0),
       "f: in its header, a name has 1001 characters; 1000 are allowed"},
      {bytes_of(R"({"x":{"dtype":"F3\u0000"}})", 0),
       "f: in its header, a dtype holds the control character 0x00"},
      {bytes_of("{" + x4 + "}", 3),
       "f: 'x' lies at bytes [0, 4) of 3: the file is cut short or wrong"},
      {bytes_of("{" + x4 + "}", 5), "f: the last 1 bytes belong to nobody"},
      {bytes_of("{}", 5), "f: the last 5 bytes belong to nobody"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
       "f: 'x' lies at bytes [4, 0) of 4: the file is cut short or wrong"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
       "f: 'x' of shape (2) needs 8 bytes but has 4"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
       "f: 'x': its shape (4294967296, 4294967296) overflows"},
      {bytes_of(R"({"x":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})",
                0),
       "f: 'x': its shape (0, 4294967296, 4294967296) overflows"},
      {bytes_of("{" + x4 + R"(,"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
       "f: 'x' and 'y' overlap"},
      {bytes_of("{" + x4 + R"(,"y":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12),
       "f: bytes [4, 8) before 'y' belong to nobody"},
  };
  for (const Row& row : rows) {
    const Failure failure = parse_failure(row.bytes);
    CHECK(failure.message == row.message);
    CHECK(failure.exit == Exit::checkpoint);
  }
}

TEST_CASE("tensors of other types are listed, and refused when somebody asks for their numbers") {
  const float one = 1;
  std::string bytes = bytes_of(R"({"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                               R"("b":{"dtype":"BOOL","shape":[4],"data_offsets":[16,20]},)"
                               R"("c":{"dtype":"F6_E2M3","shape":[2,2],"data_offsets":[20,23]},)"
                               R"("x":{"dtype":"F32","shape":[1],"data_offsets":[23,27]}})",
                               23);
  bytes.append(reinterpret_cast<const char*>(&one), sizeof one);
  const TensorFile file = parse_safetensors(bytes, "f");
  REQUIRE(file.tensors.size() == 4);
  CHECK(file.at("x").values() == std::vector<double>{1});
  CHECK(file.at("a").dtype == Dtype::other);
  CHECK(file.at("a").shape == std::vector<std::size_t>{2});
  for (const auto& [name, type] : {std::pair{"a", "I64"}, {"b", "BOOL"}, {"c", "F6_E2M3"}}) {
    const StoredTensor& t = file.at(name);
    const std::string expected = fmt::format(
        "f: '{}' has dtype '{}'; float64, float32, float16 and bfloat16 are read", name, type);
    CHECK_SAYS(t.read(), expected);
    CHECK_SAYS(t.values(), expected);
  }
  const Tensor a(zeros({2}));
  TensorFile only = file;
  only.tensors.resize(1);
  CHECK_SAYS(load({{"a", Role::weight, a}}, only), "f: 'a' holds no floating-point numbers");
}

TEST_CASE("every truncation and every flipped bit of a file is refused or harmless") {
  const Folder folder;
  save(Linear(2, 2, Rng(1)), folder.file("m"), {{"k", "v"}});
  const std::string good = content(folder.file("m"));
  for (std::size_t n = 0; n < good.size(); ++n) {
    CHECK(parse_failure(good.substr(0, n)).exit == Exit::checkpoint);
  }
  const std::size_t data = 6 * sizeof(real);
  for (std::size_t bit = 0; bit < 8 * (good.size() - data); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    // A flip in a name or a string may leave a good file of something else; nothing may crash, and
    // what is read has as many bytes as the file.
    try {
      std::size_t total = 0;
      for (const StoredTensor& t : parse_safetensors(bad, "f").tensors) total += t.read().size();
      CHECK(total == data);
    } catch (const Error& error) {
      CHECK(error.exit() == Exit::checkpoint);
    }
  }
}

TEST_CASE("a file that cannot be read says so") {
  const Folder folder;
  const auto reading = [&](const std::string& path) {
    return failure_of([&] { static_cast<void>(read_safetensors(path)); });
  };
  CHECK(reading(folder.file("absent")).message ==
        folder.file("absent") + ": there is no such file");
  CHECK(reading(folder.path.string()).message ==
        folder.path.string() + ": expected a file, found a directory");
  CHECK(reading("/dev/zero").message == "/dev/zero: expected a regular file, found something else");
  CHECK(reading("/dev/zero").exit == Exit::checkpoint);
}

}  // namespace
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
