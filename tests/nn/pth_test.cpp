// PyTorch's .pth files: what torch.save writes is read to the bit, and of what else a pickle can be
// nothing is run. Files that somebody made on purpose: tests/apps/pth_attacks_test.cpp.

#include "tests/folder.hpp"
#include "tests/json.hpp"
#include "tests/nn/pickles.hpp"
#include "vitruvian/nn/tensor_file.hpp"

namespace vitruvian {
namespace {

const std::string folder = std::string(VITRUVIAN_TEST_DATA) + "/golden/pth/";

TensorFile read(const std::string& bytes) {
  return read_tensor_file(std::make_shared<const MemorySource>(bytes, "f", Exit::checkpoint));
}

// What reading these bytes, numbers and all, ends in; "" where they are good.
std::string failure(const std::string& bytes) {
  const Failure failure = failure_of([&] {
    for (const StoredTensor& t : read(bytes).tensors) {
      if (t.dtype != Dtype::other) static_cast<void>(t.read());
    }
  });
  return said_of("f", failure, Exit::checkpoint);
}

TEST_CASE("what PyTorch writes is read, to the bit") {
  for (const auto& [file, tensors] : JsonValue::read(folder + "expected.json").items()) {
    const TensorFile read = read_tensor_file(folder + file);
    CAPTURE(read.source);
    CHECK(read.tensors.size() == tensors.size());
    for (const auto& [name, expected] : tensors.items()) {
      const StoredTensor& t = read.at(name);
      CAPTURE(t.name);
      const std::vector<std::size_t> shape = expected["shape"];
      CHECK(t.shape == shape);
      if (expected["values"].is_null()) {
        CHECK(t.dtype == Dtype::other);
        CHECK_SAYS(t.read(), folder + file + ": '" + name +
                                 "' has dtype 'torch.LongStorage'; float64, float32, float16 and "
                                 "bfloat16 are read");
      } else {
        const std::vector<double> values = expected["values"];
        CHECK(t.values() == values);
        CHECK(t.dtype == (name == "double" ? Dtype::f64 : Dtype::f32));
      }
    }
  }
}

TEST_CASE("what PyTorch writes besides is named and refused") {
  const auto refused = [](const char* name) { return failure(content(folder + name)); };
  CHECK(refused("module.pth") ==
        "its pickle names torch.nn.modules.container.Sequential, which no state dict needs; "
        "nothing of it was run (torch.save(model.state_dict(), FILE) writes one)");
  CHECK(refused("script.pt").starts_with("it is a program of TorchScript's (torch.jit.save)"));
  CHECK(refused("before_1_6.pth")
            .starts_with("a file of PyTorch's form before 1.6, a pickle without an archive"));
  CHECK(refused("view.pth") ==
        "'a': a view of another tensor, by strides (4, 1); clone() before torch.save makes it one "
        "of its own");
  CHECK(failure("\x80\x02x") == "3 bytes are too few for a safetensors file");
  CHECK(refused("expanded.pth").starts_with("'a': a view of another tensor, by strides (0, 1)"));
}

TEST_CASE("the model's dictionary in a checkpoint") {
  const std::string dict = state_dict({{"a", {}}});
  const std::string inner = dict.substr(2, dict.size() - 3);
  const auto read_of = [&](const std::vector<std::string>& keys) {
    Pickle p;
    p.raw("}(");
    for (const std::string& key : keys) p.text(key).raw(inner);
    return pth(p.raw("u.").bytes, {std::string(8, '\0')});
  };
  CHECK(read(read_of({"anything"})).tensors.size() == 1);
  CHECK(read(read_of({"optimizer", "model_state_dict"})).tensors.size() == 1);
  CHECK(failure(read_of({"a", "b"})) ==
        "its pickle holds 'a', 'b', and more than one is a dictionary of tensors");
  CHECK(failure(pth(Pickle().raw("}").text("epoch").number(3).raw("s.").bytes)) ==
        "its pickle holds 'epoch', and none of them is a dictionary of tensors");
  CHECK(failure(pth(Pickle().raw("}.").bytes)) == "its pickle holds no tensors");
}

TEST_CASE("tensors that share numbers are read, unless they make much of little") {
  const std::string numbers = bytes_of<float>({1, 2, 3, 4});
  const auto alias = [&](std::size_t n) {
    std::vector<std::pair<std::string, Said>> tensors;
    for (std::size_t i = 0; i < n; ++i) tensors.push_back({"t" + std::to_string(i), {4, 0, {4}}});
    return pth(state_dict(tensors), {numbers});
  };
  CHECK(failure(alias(2)) == "");
  CHECK(failure(alias(3)) == "its tensors share their numbers: 12 of 4 that are stored");
  const std::string bytes =
      pth(state_dict({{"a", {4, 1, {2}}}, {"b", {4, 3, {1, 1}, {9, 7}}}}), {numbers});
  const TensorFile file = read(bytes);  // which reads on from them
  CHECK(file.at("a").values() == std::vector<double>{2, 3});
  CHECK(file.at("b").values() == std::vector<double>{4});
}

TEST_CASE("every truncation and every flipped bit is refused or harmless") {
  const std::string good = content(folder + "state.pth");
  REQUIRE(good.size() > 1000);
  CHECK(failure(good) == "");
  check_damaged(good, failure);
}

}  // namespace
}  // namespace vitruvian
