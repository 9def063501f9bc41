// The Vision Transformer: PyTorch's numbers, the paper's counts, what the equations imply, and what
// each switch of the config changes.

#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/vit/waves.hpp"

using namespace vitruvian;

namespace {

const Array& value_of(const VisionTransformer& model, const std::string& name) {
  for (const NamedParameter& p : named_parameters(model)) {
    if (p.name == name) return p.tensor.value();
  }
  FAIL("no parameter is called " << name);
  return model.norm.weight.value();
}

// Holds the derivatives by all parameters whose names begin so against differences, and says how
// many numbers that were.
std::size_t check_derivatives(const VisionTransformer& model, const Tensor& images,
                              const std::string& beginning = "") {
  std::size_t checked = 0;
  for (const NamedParameter& p : named_parameters(model)) {
    if (!p.name.starts_with(beginning)) continue;
    const auto report = gradcheck([&] { return model(images); }, {p.tensor}, {.strict = true});
    INFO(p.name << " " << report.problem << " error " << report.error);
    CHECK(report.passed);
    CHECK(report.checked >= p.tensor.size());
    checked += report.checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("logits, loss, intermediates and every gradient are PyTorch's") {
  const GoldenVit vit;
  const double tolerance = in_double ? 1e-10 : 2e-5;
  check_golden(vit.model, vit.images, vit.labels, vit.json, tolerance, tolerance);

  const Composed probabilities_too;
  Trace trace;
  vit.model(vit.images, {.trace = &trace});
  for (const auto& item : vit.json["trace"].items()) {  // clang 14 captures no structured binding
    INFO(item.first);
    CHECK(golden::difference(trace.at(item.first).value(), golden::tensor(item.second)) <
          tolerance);
  }
}

TEST_CASE("the demonstration of the sources: shapes and 1,077,706 parameters") {
  const ViTConfig config = variant("mini_vit").config;
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

TEST_CASE("the names are timm's") {
  const auto has = [](const ViTConfig& config, const std::vector<const char*>& expected) {
    std::set<std::string> names;
    for (const NamedParameter& p : named_parameters(undrawn(config))) names.insert(p.name);
    for (const char* name : expected) CHECK_MESSAGE(names.contains(name), name);
  };
  has(tiny_vit(), {"cls_token", "pos_embed", "patch_embed.proj.weight", "patch_embed.proj.bias",
                   "blocks.0.norm1.weight", "blocks.0.attn.qkv.weight", "blocks.1.attn.proj.bias",
                   "blocks.1.norm2.bias", "blocks.1.mlp.fc1.weight", "blocks.1.mlp.fc2.bias",
                   "norm.weight", "head.weight", "head.bias"});
  ViTConfig more = tiny_vit();
  more.distilled = more.qk_norm = more.swiglu = true, more.registers = 4, more.layer_scale = 1;
  has(more, {"dist_token", "reg_token", "blocks.0.ls1.gamma", "blocks.1.ls2.gamma",
             "blocks.0.attn.q_norm.weight", "blocks.1.attn.k_norm.bias", "head_dist.weight"});
}

TEST_CASE("the class token's row alone is the whole last block: logits and every gradient") {
  ViTConfig config = tiny_vit();
  config.dropout = config.attention_dropout = 0.3;  // counted by their place in the whole
  const VisionTransformer model(config, Rng(1));
  copy_parameters(tiny_vit_of_order_one(Rng(5)), model);
  const Rng rng(8);
  const Tensor images = images_for(model.config, 3, 12);
  Trace trace;  // whoever traces sees every row
  const auto whole = logits_and_gradients(model, images, {.rng = &rng, .trace = &trace});
  const auto row = logits_and_gradients(model, images, {.rng = &rng});
  check_same(row, whole);
  CHECK(trace.at("blocks.1.z").shape() == Shape{3, 5, 8});
  for (const std::size_t rows : {1, 3, 5}) {
    CHECK(model.blocks[1](trace.at("blocks.0.z"), {}, rows).shape() == Shape{3, rows, 8});
  }
}

TEST_CASE("a distilled model asks with two rows alone, and its logits are the mean of two heads'") {
  ViTConfig config = tiny_vit();
  config.distilled = true, config.registers = 2, config.dropout = config.attention_dropout = 0.3;
  const VisionTransformer model = of_order_one(config, Rng(5));
  const Rng rng(8);
  const Tensor images = images_for(config, 3, 12);
  Trace trace;
  const auto whole = logits_and_gradients(model, images, {.rng = &rng, .trace = &trace});
  const auto rows = logits_and_gradients(model, images, {.rng = &rng});
  check_same(rows, whole);
  CHECK(trace.at("z_0").shape() == Shape{3, 8, 8});
  CHECK(trace.at("y").shape() == Shape{3, 2, 8});
  const auto [of_class, of_distillation] = model.both_logits(images);
  CHECK(golden::difference(((of_class + of_distillation) * real(0.5)).value(),
                           model(images).value()) == 0);
  CHECK(golden::difference(of_class.value(), of_distillation.value()) > 0.1);
  // Each head's loss reaches its own weights, and both tokens.
  const auto gradients = grad(sum(square(of_distillation)),
                              {model.head.weight, model.dist_token, model.head_dist.weight});
  CHECK(largest(gradients[0]) == 0);
  CHECK(largest(gradients[1]) > 0);
  CHECK(largest(gradients[2]) > 0);
  CHECK_FAILS_WITH(VisionTransformer(tiny_vit(), Rng(1)).both_logits(images),
                   "only a distilled model with a head has two of them");
}

TEST_CASE("registers have no position, and nothing tells one from another but its value") {
  ViTConfig config = tiny_vit();
  config.registers = 3;
  const VisionTransformer model = of_order_one(config, Rng(5));
  CHECK(model.pos_embed.table.shape() == Shape{1, 5, 8});
  const Tensor images = images_for(config, 2, 12);
  const Array z_0 = model.embed(images).value();
  const Array logits = model(images).value();
  const Array& registers = model.reg_token.value();
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t d = 0; d < 8; ++d) CHECK(z_0(1, 1 + r, d) == registers(0, r, d));
  }
  const Tensor all = model.reg_token;
  all.mutable_value() = concat({slice(all, 1, 2, 3), slice(all, 1, 0, 2)}, 1).value();
  CHECK(golden::difference(model(images).value(), logits) < (in_double ? 1e-13 : 1e-5));
  // They begin apart, whoever initialises: alike, they would stay alike.
  for (const Init init : {Init::jax, Init::torchvision, Init::timm, Init::hf, Init::mimetic}) {
    config.init = init;
    const VisionTransformer fresh(config, Rng(3));
    CHECK(fresh.reg_token.value()(0, 0, 0) != fresh.reg_token.value()(0, 1, 0));
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
  CHECK_SAYS(
      model(Tensor(zeros({1, 3, 8, 8}))),
      "vit: images of shape (1, 3, 8, 8), but the model takes (B, 2, 8, 8), or patches (B, 4, 32)");
  VisionTransformer broken(tiny_vit(), Rng(1));
  broken.blocks[1].mlp.fc1 = Linear(9, 12, Rng(1));
  CHECK_FAILS_WITH(broken(images_for(broken.config, 1, 1)), "in blocks.1.mlp.fc1");
}

TEST_CASE("every parameter of a whole ViT, drawn at order one, against differences" *
          doctest::skip(!in_double)) {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(1));
  CHECK(check_derivatives(model, images_for(model.config, 2, 2)) >= model.config.parameters());
}

TEST_CASE("every parameter of a whole ViT with a stem, against differences" *
          doctest::skip(!in_double)) {
  ViTConfig c = tiny_vit();
  c.stem = 2;
  const VisionTransformer model = of_order_one(c, Rng(12));  // no ReLU near its kink
  const Tensor images(images_for(c, 2, 2).value(), true);
  CHECK(check_derivatives(model, images, "patch_embed") >=
        (9 * 2 + 2) * 4 + (9 * 4 + 2) * 8 + 8 * 8 + 8);
  const auto report = gradcheck([&] { return model(images); }, {images}, {.strict = true});
  INFO("pixels " << report.problem << " error " << report.error);
  CHECK(report.passed);
}

TEST_CASE("a stem: each of its maps, and who may not cut patches beforehand") {
  ViTConfig c = tiny_vit();
  c.stem = 2, c.D = 16;
  const VisionTransformer model = of_order_one(c, Rng(1));
  Trace trace;
  model(images_for(c, 3, 2), {.trace = &trace});
  CHECK(trace.at("patch_embed.stem.0").shape() == Shape{3, 8, 4, 4});
  CHECK(trace.at("patch_embed.stem.1").shape() == Shape{3, 16, 2, 2});
  CHECK(model.patch_embed.weight.shape() == Shape{16, 16, 1, 1});
  CHECK(trace.at("patches").shape() == Shape{3, 4, 16});
  CHECK_SAYS(
      model(Tensor(zeros({1, 4, 32}))),
      "vit: images of shape (1, 4, 32), but the model takes (B, 2, 8, 8), and no patches: its "
      "stem looks beyond their edges");
}

TEST_CASE("training_bytes counts what the stem keeps on the tape, to the byte") {
  // What an image more keeps, with a stem and without one: all else is the same in both.
  const auto kept = [](const ViTConfig& c, std::size_t B) {
    const VisionTransformer model(c, Rng(1));
    const Tensor images = images_for(c, B, 2);
    const std::size_t before = memory::bytes();
    const Tensor patches = model.patch_embed(images);
    return memory::bytes() - before;
  };
  ViTConfig c{.C = 3, .H = 64, .W = 64, .P = 16, .D = 64, .L = 1, .h = 4, .M = 64, .K = 3};
  ViTConfig plain = c;
  c.stem = 3;
  // It does not count a norm's statistics, two numbers a place, and E as a matrix.
  const std::size_t statistics = 8 * 2 * (32 * 32 + 16 * 16 + 8 * 8);
  const std::size_t E = c.embedded_length() * c.D, plain_E = plain.patch_length() * c.D;
  const std::size_t counted = c.training_bytes(8, sizeof(real)) -
                              plain.training_bytes(8, sizeof(real)) -
                              4 * sizeof(real) * (c.parameters() - plain.parameters());
  CHECK(kept(c, 8) - kept(plain, 8) + sizeof(real) * (plain_E - E) ==
        counted + sizeof(real) * statistics);
}

TEST_CASE("the same of the parts that came after the paper" * doctest::skip(!in_double)) {
  const auto check = [](const std::string& name, auto change) {
    CAPTURE(name);
    ViTConfig config = tiny_vit();
    change(config);
    const VisionTransformer model = of_order_one(config, Rng(1));
    // Half as large, so that no softmax is so sharp, and no branch so small beside another, that
    // differences of it are coarse.
    for (const NamedParameter& p : named_parameters(model)) {
      if (!p.name.starts_with("blocks.") || p.name.find(".norm") != std::string::npos) continue;
      const WriteGuard values = p.tensor.mutable_value();
      for (real& x : *values) x *= real(0.5);
    }
    CHECK(check_derivatives(model, images_for(config, 2, 2)) >= config.parameters());
  };
  check("layer_scale", [](ViTConfig& c) { c.layer_scale = 1; });
  check("registers", [](ViTConfig& c) { c.registers = 2; });
  check("distilled", [](ViTConfig& c) { c.distilled = true; });
  // Four numbers may have next to no deviation, and a norm then any curvature: eps is large.
  check("qk_norm", [](ViTConfig& c) { c.qk_norm = true, c.eps = 0.5; });
  check("swiglu", [](ViTConfig& c) { c.swiglu = true; });
}

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

    // The multiply-adds are those of the products that are computed.
    std::uint64_t macs = 0;
    for (const NamedParameter& p : named_parameters(model)) {
      if (p.role != Role::weight) continue;
      std::size_t times = 0;
      if (p.name.starts_with("blocks")) times = c.T();
      if (p.name.starts_with("patch_embed.proj")) times = c.N();
      if (p.name.starts_with("patch_embed.stem.0")) times = c.H * c.W / 4;
      if (p.name.starts_with("patch_embed.stem.1")) times = c.H * c.W / 16;
      macs += times * p.tensor.size();
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

TEST_CASE("positions: what each of them adds") {
  ViTConfig c = tiny_vit();
  c.H = 8, c.W = 12;  // two rows of three patches
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
  // The largest magnitude of uniform numbers, or the standard deviation; of normal ones, perhaps,
  // that are not cut off at two of these.
  enum class Of { bound, std, uncut };
  struct Row {
    Init init;
    std::vector<const char*> names;
    Of of;
    double value, within;
  };
  // Drawn at D 64: Xavier's bound is sqrt(6 / 128) for a D x D matrix, PyTorch's default 1 / 8.
  const double fan_in = 3 * 7 * 7;
  const double lecun = std::sqrt(1 / fan_in);
  const double xavier = std::sqrt(6.0 / 128);
  const double xavier_mlp = std::sqrt(6.0 / 320);
  using enum Init;
  const std::vector<Row> rows{
      {jax, {"patch_embed.proj.weight"}, Of::std, lecun, 0.03},
      {jax, {"pre_logits.weight"}, Of::std, 1.0 / 8, 0.03},
      {jax, {"pos_embed"}, Of::std, 0.02, 0.1},
      {jax, {"blocks.2.attn.qkv.weight", "blocks.2.attn.proj.weight"}, Of::bound, xavier, 0.01},
      {jax, {"blocks.2.mlp.fc1.weight"}, Of::bound, xavier_mlp, 0.01},
      {jax, {"blocks.2.mlp.fc1.bias"}, Of::std, 1e-6, 0.2},
      {jax, {"blocks.2.norm1.weight"}, Of::std, 1, 0},
      {jax, {"cls_token", "patch_embed.proj.bias", "head.weight", "head.bias"}, Of::bound, 0, 0},
      {jax, {"blocks.2.norm1.bias", "blocks.2.attn.qkv.bias"}, Of::bound, 0, 0},

      {torchvision, {"patch_embed.proj.weight"}, Of::uncut, lecun, 0.03},
      {torchvision, {"blocks.2.attn.qkv.weight"}, Of::bound, std::sqrt(6.0 / 256), 0.01},
      {torchvision, {"blocks.2.attn.proj.weight"}, Of::bound, 1.0 / 8, 0.01},
      {torchvision, {"blocks.2.mlp.fc2.weight"}, Of::bound, xavier_mlp, 0.01},
      {torchvision, {"blocks.2.mlp.fc2.bias"}, Of::std, 1e-6, 0.3},
      {torchvision, {"pos_embed"}, Of::std, 0.02, 0.1},
      {torchvision, {"cls_token", "head.weight", "blocks.0.attn.proj.bias"}, Of::bound, 0, 0},

      {timm, {"patch_embed.proj.weight"}, Of::bound, lecun, 0.01},
      {timm, {"patch_embed.proj.bias"}, Of::bound, lecun, 0.1},
      {timm, {"cls_token"}, Of::std, 1e-6, 0.4},
      {timm, {"blocks.1.attn.qkv.weight", "blocks.1.attn.proj.weight"}, Of::uncut, 0.02, 0.1},
      {timm, {"blocks.1.mlp.fc1.weight", "head.weight", "pos_embed"}, Of::uncut, 0.02, 0.1},
      {timm, {"blocks.1.mlp.fc1.bias"}, Of::bound, 0, 0},

      {hf, {"patch_embed.proj.weight", "pos_embed", "head.weight"}, Of::std, 0.02, 0.1},
      {hf, {"pre_logits.weight", "blocks.1.attn.qkv.weight"}, Of::std, 0.02, 0.1},
      {hf, {"blocks.1.mlp.fc2.weight"}, Of::std, 0.02, 0.1},
      {hf, {"cls_token"}, Of::std, 0.02, 0.4},
      {hf, {"patch_embed.proj.bias", "blocks.1.mlp.fc1.bias", "head.bias"}, Of::bound, 0, 0}};
  const auto check = [](const ViTConfig& c, const Row& row) {
    const VisionTransformer model(c, Rng(3));
    for (const char* const name : row.names) {
      CAPTURE(static_cast<int>(row.init));
      CAPTURE(name);
      const Array& a = value_of(model, name);
      const double top = largest(a);
      const double std = std::sqrt(mean(square(Tensor(a))).item());
      CHECK(std::abs((row.of == Of::bound ? top : std) - row.value) <= row.within * row.value);
      if (row.of == Of::bound) CHECK(top <= row.value * (1 + 1e-6));
      if (row.of == Of::uncut) CHECK(top > 2.2 * row.value);
    }
  };
  for (const Row& row : rows) check({.C = 3, .head = Head::tanh, .init = row.init}, row);
  // A stem of 3 to 32 to 64 channels, and E of 64 x 2 x 2.
  constexpr const char* first = "patch_embed.stem.0.conv.weight";
  constexpr const char* second = "patch_embed.stem.1.conv.weight";
  constexpr const char* E = "patch_embed.proj.weight";
  const std::vector<Row> of_stem{{jax, {first}, Of::std, std::sqrt(1.0 / 27), 0.06},
                                 {jax, {second}, Of::std, std::sqrt(1.0 / 288), 0.03},
                                 {jax, {E}, Of::std, 1.0 / 16, 0.03},
                                 {torchvision, {second}, Of::bound, std::sqrt(1.0 / 288), 0.01},
                                 {torchvision, {E}, Of::uncut, std::sqrt(2.0 / 64), 0.03},
                                 {timm, {second}, Of::bound, std::sqrt(1.0 / 288), 0.01},
                                 {timm, {E, "patch_embed.proj.bias"}, Of::bound, 1.0 / 16, 0.05},
                                 {hf, {second}, Of::std, 0.02, 0.1},
                                 {jax, {"patch_embed.stem.1.norm.weight"}, Of::std, 1, 0},
                                 {timm, {"patch_embed.stem.1.norm.weight"}, Of::std, 1, 0},
                                 {timm, {"patch_embed.stem.1.norm.bias"}, Of::bound, 0, 0}};
  for (const Row& row : of_stem) {
    check({.C = 3, .H = 32, .W = 32, .P = 8, .stem = 2, .init = row.init}, row);
  }
  for (const Init init : {jax, torchvision, timm, hf}) {
    check({.C = 3, .layer_scale = 0.25, .init = init},
          {init, {"blocks.1.ls2.gamma"}, Of::std, 0.25, 1e-6});
  }
  // A head of zeros: every class is as likely as any other, and the loss begins at ln K.
  const VisionTransformer model(ViTConfig{}, Rng(3));
  const Tensor loss =
      cross_entropy(model(images_for(model.config, 3, 1)), std::vector<std::size_t>{0, 5, 9});
  CHECK(std::abs(static_cast<double>(loss.item()) - std::log(10.0)) < 1e-5);
}
