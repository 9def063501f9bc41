// The Vision Transformer: PyTorch's numbers, the paper's counts, and what the equations imply.

#include "core/error.hpp"
#include "core/gradcheck.hpp"
#include "tests/golden.hpp"
#include "vit/model.hpp"
#include "vit/tiny.hpp"
#include "vit/variants.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace vitruvian;

namespace {

constexpr bool in_double = sizeof(real) == 8;

VisionTransformer golden_model(const golden::Json& json) {
  VisionTransformer model(tiny_vit(), Rng(1));
  for (const NamedParameter& p : named_parameters(model)) {
    const Array value = golden::tensor(json.at("parameters").at(p.name));
    REQUIRE(value.shape() == p.tensor.shape());
    p.tensor.mutable_value() = value;
  }
  return model;
}

Tensor images_for(const ViTConfig& config, std::size_t B, std::uint64_t seed) {
  return Tensor(random_normal({B, config.C, config.H, config.W}, seed));
}

double largest(const Array& a) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    result = std::max(result, std::abs(static_cast<double>(a.data()[i])));
  }
  return result;
}

}  // namespace

TEST_CASE("logits, loss, intermediates and every gradient are PyTorch's") {
  const golden::Json json = golden::read("vit.json");
  const double tolerance = in_double ? 1e-10 : 2e-5;
  const VisionTransformer model = golden_model(json);
  const Tensor images(golden::tensor(json.at("images")));
  const auto labels = json.at("labels").get<std::vector<std::size_t>>();

  const Tensor logits = model(images);
  CHECK(golden::difference(logits.value(), golden::tensor(json.at("logits"))) < tolerance);
  const Tensor loss = cross_entropy(logits, labels);
  CHECK(static_cast<double>(loss.item()) ==
        doctest::Approx(json.at("loss").get<double>()).epsilon(tolerance));
  loss.backward();
  std::size_t compared = 0;
  for (const NamedParameter& p : named_parameters(model)) {
    INFO(p.name);
    REQUIRE(p.tensor.grad() != nullptr);
    CHECK(golden::difference(*p.tensor.grad(), golden::tensor(json.at("gradients").at(p.name))) <
          tolerance);
    ++compared;
  }
  CHECK(compared == json.at("gradients").size());

  Trace trace;
  model(images, {.trace = &trace});
  for (const auto& item : json.at("trace").items()) {
    INFO(item.key());
    CHECK(golden::difference(trace.at(item.key()).value(), golden::tensor(item.value())) <
          tolerance);
  }
}

TEST_CASE("the demonstration of the sources: shapes and 1,077,706 parameters") {
  const ViTConfig config = mini_vit();
  CHECK(config.parameters() == 1'077'706);
  const VisionTransformer model(config, Rng(1));
  CHECK(count_parameters(model) == 1'077'706);
  Trace trace;
  const NoGrad no_grad;
  const Tensor logits = model(images_for(config, 1, 1), {.trace = &trace});
  CHECK(trace.at("z_0").shape() == Shape{1, 197, 192});
  CHECK(trace.at("blocks.0.z").shape() == Shape{1, 197, 192});
  CHECK(trace.at("blocks.1.z").shape() == Shape{1, 197, 192});
  CHECK(trace.at("y").shape() == Shape{1, 192});
  CHECK(logits.shape() == Shape{1, 10});
}

TEST_CASE("Table 1 of the paper, to the unit, from the config alone") {
  const auto config = [](std::size_t P, std::size_t D, std::size_t L, std::size_t h) {
    ViTConfig c;
    c.C = 3;
    c.H = c.W = 224;
    c.P = P;
    c.D = D;
    c.L = L;
    c.h = h;
    c.M = 4 * D;
    c.K = 1000;
    c.validate();
    return c;
  };
  CHECK(config(16, 768, 12, 12).parameters() == 86'567'656);
  CHECK(config(32, 768, 12, 12).parameters() == 88'224'232);
  CHECK(config(16, 1024, 24, 16).parameters() == 304'326'632);
  CHECK(config(32, 1024, 24, 16).parameters() == 306'535'400);
  CHECK(config(14, 1280, 32, 16).parameters() == 632'045'800);
  CHECK(static_cast<double>(config(16, 768, 12, 12).macs()) / 1e9 ==
        doctest::Approx(17.56).epsilon(1e-3));
  CHECK(static_cast<double>(config(14, 1280, 32, 16).macs()) / 1e9 ==
        doctest::Approx(167.29).epsilon(1e-3));
}

