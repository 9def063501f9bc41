// Weights in a file: what is written comes back, what is wrong is refused in one clear line.

#include "vitruvian/nn/safetensors.hpp"
#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/layers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

TEST_CASE("what is saved comes back, bit for bit") {
  const Folder folder;
  const Mlp model(3, 5, Rng(1));
  {
    const WriteGuard w = model.fc1.weight.tensor().mutable_value();
    w->data()[0] = std::numeric_limits<real>::quiet_NaN();
    w->data()[1] = -real{0};
    w->data()[2] = std::numeric_limits<real>::denorm_min();
  }
  const Metadata metadata{{"note", "\"quoted\", \xC3\xA9 and\nlines"}, {"empty", ""}};
  save(model, folder.file("m.safetensors"), metadata);

  const Mlp other(3, 5, Rng(2));
  CHECK(load(other, folder.file("m.safetensors")) == metadata);
  const auto a = named_parameters(model);
  const auto b = named_parameters(other);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].name);
    const Array& x = a[i].tensor.value();
    CHECK(std::memcmp(x.data(), b[i].tensor.value().data(), x.size() * sizeof(real)) == 0);
  }
  CHECK(folder.files() == std::vector<std::string>{"m.safetensors"});
}

TEST_CASE("the bytes are those of the format, and the same every time") {
  const Folder folder;
  const std::vector<NamedParameter> parameters{{"b", Role::bias, Tensor(array({2}, {1, 2}), true)},
                                               {"a", Role::weight, Tensor(array({1, 0}, {}), true)},
                                               {"c", Role::bias, Tensor(scalar(real{3}), true)}};
  save(parameters, folder.file("1"), {{"k", "v"}});
  const std::vector<NamedParameter> reversed(parameters.rbegin(), parameters.rend());
  save(reversed, folder.file("2"), {{"k", "v"}});
  const std::string bytes = content(folder.file("1"));
  CHECK(bytes == content(folder.file("2")));

  const std::size_t w = sizeof(real);
  const std::string type = w == 4 ? "F32" : "F64";
  std::string header = fmt::format(
      R"({{"__metadata__":{{"k":"v"}},"a":{{"data_offsets":[0,0],"dtype":"{0}","shape":[1,0]}},)"
      R"("b":{{"data_offsets":[0,{1}],"dtype":"{0}","shape":[2]}},)"
      R"("c":{{"data_offsets":[{1},{2}],"dtype":"{0}","shape":[]}}}})",
      type, 2 * w, 3 * w);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  CHECK(length == header.size());
  CHECK(bytes.substr(8, length) == header);
  CHECK(bytes.size() == 8 + length + 3 * w);
  real last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - w, w);
  CHECK(last == 3);
}

TEST_CASE("either precision is read") {
  std::string bytes = bytes_of(R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})", 0) +
                      bytes_of<double>({0.1, -2.5});
  const TensorFile file = parse_safetensors(bytes, "f");
  const Tensor x(zeros({2}), true);
  load({{"x", Role::weight, x}}, file);
  CHECK(x.value().data()[0] == static_cast<real>(0.1));
  CHECK(file.at("x").values()[1] == -2.5);
  CHECK_SAYS(file.at("xx"), "f: it has no tensor 'xx'; the nearest is 'x'");

  bytes = bytes_of(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )", 0) +
          bytes_of<float>({0.1F});
  CHECK(parse_safetensors(bytes, "f").at("x").values()[0] == static_cast<double>(0.1F));
}

// Counts what is read of it.
class Counted final : public ByteSource {
 public:
  explicit Counted(const std::string& bytes)
      : ByteSource("f", Exit::checkpoint), memory_(bytes, "f", Exit::checkpoint) {
    set_size(bytes.size());
  }
  mutable std::uint64_t bytes_read = 0;

 private:
  void read(std::uint64_t offset, std::span<char> out) const override {
    bytes_read += out.size();
    memory_.read_at(offset, out);
  }
  MemorySource memory_;
};

TEST_CASE("opening a file reads its header, and asking for a tensor that tensor") {
  const std::string bytes =
      bytes_of(R"({"a":{"dtype":"F32","shape":[1000],"data_offsets":[0,4000]},)"
               R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4000,4008]}})",
               4008);
  const auto counted = std::make_shared<const Counted>(bytes);
  const TensorFile file = read_tensor_file(counted);
  CHECK(counted->bytes_read == 4 + bytes.size() - 4008);  // 4 to see that it is no archive
  static_cast<void>(file.at("b").read());
  CHECK(counted->bytes_read == 12 + bytes.size() - 4008);
}

