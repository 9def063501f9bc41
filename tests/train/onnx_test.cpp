// Models as ONNX graphs: what is in the file, what is refused, and that onnxruntime computes our
// logits from it, for every switch of the config.

#include "tests/train/small.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/train/convert.hpp"
#include "vitruvian/vit/onnx/graph.hpp"

#include <sys/wait.h>

using namespace vitruvian;

namespace {

// Every option of a config alone, and some together.
std::vector<Switched> every_option() {
  std::vector<Switched> all = every_switch();
  const ViTConfig usual = tiny_vit();
  const auto add = [&](const std::string& name, auto change) {
    ViTConfig config = usual;
    change(config);
    all.push_back({name, config});
  };
  for (const Turned& s : options_of(usual)) add(s.name, s.set);
  add("norm after pooling", [](ViTConfig& c) { c.mean_pooling = c.norm_after_pooling = true; });
  add("relative without a class token",
      [](ViTConfig& c) { c.mean_pooling = true, c.positions = Positions::relative, c.W = 12; });
  add("waves of a flat grid", [](ViTConfig& c) { c.positions = Positions::sincos_2d, c.W = 16; });
  add("eps 0.1", [](ViTConfig& c) { c.eps = 0.1; });
  add("a mean beside registers", [](ViTConfig& c) { c.mean_pooling = true, c.registers = 3; });
  add("no positions for registers",
      [](ViTConfig& c) { c.positions = Positions::none, c.registers = 2, c.distilled = true; });
  add("two tables of positions beside registers",
      [](ViTConfig& c) { c.positions = Positions::learned_2d, c.registers = 2; });
  add("a gate without biases", [](ViTConfig& c) { c.swiglu = true, c.proj_bias = false; });
  add("one head", [](ViTConfig& c) { c.h = 1, c.per_head_qkv = true; });
  return all;
}

// A model of this config in a file.
void save_model(const ViTConfig& config, const DataConfig& data, const std::string& path) {
  save_weights(of_order_half(config, Rng(2)), data, path);
}

std::string bytes_of(const Array& numbers) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  return {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
}

Array numbers_of(const std::string& bytes, const Shape& shape) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  if (numbers.size() != count(shape)) return {};
  return array(shape, std::vector<double>(numbers.begin(), numbers.end()));
}

// A model of this config as ONNX, in a folder.
struct Exported {
  Folder folder;
  ConvertOptions options;
  explicit Exported(const ViTConfig& config = tiny_vit(), const DataConfig& data = {}) {
    options.from = folder.file("model.safetensors");
    options.to = folder.file("model.onnx");
    save_model(config, data, options.from);
  }
  [[nodiscard]] std::string bytes() const {
    static_cast<void>(convert(options));
    return content(options.to);
  }
  [[nodiscard]] std::string refusal(Exit exit = Exit::usage) const {
    std::string message = error_of(exit, [&] { return convert(options); });
    CHECK_FALSE(std::filesystem::exists(options.to));
    return message;
  }
};

}  // namespace

TEST_CASE("the graph computes every option of a config, or says which it does not") {
  const Folder folder;
  for (const Switched& s : every_option()) {
    CAPTURE(s.name);
    save_model(s.config, {}, folder.file("w"));
    CHECK(error_of(Exit::ok, [&] { return onnx_graph(open_weights(folder.file("w"))); }) == "");
  }
}

TEST_CASE("onnxruntime computes our logits") {
  if (std::system("node --version >/dev/null 2>&1") != 0) return skip("there is no node");
  const Folder folder;
  struct Case {
    std::string name;
    Array expected;
  };
  std::vector<Case> cases;
  std::string list;
  for (const Switched& s : every_option()) {
    const std::string model = fmt::format("{}.onnx", cases.size());
    const std::size_t B = 1 + cases.size() % 3;
    const Tensor images = images_for(s.config, B, 3 + cases.size());
    save_model(s.config, {}, folder.file("w"));
    ConvertOptions options;
    options.from = folder.file("w");
    options.to = folder.file(model);
    REQUIRE(error_of(Exit::ok, [&] { return convert(options); }) == "");
    write(folder.file(model + ".in"), bytes_of(images.value()));
    const NoGrad no_grad;
    cases.push_back({s.name, load_weights(folder.file("w")).model(images).value()});
    list += fmt::format(R"({}{{"model": "{}", "shape": [{}], "output": "{}"}})",
                        list.empty() ? "" : ",\n", model, joined(images.shape()),
                        s.config.head == Head::none ? "features" : "logits");
  }
  write(folder.file("cases.json"), "[" + list + "]\n");
  const int status = std::system(fmt::format("node '{0}/train/onnx_runtime.mjs' '{0}/..' '{1}'",
                                             VITRUVIAN_TEST_DATA, folder.path.string())
                                     .c_str());
  const bool must = std::getenv("VITRUVIAN_ONNXRUNTIME") != nullptr;  // it is installed here
  if (!must && WIFEXITED(status) && WEXITSTATUS(status) == 77)
    return skip("there is no onnxruntime");
  REQUIRE(status == 0);
  double worst = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].name);
    const Array found =
        numbers_of(content(folder.file(fmt::format("{}.onnx.out", i))), cases[i].expected.shape());
    const double off = golden::difference(found, cases[i].expected);
    CHECK(off < 1e-5);
    worst = std::max(worst, off);
  }
  MESSAGE(cases.size() << " graphs, the worst is off by " << worst << " of its largest logit");
  CHECK(cases.size() > 40);
}

