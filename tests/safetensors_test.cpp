// Weights in a file: what is written comes back, what is wrong is refused in one clear line.

#include "nn/safetensors.hpp"
#include "core/error.hpp"
#include "nn/layers.hpp"
#include "tests/folder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

// The bytes of a file with this header and so many bytes of data.
std::string bytes_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data, 'x');
}

// The bytes must outlive the result.
TensorFile parse_safetensors(const std::string& bytes, const std::string& name) {
  return read_safetensors(std::make_shared<const MemorySource>(bytes, name, Exit::checkpoint));
}

Failure parse_failure(const std::string& bytes) {
  return failure_of([&] { static_cast<void>(parse_safetensors(bytes, "f")); });
}

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
  const double values[] = {0.1, -2.5};
  std::string bytes = bytes_of(R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})", 0);
  bytes.append(reinterpret_cast<const char*>(values), sizeof values);
  const TensorFile file = parse_safetensors(bytes, "f");
  const Tensor x(zeros({2}), true);
  load({{"x", Role::weight, x}}, file);
  CHECK(x.value().data()[0] == static_cast<real>(0.1));
  CHECK(file.at("x").values()[1] == -2.5);
  CHECK(failure_of([&] { static_cast<void>(file.at("xx")); }).message ==
        "f: it has no tensor 'xx'; the nearest is 'x'");

  const float single = 0.1F;
  bytes = bytes_of(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )", 0);
  bytes.append(reinterpret_cast<const char*>(&single), sizeof single);
  CHECK(parse_safetensors(bytes, "f").at("x").values()[0] == static_cast<double>(single));
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
    CHECK(failure_of([&] { static_cast<void>(t.read()); }).message == expected);
    CHECK(failure_of([&] { static_cast<void>(t.values()); }).message == expected);
  }
  const Tensor a(zeros({2}));
  TensorFile only = file;
  only.tensors.resize(1);
  CHECK(failure_of([&] {
          load({{"a", Role::weight, a}}, only);
        }).message == "f: 'a' holds no floating-point numbers");
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
  // IEEE 754 binary16: 1, -2, 2^-24 (the smallest), 65504 (the largest), infinity, 1/3, -0.
  const std::uint16_t halves[] = {0x3C00, 0xC000, 0x0001, 0x7BFF, 0x7C00, 0x3555, 0x8000};
  std::string bytes = bytes_of(R"({"x":{"dtype":"F16","shape":[7],"data_offsets":[0,14]}})", 0);
  bytes.append(reinterpret_cast<const char*>(halves), sizeof halves);
  const StoredTensor x = parse_safetensors(bytes, "f").at("x");
  CHECK(x.dtype == Dtype::f32);
  const std::vector<double> expected{
      1, -2, 0x1p-24, 65504, std::numeric_limits<double>::infinity(), 0x1.554p-2, -0.0};
  CHECK(x.values() == expected);
  CHECK(std::signbit(x.values()[6]));

  const std::uint16_t brains[] = {0x3F80, 0xBF00, 0x7F80, 0x0001};
  bytes = bytes_of(R"({"x":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})", 0);
  bytes.append(reinterpret_cast<const char*>(brains), sizeof brains);
  CHECK(parse_safetensors(bytes, "f").at("x").values() ==
        std::vector<double>{1, -0.5, std::numeric_limits<double>::infinity(), 0x1p-133});

  const std::uint16_t nan = 0x7E01;
  bytes = bytes_of(R"({"x":{"dtype":"F16","shape":[],"data_offsets":[0,2]}})", 0);
  bytes.append(reinterpret_cast<const char*>(&nan), sizeof nan);
  CHECK(std::isnan(parse_safetensors(bytes, "f").at("x").values()[0]));
}

TEST_CASE("what the format allows is accepted: no axes, no numbers, padding, any order") {
  std::string bytes =
      bytes_of(R"({"z":{"data_offsets":[0,4],"shape":[],"dtype":"F32"},"__metadata__":{},)"
               R"("e":{"dtype":"F16","shape":[0,7],"data_offsets":[4,4]},)"
               R"("a":{"dtype":"F64","shape":[1,1],"data_offsets":[4,12]}}      )",
               0);
  const float z = 2;
  const double a = 3;
  bytes.append(reinterpret_cast<const char*>(&z), sizeof z);
  bytes.append(reinterpret_cast<const char*>(&a), sizeof a);
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

}  // namespace
}  // namespace vitruvian::inline VITRUVIAN_PRECISION