TEST_CASE("half precision is read as the float32 that it is") {
  const auto read = [](const char* dtype, const std::vector<std::uint16_t>& halves) {
    const std::string header =
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", dtype,
                    halves.size(), 2 * halves.size());
    const std::string bytes = bytes_of(header, 0) + bytes_of(halves);
    const StoredTensor x = parse_safetensors(bytes, "f").at("x");
    CHECK(x.dtype == Dtype::f32);
    return x.values();
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // IEEE 754 binary16: 1, -2, 2^-24 (the smallest), 65504 (the largest), infinity, 1/3, -0.
  const std::vector<double> halves =
      read("F16", {0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00, 0x3555, 0x8000});
  CHECK(halves == std::vector<double>{1, -2, 0x1p-24, 65504, infinity, 0x1.554p-2, -0.0});
  CHECK(std::signbit(halves[6]));
  CHECK(std::isnan(read("F16", {0x7E01})[0]));
  CHECK(read("BF16", {0x3F80, 0xBF00, 0x7F80, 0x0001}) ==
        std::vector<double>{1, -0.5, infinity, 0x1p-133});
}

TEST_CASE("what the format allows is accepted: no axes, no numbers, padding, any order") {
  const std::string bytes =
      bytes_of(R"({"z":{"data_offsets":[0,4],"shape":[],"dtype":"F32"},"__metadata__":{},)"
               R"("e":{"dtype":"F16","shape":[0,7],"data_offsets":[4,4]},)"
               R"("a":{"dtype":"F64","shape":[1,1],"data_offsets":[4,12]}}      )",
               0) +
      bytes_of<float>({2}) + bytes_of<double>({3});
  const TensorFile file = parse_safetensors(bytes, "f");
  CHECK(file.tensors.size() == 3);
  CHECK(file.size() == 2);
  CHECK(file.at("z").shape.empty());
  CHECK(file.at("z").values() == std::vector<double>{2});
  CHECK(file.at("e").values().empty());
  CHECK(file.at("a").values() == std::vector<double>{3});
}