TEST_CASE("the names are timm's, and each appears once") {
  const VisionTransformer model(tiny_vit(), Rng(1));
  std::set<std::string> names;
  std::uint64_t numbers = 0;
  for (const NamedParameter& p : named_parameters(model)) {
    CHECK(names.insert(p.name).second);
    numbers += p.tensor.size();
  }
  CHECK(numbers == model.config.parameters());
  for (const char* name :
       {"cls_token", "pos_embed", "patch_embed.proj.weight", "patch_embed.proj.bias",
        "blocks.0.norm1.weight", "blocks.0.attn.qkv.weight", "blocks.1.attn.proj.bias",
        "blocks.1.norm2.bias", "blocks.1.mlp.fc1.weight", "blocks.1.mlp.fc2.bias", "norm.weight",
        "head.weight", "head.bias"}) {
    CHECK_MESSAGE(names.contains(name), name);
  }
}

TEST_CASE("the initial values of the original code") {
  ViTConfig config;
  const VisionTransformer model(config, Rng(3));
  const double xavier = std::sqrt(6.0 / (64 + 64));
  for (const NamedParameter& p : named_parameters(model)) {
    INFO(p.name);
    const double top = largest(p.tensor.value());
    if (p.name == "cls_token" || p.name.starts_with("head")) CHECK(top == 0);
    if (p.name == "pos_embed") CHECK((top > 0.04 && top < 0.12));
    if (p.name.ends_with("qkv.weight")) CHECK((top <= xavier && top > 0.99 * xavier));
    if (p.name.ends_with("fc1.bias")) CHECK((top > 0 && top < 1e-5));
    if (p.name.ends_with("norm1.weight")) CHECK(top == 1);
  }
  // A head of zeros: every class is as likely as any other, and the loss begins at ln K.
  const Tensor loss =
      cross_entropy(model(images_for(config, 3, 1)), std::vector<std::size_t>{0, 5, 9});
  CHECK(static_cast<double>(loss.item()) == doctest::Approx(std::log(10.0)).epsilon(1e-6));
}

TEST_CASE("without positions, patches may be exchanged") {
  VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  model.pos_embed.table.tensor().mutable_value().fill(0);
  const ViTConfig& c = model.config;
  Array image = random_normal({1, c.C, c.H, c.W}, 7);
  Array exchanged = image;  // its left and right halves: patches 0, 1 and 2, 3
  for (std::size_t row = 0; row < c.C * c.H; ++row) {
    std::swap_ranges(exchanged.data() + row * c.W, exchanged.data() + row * c.W + c.P,
                     exchanged.data() + row * c.W + c.P);
  }
  const Array a = model(Tensor(image)).value();
  CHECK(golden::difference(model(Tensor(exchanged)).value(), a) < (in_double ? 1e-12 : 1e-4));
  model.pos_embed.table.tensor().mutable_value() = random_normal({1, c.T(), c.D}, 8);
  const Array b = model(Tensor(image)).value();
  CHECK(golden::difference(model(Tensor(exchanged)).value(), b) > 1e-3);
}

TEST_CASE("the class token's gradient is the sum over the batch") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const Array images = random_normal({3, 2, 8, 8}, 9);
  model(Tensor(images)).backward(full({3, 3}, 1));
  const Array together = *model.cls_token.grad();
  Array sum = zeros(together.shape());
  for (std::size_t b = 0; b < 3; ++b) {
    model.cls_token.tensor().zero_grad();
    const Array image = select(Tensor(images), 0, static_cast<std::ptrdiff_t>(b)).value();
    model(reshape(Tensor(image), {1, 2, 8, 8})).backward(full({1, 3}, 1));
    add_in_place(sum, *model.cls_token.grad());
  }
  CHECK(golden::difference(sum, together) < (in_double ? 1e-12 : 1e-4));
}

