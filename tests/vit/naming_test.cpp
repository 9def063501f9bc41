// Weights under four naming schemes: models written as each project writes them give their own
// logits here, every scheme converts to every other and back bit for bit, and a tensor that is
// missing, unknown, misshapen or there twice is named.

#include "vitruvian/vit/weights/naming.hpp"
#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "tests/golden.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

const golden::Json& document() {
  static const golden::Json json = golden::read("naming.json");
  return json;
}

constexpr Scheme schemes[] = {Scheme::torchvision, Scheme::timm, Scheme::hf, Scheme::jax};

// The model of the golden file under a scheme, as if it had been read.
TensorFile golden_file(const std::string& scheme) {
  TensorFile file{"f", {}, {}};
  for (const auto& [name, json] : document()[scheme]["parameters"].items()) {
    file.tensors.push_back(stored(name, json["shape"], json["values"], Dtype::f64));
  }
  return file;
}

void write(const TensorFile& file, const std::string& path) {
  write_safetensors(path, file.tensors, file.metadata);
}

bool same(const TensorFile& a, const TensorFile& b) {
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const StoredTensor& x, const StoredTensor& y) {
                      return x.name == y.name && x.shape == y.shape && x.dtype == y.dtype &&
                             x.read() == y.read();
                    });
}

TEST_CASE("a model written as each project writes it gives that project's logits here") {
  const Folder folder;
  const Tensor images = golden::tensor(document()["images"]);
  for (const std::string scheme : {"torchvision", "hf", "jax"}) {
    CAPTURE(scheme);
    write(golden_file(scheme), folder.file("w"));
    const VitWeights weights = open_weights(folder.file("w"), {.heads = 2});
    CHECK(name_of(weights.scheme) == scheme);
    CHECK_FALSE(weights.ours);
    ViTConfig expected;
    expected.C = 3;
    expected.H = expected.W = 8;
    expected.P = 4;
    expected.D = 8;
    expected.L = expected.h = 2;
    expected.M = 12;
    expected.K = 3;
    expected.eps = scheme == "hf" ? 1e-12 : 1e-6;
    CHECK(weights.config == expected);
    const VisionTransformer model(weights.config, Rng(1));
    load(model, weights.tensors);
    const Array logits = golden::tensor(document()[scheme]["logits"]);
    CHECK(golden::difference(model(images).value(), logits) < (sizeof(real) == 8 ? 1e-12 : 1e-5));
  }
}

TEST_CASE("every scheme converts to every other and back, bit for bit") {
  for (const std::string first : {"torchvision", "hf", "jax"}) {
    const TensorFile file = golden_file(first);
    const TensorFile ours = to_timm(file, scheme_of(first)).file;
    CHECK(same(to_timm(ours, Scheme::timm).file, ours));
    for (const Scheme second : schemes) {
      CAPTURE(first);
      CAPTURE(name_of(second));
      const TensorFile there = from_timm(ours, second, 2);
      CHECK(detect_scheme(there) == second);
      CHECK(same(to_timm(there, second).file, ours));
      CHECK(same(from_timm(to_timm(there, second).file, scheme_of(first), 2), file));
    }
  }
}