TEST_CASE("views of stored tensors: permuted, cut, joined") {
  const StoredTensor t = stored("t", {2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(permuted(t, {1, 0}).shape == std::vector<std::size_t>{3, 2});
  CHECK(permuted(t, {1, 0}).values() == std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK(permuted(permuted(reshaped(t, {1, 2, 3}), {2, 0, 1}), {1, 2, 0}).values() == t.values());
  CHECK(rows(t, 1, 2).values() == std::vector<double>{3, 4, 5});
  const StoredTensor both = concatenated({rows(t, 1, 2), rows(t, 0, 1)});
  CHECK(both.shape == t.shape);
  CHECK(both.values() == std::vector<double>{3, 4, 5, 0, 1, 2});
}

TEST_CASE("a model takes exactly its own tensors, and is left alone otherwise") {
  const Folder folder;
  const std::string path = folder.file("m");
  save(Linear(3, 2, Rng(1)), path);
  const auto loading = [&](const auto& model) {
    const Array before = named_parameters(model)[0].tensor.value();
    const Failure failure = failure_of([&] { static_cast<void>(load(model, path)); });
    CHECK(failure.exit == Exit::checkpoint);
    CHECK(named_parameters(model)[0].tensor.value() == before);
    return failure.message;
  };
  CHECK(loading(Linear(3, 2, Rng(2), false)) ==
        path + ": it has 'bias', which the model does not know");
  CHECK(loading(Linear(2, 3, Rng(2))) ==
        path + ": 'weight' is (2, 3), not (3, 2), 'bias' is (2,), not (3,)");
  CHECK(loading(Mlp(3, 2, Rng(2))) ==
        path + ": it lacks 'fc1.weight', 'fc1.bias', 'fc2.weight' and 1 more");
}

// --- what is wrong -----------------------------------------------------------------------------

Failure parse_failure(const std::string& bytes) {
  return failure_of([&] { static_cast<void>(parse_safetensors(bytes, "f")); });
}

TEST_CASE("malformed files are refused in one line that says why") {
  const auto refused = [](const std::string& bytes, const std::string& message) {
    const Failure failure = parse_failure(bytes);
    CHECK(failure.message == "f: " + message);
    CHECK(failure.exit == Exit::checkpoint);
  };
  refused("", "0 bytes are too few for a safetensors file");
  refused(std::string("\x02\0\0", 3), "3 bytes are too few for a safetensors file");
  refused(std::string("\x40\0\0\0\0\0\0\0{}", 10),
          "its header has 64 bytes, but only 2 follow: the file is cut short");
  refused(std::string(16, '\xFF'),
          "it promises a header of 18446744073709551615 bytes, above 16777216: not a safetensors "
          "file?");
  const auto x = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"x":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  const auto and_y = [](std::string header, const char* offsets) {
    header.pop_back();
    return header +
           fmt::format(R"(,"y":{{"dtype":"F32","shape":[1],"data_offsets":{}}}}})", offsets);
  };
  const std::string good = x("F32", "[1]", "[0,4]");
  struct Row {
    std::string header;
    std::size_t data;  // bytes behind it
    const char* message;
  };
  const Row rows[] = {
      {"", 0, "its header does not begin with '{'"},
      {"[]", 0, "its header does not begin with '{'"},
      {" " + good, 4, "its header does not begin with '{'"},
      {good + "\n", 4, "its header is padded with more than spaces"},
      {good + std::string(1, '\0') + "anything", 4, "its header holds a NUL"},
      {good + std::string(7, '\0'), 4, "its header holds a NUL"},
      {good, 3, "'x' lies at bytes [0, 4) of 3: the file is cut short or wrong"},
      {good, 5, "the last 1 bytes belong to nobody"},
      {"{}", 5, "the last 5 bytes belong to nobody"},
      {x("F32", "[1]", "[4,0]"), 4,
       "'x' lies at bytes [4, 0) of 4: the file is cut short or wrong"},
      {x("F32", "[2]", "[0,4]"), 4, "'x' of shape (2) needs 8 bytes but has 4"},
      {x("I64", "[1]", "[0,4]"), 4, "'x' of shape (1) needs 8 bytes but has 4"},
      {x("F4", "[3]", "[0,2]"), 2, "'x': its shape (3,) does not end with a byte"},
      {x("F64", "[1152921504606846976]", "[0,0]"), 0,
       "'x': its shape (1152921504606846976,) overflows"},
      {x("F32", "[4294967296,4294967296]", "[0,0]"), 0,
       "'x': its shape (4294967296, 4294967296) overflows"},
      {x("F32", "[0,4294967296,4294967296]", "[0,0]"), 0,
       "'x': its shape (0, 4294967296, 4294967296) overflows"},
      {and_y(good, "[0,4]"), 4, "'x' and 'y' overlap"},
      {and_y(good, "[8,12]"), 12, "bytes [4, 8) before 'y' belong to nobody"},
  };
  for (const Row& row : rows) refused(bytes_of(row.header, row.data), row.message);
  const std::pair<std::string, const char*> entries[] = {
      {"{", "it is not valid JSON at byte 2"},
      {"{} {}", "it is not valid JSON at byte 4"},
      {"{\"\xFF\":1}", "it is not valid JSON at byte 3"},
      {good.substr(0, good.size() - 1) + "," + good.substr(1), "the name 'x' comes twice"},
      {R"({"x":3})", "a number stands in 'x' where none was expected"},
      {R"({"x":{"dtype":"F32","dtype":"F64","shape":[1],"data_offsets":[0,4]}})",
       "'x' has two 'dtype'"},
      {x("I7", "[1]", "[0,4]"), "'x' has dtype 'I7', which the format does not have"},
      {R"({"x":{"shape":[1],"data_offsets":[0,4]}})", "'x' has no dtype"},
      {R"({"x":{"dtype":"F32","data_offsets":[0,4]}})", "'x' has no shape"},
      {R"({"x":{"dtype":"F32","shape":[1]}})", "'x' has no data_offsets [begin, end]"},
      {x("F32", "[1]", "[4]"), "'x' has no data_offsets [begin, end]"},
      {x("F32", "[-1]", "[0,4]"), "a negative number stands in 'x' where none was expected"},
      {x("F32", "[1.0]", "[0,4]"),
       "a number that is not whole, or too large stands in 'x' where none was expected"},
      {x("F32", "[[1]]", "[0,4]"), "an array stands in 'x' where none was expected"},
      {x("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), "'x' has more than 16 axes"},
      {R"({"__metadata__":{"a":1}})", "__metadata__ holds a number, not only strings"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "the __metadata__ 'a' comes twice"},
      {R"({"x\ny":{}})", "a name holds the control character 0x0a"},
      {"{\"" + std::string(1001, 'x') + "\":{}}", "a name has 1001 characters; 1000 are allowed"},
      {R"({"x":{"dtype":"F3\u0000"}})", "a dtype holds the control character 0x00"},
  };
  for (const auto& [header, message] : entries) {
    refused(bytes_of(header, 4), std::string("in its header, ") + message);
  }
}

TEST_CASE("tensors of other types are listed, and refused when somebody asks for their numbers") {
  const std::string bytes =
      bytes_of(R"({"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
               R"("b":{"dtype":"BOOL","shape":[4],"data_offsets":[16,20]},)"
               R"("c":{"dtype":"F6_E2M3","shape":[2,2],"data_offsets":[20,23]},)"
               R"("x":{"dtype":"F32","shape":[1],"data_offsets":[23,27]}})",
               23) +
      bytes_of<float>({1});
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
