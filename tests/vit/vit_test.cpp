// The Vision Transformer: PyTorch's numbers, the paper's counts, and what the equations imply.

#include "tests/golden.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

using namespace vitruvian;

TEST_CASE("logits, loss, intermediates and every gradient are PyTorch's") {
  const golden::Json json = golden::read("vit.json");
  const double tolerance = in_double ? 1e-10 : 2e-5;
  const VisionTransformer model = golden_model(tiny_vit(), json["parameters"]);
  const Tensor images(golden::tensor(json["images"]));
  check_golden(model, images, json["labels"], json, tolerance, tolerance);

  const Composed probabilities_too;
  Trace trace;
  model(images, {.trace = &trace});
  for (const auto& item : json["trace"].items()) {  // clang 14 captures no structured binding
    INFO(item.first);
    CHECK(golden::difference(trace.at(item.first).value(), golden::tensor(item.second)) <
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

TEST_CASE("the class token's row alone is the whole last block: logits and every gradient") {
  ViTConfig config = tiny_vit();
  config.dropout = config.attention_dropout = 0.3;  // counted by their place in the whole
  const VisionTransformer model(config, Rng(1));
  copy_parameters(tiny_vit_of_order_one(Rng(5)), model);
  const Rng rng(8);
  const Tensor images = images_for(model.config, 3, 12);
  const auto gradients = [&](const Pass& pass) {
    std::vector<Tensor> parameters;
    for (const NamedParameter& p : named_parameters(model)) parameters.push_back(p.tensor);
    return grad(model(images, pass), parameters, random_normal({3, 3}, 13));
  };
  Trace trace;  // whoever traces sees every row
  const std::vector<Array> whole = gradients({.rng = &rng, .trace = &trace});
  const std::vector<Array> row = gradients({.rng = &rng});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (largest(whole[i]) > 1e-9)
      CHECK(golden::difference(row[i], whole[i]) < (in_double ? 1e-11 : 1e-3));
  }
  CHECK(trace.at("blocks.1.z").shape() == Shape{3, 5, 8});
  for (const std::size_t rows : {1, 3, 5}) {
    CHECK(model.blocks[1](trace.at("blocks.0.z"), {}, rows).shape() == Shape{3, rows, 8});
  }
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

TEST_CASE("errors name what is wrong, and where") {
  const VisionTransformer model(tiny_vit(), Rng(1));
  CHECK_THROWS_WITH_AS(
      model(Tensor(zeros({1, 3, 8, 8}))),
      "vit: images of shape (1, 3, 8, 8), but the model takes (B, 2, 8, 8), or patches (B, 4, 32)",
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