TEST_CASE("the key's bias has no gradient: softmax does not see it") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  model(images_for(model.config, 2, 10)).backward(random_normal({2, 3}, 11));
  const Array& g = *model.blocks[0].attn.qkv.bias.grad();
  const double scale = largest(g);
  CHECK(scale > 1e-3);
  for (std::size_t i = 8; i < 16; ++i) {
    CHECK(std::abs(static_cast<double>(g.data()[i])) < scale * (in_double ? 1e-13 : 1e-5));
  }
}

TEST_CASE("tracing changes nothing") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const Tensor images = images_for(model.config, 2, 12);
  Trace trace;
  const Array traced = model(images, {.trace = &trace}).value();
  CHECK(golden::difference(traced, model(images).value()) < (in_double ? 1e-12 : 1e-4));
  const Array& probs = trace.at("blocks.1.attn.probs").value();
  CHECK(probs.shape() == Shape{2, 2, 5, 5});
  for (std::size_t row = 0; row < 2 * 2 * 5; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < 5; ++j) sum += static_cast<double>(probs.data()[row * 5 + j]);
    CHECK(sum == doctest::Approx(1));
  }
}

TEST_CASE("the class token's row alone is the whole last block: logits and every gradient") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const Tensor images = images_for(model.config, 3, 12);
  const auto gradients = [&](const Pass& pass) {
    std::vector<Tensor> parameters;
    for (const NamedParameter& p : named_parameters(model)) parameters.push_back(p.tensor);
    return grad(model(images, pass), parameters, random_normal({3, 3}, 13));
  };
  Trace trace;  // whoever traces sees every row
  const std::vector<Array> whole = gradients({.trace = &trace});
  const std::vector<Array> row = gradients({});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (largest(whole[i]) > 1e-9)
      CHECK(golden::difference(row[i], whole[i]) < (in_double ? 1e-11 : 1e-3));
  }
  CHECK(trace.at("blocks.1.z").shape() == Shape{3, 5, 8});
  const Array short_cut = model.blocks[1].class_token(trace.at("blocks.0.z")).value();
  CHECK(short_cut.shape() == Shape{3, 1, 8});
}

TEST_CASE("one image, one patch, an empty batch, an image in a batch or alone") {
  ViTConfig one_patch = tiny_vit();
  one_patch.P = 8;
  const VisionTransformer model(one_patch, Rng(1));
  CHECK(model(images_for(one_patch, 1, 1)).shape() == Shape{1, 3});
  CHECK(model(images_for(one_patch, 0, 1)).shape() == Shape{0, 3});

  const VisionTransformer other = tiny_vit_of_order_one(Rng(5));
  const Tensor images = images_for(other.config, 4, 13);
  const Array all = other(images).value();
  const Array third = other(slice(images, 0, 2, 3)).value();
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(third.data()[k] ==
          doctest::Approx(all.data()[2 * 3 + k]).epsilon(in_double ? 1e-12 : 1e-4));
  }
}

TEST_CASE("a NaN in one image stays in its own logits") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  Array images = random_normal({2, 2, 8, 8}, 14);
  images.data()[5] = std::numeric_limits<real>::quiet_NaN();
  const Array logits = model(Tensor(images)).value();
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(std::isnan(logits.data()[k]));
    CHECK(std::isfinite(logits.data()[3 + k]));
  }
}

TEST_CASE("dropout needs a generator, and obeys it") {
  ViTConfig config = tiny_vit();
  config.dropout = 0.5;
  config.attention_dropout = 0.5;
  VisionTransformer model(config, Rng(1));
  for (const NamedParameter& p : named_parameters(model)) {
    p.tensor.mutable_value() = random_normal(p.tensor.shape(), 15);
  }
  const Tensor images = images_for(config, 2, 16);
  const Rng one(1);
  const Rng two(2);
  const Array still = model(images).value();
  CHECK(golden::difference(model(images).value(), still) == 0);
  const Array dropped = model(images, {.rng = &one}).value();
  CHECK(golden::difference(dropped, still) > 1e-3);
  CHECK(golden::difference(model(images, {.rng = &one}).value(), dropped) == 0);
  CHECK(golden::difference(model(images, {.rng = &two}).value(), dropped) > 1e-3);
}

