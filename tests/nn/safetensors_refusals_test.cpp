// Files of weights that are wrong: each is refused in one clear line.

#include "tests/folder.hpp"
#include "tests/nn/archives.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/nn/safetensors.hpp"

using namespace vitruvian;

namespace {

TEST_CASE("malformed files are refused in one line that says why") {
  const auto refused = [](const std::string& bytes, const std::string& message) {
    CHECK(error_of(Exit::checkpoint, [&] { return parse_safetensors(bytes, "f"); }) ==
          "f: " + message);
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
      {x("F32", "[2]", "[0,4]"), 4, "'x' of shape (2,) needs 8 bytes but has 4"},
      {x("I64", "[1]", "[0,4]"), 4, "'x' of shape (1,) needs 8 bytes but has 4"},
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
  check_damaged(content(folder.file("m")), [](const std::string& bytes) {
    const auto failure = failure_of([&] {
      std::size_t total = 0;  // of a good file of something else
      for (const StoredTensor& t : parse_safetensors(bytes, "f").tensors) total += t.read().size();
      CHECK(total == 6 * sizeof(real));
    });
    return said_of("f", failure, Exit::checkpoint);
  });
}

TEST_CASE("a file that cannot be read says so") {
  const Folder folder;
  const auto reading = [&](const std::string& path) {
    return error_of(Exit::checkpoint, [&] { return read_safetensors(path); });
  };
  CHECK(reading(folder.file("absent")) == folder.file("absent") + ": there is no such file");
  CHECK(reading(folder.path.string()) ==
        folder.path.string() + ": expected a file, found a directory");
  CHECK(reading("/dev/zero") == "/dev/zero: expected a regular file, found something else");
}

}  // namespace