TEST_CASE("every way of being wrong is named, with the scheme that the names look like") {
  const auto failure = [](const std::string& scheme, const auto& change) {
    TensorFile file = golden_file(scheme);
    change(file.tensors);
    std::sort(file.tensors.begin(), file.tensors.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    const Failure result =
        failure_of([&] { static_cast<void>(to_timm(file, detect_scheme(file))); });
    CHECK(result.exit == Exit::checkpoint);
    return result.message;
  };
  using Tensors = std::vector<StoredTensor>;
  const auto find = [](Tensors& tensors, const std::string& name) {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&name](const StoredTensor& t) { return t.name == name; });
    REQUIRE(found != tensors.end());
    return found;
  };
  CHECK(
      failure("torchvision",
              [&](Tensors& t) { t.erase(find(t, "encoder.layers.encoder_layer_1.ln_2.bias")); }) ==
      "f: its names look like torchvision's, but it lacks "
      "'encoder.layers.encoder_layer_1.ln_2.bias'");
  CHECK(failure("hf",
                [&](Tensors& t) {
                  t.erase(find(t, "vit.encoder.layer.0.attention.attention.key.weight"));
                }) ==
        "f: its names look like Hugging Face's, but it lacks "
        "'vit.encoder.layer.0.attention.attention.key.weight'");
  CHECK(failure("jax", [&](Tensors& t) { t.push_back(stored("opt/step", {}, {1})); }) ==
        "f: its names look like JAX's, but it has 'opt/step', which no such ViT has");
  CHECK(failure("torchvision",
                [&](Tensors& t) {
                  t.push_back(stored("encoder.ln.weights", {8}, std::vector<double>(8)));
                }) ==
        "f: its names look like torchvision's, but it has 'encoder.ln.weights', which no such ViT "
        "has");
  CHECK(failure("torchvision",
                [&](Tensors& t) { find(t, "heads.head.weight")->name = "head.weight"; }) ==
        "f: its names look like torchvision's, but it lacks 'heads.head.weight', and it has "
        "'head.weight', which no such ViT has");
  CHECK(failure("jax",
                [&](Tensors& t) {
                  const auto kernel =
                      find(t, "Transformer/encoderblock_0/MlpBlock_3/Dense_0/kernel");
                  *kernel = permuted(*kernel, {1, 0});
                }) ==
        "f: its names look like JAX's, but 'Transformer/encoderblock_0/MlpBlock_3/Dense_0/kernel' "
        "is (12, 8), not (8, 12)");
  CHECK(failure("torchvision",
                [&](Tensors& t) {
                  *find(t, "conv_proj.weight") =
                      stored("conv_proj.weight", {8, 48}, std::vector<double>(384));
                }) ==
        "f: its names look like torchvision's, but 'conv_proj.weight' of shape (8, 48) should have "
        "4 axes");
  CHECK(failure("torchvision",
                [&](Tensors& t) {
                  t.push_back(*find(t, "encoder.layers.encoder_layer_0.mlp.0.bias"));
                  t.back().name = "encoder.layers.encoder_layer_0.mlp.linear_1.bias";
                }) ==
        "f: its names look like torchvision's, but it has both "
        "'encoder.layers.encoder_layer_0.mlp.0.bias' and "
        "'encoder.layers.encoder_layer_0.mlp.linear_1.bias', which are one tensor");
  CHECK(failure("hf",
                [&](Tensors& t) {
                  auto& key = *find(t, "vit.encoder.layer.0.attention.attention.key.bias");
                  key = stored(key.name, key.shape, key.values(), Dtype::f32);
                }) ==
        "f: its names look like Hugging Face's, but "
        "'vit.encoder.layer.0.attention.attention.query.bias' and "
        "'vit.encoder.layer.0.attention.attention.key.bias' have different dtypes");
  CHECK(failure("hf", [&](Tensors& t) { t = {stored("fc.weight", {1}, {0})}; }) ==
        "f: it holds 'fc.weight'; no ViT of torchvision, timm, Hugging Face or JAX");
  CHECK(failure("hf", [&](Tensors& t) { t.clear(); }) ==
        "f: it holds no tensors; no ViT of torchvision, timm, Hugging Face or JAX");
  CHECK_SAYS(to_timm(golden_file("hf"), Scheme::jax),
             "f: its names look like Hugging Face's, not JAX's");
}

TEST_CASE("integers that some project saves beside its weights are left out, and that is said") {
  TensorFile file = golden_file("hf");
  const auto unread = []() -> Bytes { fail(Exit::checkpoint, "asked for"); };
  file.tensors.push_back({"vit.embeddings.position_ids", Dtype::other, {1, 5}, unread});
  CHECK(same(to_timm(file, Scheme::hf).file, to_timm(golden_file("hf"), Scheme::hf).file));
  file.tensors.back().dtype = Dtype::f32;
  CHECK_SAYS(
      to_timm(file, Scheme::hf),
      "f: its names look like Hugging Face's, but it has 'vit.embeddings.position_ids', which no "
      "such ViT has");

  const Folder folder;
  write(golden_file("hf"), folder.file("w"));
  std::string bytes = content(folder.file("w"));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::size_t end = bytes.find_last_of('}', 7 + static_cast<std::size_t>(length));
  const std::size_t data = bytes.size() - 8 - static_cast<std::size_t>(length);
  const std::string more =
      fmt::format(R"(,"n":{{"dtype":"I64","shape":[],"data_offsets":[{},{}]}})", data, data + 8);
  bytes.insert(end, more);
  length += more.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  vitruvian::write(folder.path / "w", bytes + "12345678");
  const VitWeights weights = open_weights(folder.file("w"), {.heads = 2});
  REQUIRE(weights.notes.size() == 1);
  CHECK(weights.notes[0] == "'n': no floating-point numbers, left out");
  CHECK(weights.tensors.find("n") == nullptr);
}