TEST_CASE("errors name what is wrong, and where") {
  const VisionTransformer model(tiny_vit(), Rng(1));
  CHECK_THROWS_WITH_AS(model(Tensor(zeros({1, 3, 8, 8}))),
                       "vit: images of shape (1, 3, 8, 8), but the model takes (B, 2, 8, 8)",
                       Error);
  VisionTransformer broken(tiny_vit(), Rng(1));
  broken.blocks[1].mlp.fc1 = Linear(9, 12, Rng(1));
  try {
    broken(images_for(broken.config, 1, 1));
    FAIL("a layer of the wrong width was taken");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("in blocks.1.mlp.fc1") != std::string::npos);
  }
}

TEST_CASE("configs that cannot be are refused with a sentence") {
  const auto complaint = [](auto change) -> std::string {
    ViTConfig config;
    change(config);
    try {
      config.validate();
    } catch (const Error& error) {
      CHECK(error.exit() == Exit::usage);
      return error.what();
    }
    return "accepted";
  };
  CHECK(complaint([](ViTConfig&) {}) == "accepted");
  CHECK(complaint([](ViTConfig& c) { c.h = 3; }) == "3 heads do not divide a width D of 64");
  CHECK(complaint([](ViTConfig& c) { c.P = 5; }) ==
        "a patch of 5 does not divide an image of 28 x 28");
  CHECK(complaint([](ViTConfig& c) { c.L = 0; }) == "the depth L must not be 0");
  CHECK(complaint([](ViTConfig& c) { c.dropout = 1; }) == "a dropout of 1 is not in [0, 1)");
  CHECK(complaint([](ViTConfig& c) { c.eps = 0; }) == "an eps of 0 is not between 0 and 1");
  CHECK(complaint([](ViTConfig& c) { c.D = c.h = 2'000'000; }).find("beyond reason") !=
        std::string::npos);
  CHECK(complaint([](ViTConfig& c) {
          c.H = c.W = 1'000'000;
          c.P = 1;
        }).find("beyond reason") != std::string::npos);
}

TEST_CASE("a config survives JSON, and nonsense does not") {
  ViTConfig config = mini_vit();
  config.dropout = 0.1;
  CHECK(ViTConfig::from_json(config.to_json()) == config);
  const auto refused = [](const std::string& json) {
    try {
      ViTConfig::from_json(json);
    } catch (const Error& error) {
      return error.exit() == Exit::checkpoint;
    }
    return false;
  };
  const std::string good = config.to_json();
  CHECK(refused("[]"));
  CHECK(refused("{"));
  CHECK(refused("{}"));
  CHECK(refused(good.substr(0, good.size() - 1) + ",\"more\":1}"));
  CHECK(refused("{\"C\":-1" + good.substr(good.find(','))));
  CHECK(refused("{\"C\":\"3\"" + good.substr(good.find(','))));
  CHECK(refused("{\"C\":0" + good.substr(good.find(','))));
}

TEST_CASE("a clone is equal and apart") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const VisionTransformer copy = clone(model);
  const Tensor images = images_for(model.config, 1, 17);
  const Array before = model(images).value();
  CHECK(golden::difference(copy(images).value(), before) == 0);
  copy.head.weight.tensor().mutable_value().fill(0);
  CHECK(golden::difference(model(images).value(), before) == 0);
}

TEST_CASE("every parameter of a whole ViT, drawn at order one, against differences" *
          doctest::skip(!in_double)) {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  REQUIRE(model.config.parameters() <= 2'500);
  const Tensor images = images_for(model.config, 2, 2);
  std::size_t checked = 0;
  for (const NamedParameter& p : named_parameters(model)) {
    const GradcheckReport report =
        gradcheck([&] { return model(images); }, {p.tensor}, {.strict = true});
    INFO(p.name << " " << report.problem << " error " << report.error);
    CHECK(report.passed);
    checked += p.tensor.size();
  }
  CHECK(checked == model.config.parameters());
}
