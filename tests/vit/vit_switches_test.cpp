// Every switch of the config: what it does to the numbers, and that no derivative is lost by it.

#include "tests/expect.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/waves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

using namespace vitruvian;

namespace {

struct Spread {
  double std = 0, top = 0;
};

Spread spread(const VisionTransformer& model, const std::string& name) {
  for (const NamedParameter& p : named_parameters(model)) {
    if (p.name != name) continue;
    const Array& a = p.tensor.value();
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      squares += static_cast<double>(a.data()[i]) * static_cast<double>(a.data()[i]);
    }
    return {std::sqrt(squares / static_cast<double>(a.size())), largest(a)};
  }
  FAIL("no parameter is called " << name);
  return {};
}

}  // namespace

TEST_CASE("with every switch: exact counts, unique names, shapes, a faithful clone") {
  for (const Switched& s : every_switch()) {
    CAPTURE(s.name);
    const ViTConfig& c = s.config;
    c.validate();
    const VisionTransformer model = of_order_one(c, Rng(5));
    CHECK(count_parameters(model) == c.parameters());
    std::set<std::string> names;
    for (const NamedParameter& p : named_parameters(model)) CHECK(names.insert(p.name).second);
    CHECK(ViTConfig::from_json(c.to_json()) == c);
    const Tensor images = images_for(c, 2, 3);
    const Array y = model(images).value();
    CHECK(y.shape() == Shape{2, c.head == Head::none ? c.D : c.K});
    const VisionTransformer copy = clone(model);
    CHECK(golden::difference(copy(images).value(), y) == 0);
    for (const NamedParameter& p : named_parameters(copy)) init::constant(p.tensor, 0);
    CHECK(golden::difference(model(images).value(), y) == 0);  // apart
  }
}

TEST_CASE("with every switch: the multiply-adds are those of the products that are computed") {
  for (const Switched& s : every_switch()) {
    CAPTURE(s.name);
    const ViTConfig& c = s.config;
    const VisionTransformer model(c, Rng(5));
    std::uint64_t macs = 0;
    for (const NamedParameter& p : named_parameters(model)) {
      const bool patches = p.name.starts_with("patch_embed");
      const bool encoder = p.name.starts_with("blocks");
      if (p.role == Role::weight && (patches || encoder)) {
        macs += (patches ? c.N() : c.T()) * p.tensor.size();
      }
    }
    const Composed probabilities_too;
    Trace trace;
    model(images_for(c, 1, 3), {.trace = &trace});
    for (const Trace::Entry& entry : trace.entries()) {
      if (entry.name.ends_with("attn.probs")) macs += 2 * entry.tensor.size() * c.D_h();
    }
    CHECK(c.macs() == macs);
  }
}

TEST_CASE("with every switch: derivatives against differences, along a random direction" *
          doctest::skip(!in_double)) {
  for (const Switched& s : every_switch()) {
    CAPTURE(s.name);
    const VisionTransformer model = of_order_one(s.config, Rng(1));
    const Tensor images = images_for(s.config, 2, 2);
    const Array c = random_normal(model(images).shape(), 13);  // as in logits_and_gradients
    const std::vector<Array> all = logits_and_gradients(model, images);
    std::size_t i = 1;
    for (const NamedParameter& p : named_parameters(model)) {
      CAPTURE(p.name);
      const Array& g = all[i++];
      const Array start = p.tensor.value();
      const Array direction = random_normal(start.shape(), 20 + i);
      double slope = 0;
      double scale = 0;  // of the terms that the slope is the sum of
      for (std::size_t k = 0; k < g.size(); ++k) {
        const auto term = static_cast<double>(g.data()[k] * direction.data()[k]);
        slope += term;
        scale += std::abs(term);
      }
      const auto at = [&](double t) {
        const WriteGuard guard = p.tensor.mutable_value();
        Array& value = *guard;
        value = start;
        for (std::size_t k = 0; k < value.size(); ++k) {
          value.data()[k] += static_cast<real>(t * static_cast<double>(direction.data()[k]));
        }
        return static_cast<double>(sum(model(images) * Tensor(c)).item());
      };
      scale = std::max(scale, 1e-3);  // where softmax is saturated there is almost nothing to see
      double error = 1;
      for (const double h : {1e-3, 1e-4, 1e-5}) {
        const double n = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
        error = std::min(error, std::abs(n - slope) / scale);
      }
      at(0);
      CHECK(error < 1e-8);
    }
    CHECK(i == all.size());
  }
}