TEST_CASE("a config that another project wrote does not stop whoever names the scheme") {
  const Folder folder;
  TensorFile file = golden_file("hf");
  for (const char* const config : {R"({"hidden_size":8})", "yaml: no", R"({"C":3,"H":8})"}) {
    CAPTURE(config);
    file.metadata["config"] = config;
    write(file, folder.file("w"));
    const VitWeights weights = open_weights(folder.file("w"), {.scheme = Scheme::hf, .heads = 2});
    CHECK_FALSE(weights.ours);
    CHECK(weights.config.D == 8);
    const Failure failure =
        failure_of([&] { static_cast<void>(open_weights(folder.file("w"), {.heads = 2})); });
    CHECK(failure.exit == Exit::checkpoint);
    CHECK(failure.message.find("the model's config ") != std::string::npos);
    CHECK(failure.message.find(" (--from-scheme, ") != std::string::npos);
  }
}

TEST_CASE("old and bare names are read") {
  TensorFile file = golden_file("torchvision");
  const TensorFile ours = to_timm(file, Scheme::torchvision).file;
  for (StoredTensor& t : file.tensors) {
    if (const auto at = t.name.find("mlp.0"); at != std::string::npos) {
      t.name.replace(at, 5, "mlp.linear_1");
    }
    if (const auto at = t.name.find("mlp.3"); at != std::string::npos) {
      t.name.replace(at, 5, "mlp.linear_2");
    }
  }
  CHECK(same(to_timm(file, Scheme::torchvision).file, ours));

  file = golden_file("hf");  // ViTModel: no head, no prefix
  std::erase_if(file.tensors, [](const auto& t) { return t.name.starts_with("classifier"); });
  for (StoredTensor& t : file.tensors) t.name.erase(0, 4);
  CHECK_SAYS(to_timm(file, Scheme::hf),
             "f: its names look like Hugging Face's, but it lacks 'classifier.weight', "
             "'classifier.bias'");
  CHECK(to_timm(file, Scheme::hf, {.head = true}).sizes.K == 0);
}

TEST_CASE("positions resize as the four projects' own functions do it") {
  const golden::Json cases = document()["positions"];
  CHECK(cases.size() == 10);
  for (const auto& c : cases) {
    const Grid from{c["from"][0], c["from"][1]};
    const Grid to{c["to"][0], c["to"][1]};
    for (const std::string& how : pos_resize_names()) {
      CAPTURE(how);
      CAPTURE(c["from"].dump() + c["to"].dump());
      const auto ours = resize_grid(c["values"], from, to, c["channels"], pos_resize_of(how));
      const std::vector<double> expected = c[how];
      REQUIRE(ours.size() == expected.size());
      double worst = 0;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        worst = std::max(worst, std::abs(ours[i] - expected[i]));
      }
      CHECK(worst < 1e-12);
    }
  }
}

TEST_CASE("another image size and another number of classes") {
  const Folder folder;
  write(golden_file("torchvision"), folder.file("w"));
  WeightsRequest request{.heads = 2};
  request.height = 12;
  request.width = 16;
  request.classes = 5;
  const VitWeights weights = open_weights(folder.file("w"), request);
  CHECK(weights.notes ==
        std::vector<std::string>{"the head for 3 classes is replaced by zeros for 5",
                                 "the position embeddings are resized from 2 x 2 to 3 x 4 patches, "
                                 "as torchvision does it"});
  CHECK(weights.config.K == 5);
  CHECK(weights.tensors.at("head.weight").values() == std::vector<double>(40));
  const auto old = golden_file("torchvision").at("encoder.pos_embedding").values();
  const auto resized = weights.tensors.at("pos_embed").values();
  REQUIRE(resized.size() == 13 * 8);
  CHECK(std::equal(old.begin(), old.begin() + 8, resized.begin()));  // the class token's
  const auto grid =
      resize_grid({old.begin() + 8, old.end()}, {2, 2}, {3, 4}, 8, PosResize::torchvision);
  CHECK(std::equal(grid.begin(), grid.end(), resized.begin() + 8));
  const VisionTransformer model(weights.config, Rng(1));
  load(model, weights.tensors);
  CHECK(model(Tensor(zeros({1, 3, 12, 16}))).shape() == Shape{1, 5});

  request.height = 13;
  CHECK(failure_of([&] { static_cast<void>(open_weights(folder.file("w"), request)); }).exit ==
        Exit::usage);
  CHECK_SAYS(
      open_weights(folder.file("w")),
      folder.file("w") + ": a width of 8 is no multiple of 64, so the heads are a guess: --heads?");
}

}  // namespace
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
