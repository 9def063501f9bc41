// Weights in a file: what is written comes back, and what the format allows is read.

#include "vitruvian/nn/safetensors.hpp"
#include "tests/folder.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/nn/layers.hpp"

using namespace vitruvian;

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
  std::string bytes = bytes_of(R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})") +
                      bytes_of<double>({0.1, -2.5});
  const TensorFile file = parse_safetensors(bytes, "f");
  const Tensor x(zeros({2}), true);
  load({{"x", Role::weight, x}}, file);
  CHECK(x.value().data()[0] == static_cast<real>(0.1));
  CHECK(file.at("x").values()[1] == -2.5);
  CHECK_SAYS(file.at("xx"), "f: it has no tensor 'xx'; the nearest is 'x'");

  bytes = bytes_of(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )") +
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
  const std::size_t header = bytes.size() - 4008;
  CHECK(counted->bytes_read == 512 + header);  // 512 to see that it is no archive
  static_cast<void>(file.at("b").read());
  CHECK(counted->bytes_read == 512 + header + 8);
}

TEST_CASE("half precision is read as the float32 that it is") {
  const auto read = [](const char* dtype, const std::vector<std::uint16_t>& halves) {
    const std::string header =
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", dtype,
                    halves.size(), 2 * halves.size());
    const std::string bytes = bytes_of(header) + bytes_of(halves);
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
  CHECK(rows(t, 2, 2).values().empty());
  CHECK(rows(stored("e", {0, 3}, {}), 0, 0).shape == std::vector<std::size_t>{0, 3});

  CHECK_FAILS_WITH(rows(t, 1, 3), "'t' (2, 3) has no rows [1, 3)");
  CHECK_FAILS_WITH(rows(t, 2, 1), "'t' (2, 3) has no rows [2, 1)");
  CHECK_FAILS_WITH(rows(stored("one", {}, {1}), 0, 1), "'one' () has no rows [0, 1)");
  CHECK_FAILS_WITH(permuted(t, {0, 2}), "'t' (2, 3) has no axes (0, 2), each once");
  CHECK_FAILS_WITH(permuted(t, {0, 0}), "each once");
  CHECK_FAILS_WITH(permuted(t, {0}), "each once");
  CHECK_FAILS_WITH(concatenated({}), "no tensors");
  CHECK_FAILS_WITH(concatenated({t, stored("u", {1, 2}, {1, 2})}),
                   "'u' (1, 2) does not go on below 't' (2, 3)");
  CHECK_FAILS_WITH(concatenated({stored("one", {}, {1})}), "'one' is one number");
  CHECK_FAILS_WITH(stored("t", {2, 2}, {1}), "'t' of shape (2, 2) was given 1 numbers");
}

TEST_CASE("what could not be read back is not written") {
  const Folder folder;
  const std::string path = folder.file("m");
  const auto write = [&](std::vector<StoredTensor> tensors, const Metadata& metadata = {}) {
    write_safetensors(path, std::move(tensors), metadata);
  };
  CHECK_FAILS_WITH(write({stored("a", {1}, {1}), stored("b", {1}, {1}), stored("a", {1}, {2})}),
                   "two tensors are called 'a': it is not written");
  CHECK_FAILS_WITH(write({stored("a\nb", {1}, {1})}),
                   "m: in its header, a name holds the control character 0x0a");
  CHECK_FAILS_WITH(write({stored(std::string(1001, 'a'), {1}, {1})}),
                   "m: in its header, a name has 1001 characters; 1000 are allowed");
  CHECK_FAILS_WITH(write({stored("a", std::vector<std::size_t>(17, 1), {1})}),
                   "m: in its header, 'a' has more than 16 axes");
  CHECK_FAILS_WITH(write({}, {{"a\nb", "c"}}), "a name holds the control character 0x0a");
  CHECK_FAILS_WITH(write({}, {{"a", std::string(std::size_t{17} << 20U, 'b')}}),
                   "its header would have 17825");
  CHECK_FAILS_WITH(write({stored("__metadata__", {1}, {1})}),
                   "a tensor cannot be called '__metadata__': it is not written");
  StoredTensor liar = stored("a", {2}, {1, 2});
  liar.shape = {3};
  CHECK_FAILS_WITH(write({liar}), "'a' of shape (3,) has 8 bytes: it is not written");
  CHECK(folder.files().empty());
  write({stored(std::string(1000, 'a'), {1}, {1})});
  CHECK(read_safetensors(path).size() == 1);
  write({}, {{"dataset", "M\xfcnchen"}});  // no UTF-8, as a file's name may be
  CHECK(read_safetensors(path).metadata.at("dataset") == "M\uFFFDnchen");
}

TEST_CASE("a model takes exactly its own tensors, and is left alone otherwise") {
  const Folder folder;
  const std::string path = folder.file("m");
  save(Linear(3, 2, Rng(1)), path);
  const auto loading = [&](const auto& model) {
    const Array before = named_parameters(model)[0].tensor.value();
    std::string message = error_of(Exit::checkpoint, [&] { return load(model, path); });
    CHECK(named_parameters(model)[0].tensor.value() == before);
    return message;
  };
  CHECK(loading(Linear(3, 2, Rng(2), false)) ==
        path + ": it has 'bias', which the model does not know");
  CHECK(loading(Linear(2, 3, Rng(2))) ==
        path + ": 'weight' is (2, 3), not (3, 2), 'bias' is (2,), not (3,)");
  CHECK(loading(Mlp(3, 2, Rng(2))) ==
        path + ": it lacks 'fc1.weight', 'fc1.bias', 'fc2.weight' and 1 more");
}

}  // namespace