TEST_CASE("positions: what each of them adds") {
  const ViTConfig flat = [] {
    ViTConfig c = tiny_vit();
    c.H = 8, c.W = 12;  // two rows of three patches
    return c;
  }();
  // sin(p), cos(p), sin(p / 10), ...: D = 8 has the frequencies 1, 1e-1, 1e-2, 1e-3.
  const Array waves = array({3, 8}, sincos_waves(3, 8));
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double angle = static_cast<double>(p) * std::pow(10.0, -static_cast<double>(i));
      CHECK(std::abs(waves(p, 2 * i) - std::sin(angle)) < 1e-6);
      CHECK(std::abs(waves(p, 2 * i + 1) - std::cos(angle)) < 1e-6);
    }
  }
  // Column 2 of row 1 is patch 5; its frequencies are 1 and 1e-2.
  const Array grid = array({6, 8}, sincos_2d_waves(2, 3, 8));
  const double expected[] = {std::sin(2.0), std::sin(0.02), std::cos(2.0), std::cos(0.02),
                             std::sin(1.0), std::sin(0.01), std::cos(1.0), std::cos(0.01)};
  for (std::size_t j = 0; j < 8; ++j) CHECK(std::abs(grid(5, j) - expected[j]) < 1e-6);

  ViTConfig c = flat;
  c.positions = Positions::learned_2d;
  const VisionTransformer by_axis = of_order_one(c, Rng(2));
  const Array E = by_axis.pos_embed(Tensor(zeros({1, 7, 8}))).value();
  for (std::size_t j = 0; j < 8; ++j) CHECK(E(0, 0, j) == 0);  // the class token is nowhere
  const Array& columns = by_axis.pos_embed.columns.value();
  const Array& rows = by_axis.pos_embed.rows.value();
  for (std::size_t j = 0; j < 4; ++j) {
    CHECK(E(0, 6, j) == columns(2, j));
    CHECK(E(0, 6, 4 + j) == rows(1, j));
  }

  c.positions = Positions::relative;
  const VisionTransformer model = of_order_one(c, Rng(2));
  const Array bias = (*model.blocks[0].relative)().value();
  CHECK(bias.shape() == Shape{2, 7, 7});
  CHECK(c.relative_offsets() == 3 * 5 + 3);
  std::set<std::size_t> used;
  for (const std::size_t row : model.blocks[0].relative->offsets) used.insert(row);
  CHECK(used.size() == c.relative_offsets());
  for (std::size_t h = 0; h < 2; ++h) {
    CHECK(bias(h, 1, 2) == bias(h, 5, 6));  // one to the right, in either row
    CHECK(bias(h, 1, 5) == bias(h, 2, 6));  // one right and one down
    CHECK(bias(h, 1, 2) != bias(h, 2, 1));
    CHECK(bias(h, 3, 4) != bias(h, 1, 2));  // the row's end is no neighbour of the next one's start
    CHECK(bias(h, 0, 1) == bias(h, 0, 6));  // the class token is equally far from all
    CHECK(bias(h, 0, 1) != bias(h, 1, 0));
  }
  CHECK(bias(0, 1, 2) != bias(1, 1, 2));
}