TEST_CASE("an ONNX file says what goes in and what comes out") {
  const Exported plain({.C = 3, .H = 8, .W = 8, .P = 4, .D = 8, .L = 1, .h = 2, .M = 12, .K = 3},
                       {"folder", {0.1, 0.2, 0.3}, {1, 2, 4}, {"ox", "\"hen\"", "owl"}});
  const std::string bytes = plain.bytes();
  for (const char* part :
       {"vitruvian", "images", "logits", "[0.1,0.2,0.3]", "[1.0,2.0,4.0]",
        R"(["ox","\"hen\"","owl"])",
        "shorter side to 9, the middle 8 x 8 cut out, height by width, bilinear with antialias; "
        "R, G, B in planes; bytes / 255; (x - mean) / std"}) {
    CAPTURE(part);
    CHECK(says(bytes, part));
  }
  CHECK(plain.bytes() == bytes);  // the same input, the same file

  ViTConfig headless = tiny_vit();
  headless.head = Head::none;
  const std::string features = Exported(headless).bytes();
  CHECK(says(features, "features"));
  CHECK_FALSE(says(features, "logits"));
  CHECK(says(features, "normalised nobody knows how"));
  ViTConfig ten = tiny_vit();
  ten.K = 10;
  const std::string cifar = Exported(ten, {"cifar10", {0.1, 0.2}, {1, 2}}).bytes();
  CHECK(says(cifar, "stretched to 8 x 8, height by width"));
  CHECK(says(cifar, R"(["airplane","automobile",)"));
}

TEST_CASE("weights in double precision are rounded") {
  Exported exported;
  const std::string expected = exported.bytes();
  TensorFile file = read_safetensors(exported.options.from);
  for (StoredTensor& t : file.tensors) t = stored(t.name, t.shape, t.values(), Dtype::f64);
  write_safetensors(exported.options.from, file.tensors, file.metadata);
  CHECK(exported.bytes() == expected);
}

TEST_CASE("what no ONNX file can be is refused before there is one") {
  const Exported misshapen;
  TensorFile file = read_safetensors(misshapen.options.from);
  for (StoredTensor& t : file.tensors) {
    if (t.name == "head.weight") t = reshaped(t, {t.size()});
  }
  write_safetensors(misshapen.options.from, file.tensors, file.metadata);
  CHECK(says(misshapen.refusal(Exit::checkpoint), "'head.weight' of shape (24,) should be (3, 8)"));

  // A tensor that nothing of the graph reads.
  const Exported good;
  VitWeights weights = open_weights(good.options.from);
  weights.tensors.tensors.push_back(stored("z.extra", {0}, {}));
  CHECK(error_of(Exit::usage, [&] {
          return onnx_graph(weights);
        }).ends_with("the ONNX graph has no place for 'z.extra'"));

  // A file of 5 MB whose config promises 300,001 tokens, and so 90,000,300,001 pairs.
  ViTConfig config{.C = 1, .H = 4, .W = 8, .P = 4, .D = 8, .L = 1, .h = 2, .M = 12, .K = 3};
  config.P_w = 1, config.positions = Positions::relative;
  const Exported pairs(config);
  file = read_safetensors(pairs.options.from);
  config.W = 300'000;
  file.metadata["config"] = config.to_json();
  for (StoredTensor& t : file.tensors) {
    if (t.name == "blocks.0.attn.relative_position_bias_table") {
      t = stored_zeros(t.name, {config.relative_offsets(), config.h});
    }
  }
  write_safetensors(pairs.options.from, file.tensors, file.metadata);
  CHECK(says(pairs.refusal(), "to convert"));

  const Folder folder;
  OnnxGraph large{"large.pth", {3, 224, 224}, "logits", 10};
  large.weights.push_back({"w", Dtype::f32, {30'000, 20'000}, [] {
                             FAIL_CHECK("it was read");
                             return Bytes();
                           }});
  CHECK(error_of(Exit::usage, [&] { write_onnx(folder.file("x.onnx"), large, {}); }) ==
        "large.pth: its weights are 2.4 GB, but an ONNX file is one protobuf message, which ends "
        "at 2 GB; convert --scheme writes safetensors of any size");
  CHECK(folder.files().empty());
}