TEST_CASE(
    "initial values: jax, torchvision, timm and Hugging Face, as requirements C3 lists them") {
  // Drawn at D 64: Xavier's bound is sqrt(6 / 128) for a D x D matrix, PyTorch's default 1 / 8.
  const auto model = [](Init init) {
    ViTConfig c;
    c.C = 3, c.init = init, c.head = Head::tanh;
    return VisionTransformer(c, Rng(3));
  };
  const auto close = [](double a, double b, double relative) {
    return std::abs(a - b) <= relative * b;
  };
  const double xavier = std::sqrt(6.0 / 128);
  const double fan_in = 3 * 7 * 7;
  const std::string block = "blocks.2.";

  const VisionTransformer jax = model(Init::jax);
  CHECK(close(spread(jax, "patch_embed.proj.weight").std, std::sqrt(1 / fan_in), 0.03));
  CHECK(close(spread(jax, "pre_logits.weight").std, 1.0 / 8, 0.03));
  CHECK(close(spread(jax, "pos_embed").std, 0.02, 0.1));
  for (const char* name : {"attn.qkv.weight", "attn.proj.weight"}) {
    const double top = spread(jax, block + name).top;
    CHECK((top <= xavier && top > 0.99 * xavier));
  }
  CHECK(close(spread(jax, block + "mlp.fc1.weight").top, std::sqrt(6.0 / 320), 0.01));
  CHECK(close(spread(jax, block + "mlp.fc1.bias").std, 1e-6, 0.2));
  for (const char* name : {"cls_token", "patch_embed.proj.bias", "head.weight", "head.bias"}) {
    CHECK(spread(jax, name).top == 0);
  }
  CHECK(spread(jax, block + "norm1.weight").std == 1);
  CHECK(spread(jax, block + "norm1.bias").top == 0);
  CHECK(spread(jax, block + "attn.qkv.bias").top == 0);

  const VisionTransformer tv = model(Init::torchvision);
  CHECK(close(spread(tv, "patch_embed.proj.weight").std, std::sqrt(1 / fan_in), 0.03));
  CHECK(spread(tv, "patch_embed.proj.weight").top > 2.2 * std::sqrt(1 / fan_in));  // not cut
  CHECK(close(spread(tv, block + "attn.qkv.weight").top, std::sqrt(6.0 / 256), 0.01));
  CHECK(close(spread(tv, block + "attn.proj.weight").top, 1.0 / 8, 0.01));
  CHECK(close(spread(tv, block + "mlp.fc2.weight").top, std::sqrt(6.0 / 320), 0.01));
  CHECK(close(spread(tv, block + "mlp.fc2.bias").std, 1e-6, 0.3));
  CHECK(close(spread(tv, "pos_embed").std, 0.02, 0.1));
  for (const char* name : {"cls_token", "head.weight", "blocks.0.attn.proj.bias"}) {
    CHECK(spread(tv, name).top == 0);
  }

  const VisionTransformer timm = model(Init::timm);
  CHECK(close(spread(timm, "patch_embed.proj.weight").top, 1 / std::sqrt(fan_in), 0.01));
  CHECK(close(spread(timm, "patch_embed.proj.bias").top, 1 / std::sqrt(fan_in), 0.1));
  CHECK(close(spread(timm, "cls_token").std, 1e-6, 0.4));
  for (const char* name : {"blocks.1.attn.qkv.weight", "blocks.1.attn.proj.weight",
                           "blocks.1.mlp.fc1.weight", "head.weight", "pos_embed"}) {
    CHECK(close(spread(timm, name).std, 0.02, 0.1));
    CHECK(spread(timm, name).top > 2.2 * 0.02);
  }
  CHECK(spread(timm, "blocks.1.mlp.fc1.bias").top == 0);

  const VisionTransformer hf = model(Init::hf);
  for (const char* name : {"patch_embed.proj.weight", "pos_embed", "blocks.1.attn.qkv.weight",
                           "blocks.1.mlp.fc2.weight", "head.weight", "pre_logits.weight"}) {
    CHECK(close(spread(hf, name).std, 0.02, 0.1));
  }
  CHECK(close(spread(hf, "cls_token").std, 0.02, 0.4));
  for (const char* name : {"patch_embed.proj.bias", "blocks.1.mlp.fc1.bias", "head.bias"}) {
    CHECK(spread(hf, name).top == 0);
  }

  // A head of zeros: every class is as likely as any other, and the loss begins at ln K.
  const Tensor loss =
      cross_entropy(jax(images_for(jax.config, 3, 1)), std::vector<std::size_t>{0, 5, 9});
  CHECK(std::abs(static_cast<double>(loss.item()) - std::log(10.0)) < 1e-5);
}
