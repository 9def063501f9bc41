// Equal on purpose: what two ways of writing the same ViT have in common, and where they part.

#include "tests/vit/vit_testing.hpp"
#include "vitruvian/core/composed.hpp"

using namespace vitruvian;
using golden::difference;

namespace {

constexpr double tight = in_double ? 1e-12 : 1e-4;

VisionTransformer tiny_with(bool ViTConfig::*const flag) {
  ViTConfig config = tiny_vit();
  config.*flag = true;
  return of_order_one(config, Rng(5));
}

// Rows [from, from + n) of a matrix, or elements of a vector.
Array rows(const Parameter& p, std::size_t from, std::size_t n) {
  return slice(p, 0, static_cast<std::ptrdiff_t>(from), static_cast<std::ptrdiff_t>(from + n))
      .value();
}

// The rows of head i in a fused U_qkv or its bias: a third of them each in q, k and v.
Array rows_of_head(const Parameter& fused, std::size_t i, std::size_t D, std::size_t D_h) {
  std::vector<Tensor> thirds;
  for (std::size_t third = 0; third < 3; ++third) {
    thirds.emplace_back(rows(fused, third * D + i * D_h, D_h));
  }
  return concat(thirds, 0).value();
}

// Images whose patches are exchanged: patch i of the result is patch order[i].
Array with_patches_in(const Array& images, const std::vector<std::size_t>& order,
                      const ViTConfig& c) {
  Array result = images;
  const std::size_t across = c.grid_width();
  for (std::size_t plane = 0; plane < images.size() / (c.H * c.W); ++plane) {
    for (std::size_t n = 0; n < order.size(); ++n) {
      for (std::size_t y = 0; y < c.P; ++y) {
        const auto pixel = [&](std::size_t patch) {
          return (plane * c.H + patch / across * c.P + y) * c.W + patch % across * c.P;
        };
        std::copy_n(images.data() + pixel(order[n]), c.P, result.data() + pixel(n));
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("unfold + linear = convolution with weight.reshape(D, -1): the same parameter") {
  for (const bool bias : {true, false}) {
    ViTConfig config = tiny_vit();
    config.patch_bias = bias;
    const VisionTransformer unfolding = of_order_one(config, Rng(5));
    CHECK(static_cast<bool>(unfolding.patch_embed.bias) == bias);
    config.conv_patches = true;
    const VisionTransformer convolving(config, Rng(1));
    copy_parameters(unfolding, convolving);
    const Tensor images = images_for(config, 3, 1);
    const Array tokens = unfolding.patch_embed(images).value();
    CHECK(difference(convolving.patch_embed(images).value(), tokens) < (in_double ? 1e-15 : 1e-6));
    check_same(logits_and_gradients(convolving, images), logits_and_gradients(unfolding, images));
  }
}

TEST_CASE("patches that are cut beforehand: the same logits and gradients as by the images") {
  for (const bool convolve : {false, true}) {
    ViTConfig config = tiny_vit();
    config.W = 12, config.P_w = 2, config.conv_patches = convolve;
    const VisionTransformer model = of_order_one(config, Rng(5));
    const Array images = random_normal({3, 2, 8, 12}, 1);
    Array x_p = empty({3, 12, 16});  // patch (y, x) flattened as (C, P, P_w), by plain loops
    std::size_t at = 0;
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t n = 0; n < 12; ++n) {
        for (std::size_t i = 0; i < 16; ++i) {
          x_p.data()[at++] = images(b, i / 8, n / 6 * 4 + i / 2 % 4, n % 6 * 2 + i % 2);
        }
      }
    }
    check_same(logits_and_gradients(model, Tensor(x_p)),
               logits_and_gradients(model, Tensor(images)));
    for (const Shape& wrong : {Shape{3, 12, 15}, Shape{3, 11, 16}, Shape{12, 16}}) {
      CHECK_FAILS_WITH(model(Tensor(zeros(wrong))), "or patches (B, 12, 16)");
    }
  }
}

TEST_CASE("one U_qkv for each head = a fused one = the einsum view of U_msa") {
  const VisionTransformer fused = of_order_one(tiny_vit(), Rng(5));
  const VisionTransformer apart = tiny_with(&ViTConfig::per_head_qkv);
  const std::size_t D = 8;
  const std::size_t D_h = 4;
  for (const NamedParameter& p : named_parameters(apart)) {
    for (const NamedParameter& q : named_parameters(fused)) {
      if (q.name == p.name) p.tensor.mutable_value() = q.tensor.value();
    }
  }
  for (std::size_t l = 0; l < 2; ++l) {
    const Linear& whole = fused.blocks[l].attn.qkv;
    for (std::size_t i = 0; i < 2; ++i) {
      const Linear& head = apart.blocks[l].attn.head_qkv[i];
      head.weight.tensor().mutable_value() = rows_of_head(whole.weight, i, D, D_h);
      head.bias.tensor().mutable_value() = rows_of_head(whole.bias, i, D, D_h);
    }
  }
  const Tensor images = images_for(tiny_vit(), 3, 1);
  CHECK(difference(apart(images).value(), fused(images).value()) < 10 * tight);

  // MSA(x) = sum over heads of (A_i v_i) U_msa^i, U_msa^i (D_h, D): rows are head-major.
  const Tensor x(random_normal({3, 5, D}, 4));
  const MultiHeadSelfAttention& attn = apart.blocks[1].attn;
  Tensor msa = reshape(attn.proj.bias, {1, 1, 8});
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<Tensor> qkv = split(attn.head_qkv[i](x), {D_h, D_h, D_h}, 2);
    const Tensor A = softmax(matmul(qkv[0], transpose(qkv[1])) / std::sqrt(static_cast<real>(D_h)));
    const auto from = static_cast<std::ptrdiff_t>(i * D_h);
    const Tensor U_msa = transpose(slice(attn.proj.weight, 1, from, from + 4));
    msa = msa + matmul(matmul(A, qkv[2]), U_msa);
  }
  CHECK(difference(msa.value(), attn(x).value()) < tight);
  CHECK(difference(msa.value(), fused.blocks[1].attn(x).value()) < tight);
}

TEST_CASE("attention maps are those before dropout: one (B, h, T, T) a layer, rows sum to 1") {
  for (const bool per_head : {false, true}) {
    ViTConfig config = tiny_vit();
    config.attention_dropout = config.dropout = 0.4;
    config.per_head_qkv = per_head;
    const VisionTransformer model = of_order_one(config, Rng(5));
    const Rng rng(1);
    const Composed probabilities_too;
    Trace trace;
    model(images_for(config, 2, 12), {.rng = &rng, .trace = &trace});
    std::size_t maps = 0;
    for (const Trace::Entry& entry : trace.entries()) {
      if (!entry.name.ends_with("attn.probs")) continue;
      ++maps;
      CHECK(entry.symbols == "(B, h, T, T)");
      const Array& probs = entry.tensor.value();
      REQUIRE(probs.shape() == Shape{2, 2, 5, 5});
      for (std::size_t row = 0; row < 2 * 2 * 5; ++row) {
        const real* const p = probs.data() + row * 5;
        CHECK(std::abs(std::accumulate(p, p + 5, real{0}) - 1) < (in_double ? 1e-14 : 1e-6));
      }
    }
    CHECK(maps == config.L);
  }
}

TEST_CASE("without positions a ViT does not know where its patches were") {
  ViTConfig config = tiny_vit();
  config.positions = Positions::none;
  const VisionTransformer model = of_order_one(config, Rng(5));
  const std::vector<std::size_t> order{2, 0, 3, 1};
  const Array images = random_normal({2, 2, 8, 8}, 7);
  const Array exchanged = with_patches_in(images, order, config);
  CHECK(difference(exchanged, images) > 1e-3);
  Trace before;
  Trace after;
  const Array logits = model(Tensor(images), {.trace = &before}).value();
  CHECK(difference(model(Tensor(exchanged), {.trace = &after}).value(), logits) < tight);
  // The encoder is equivariant: the tokens change places as their patches did.
  const std::vector<std::size_t> tokens{0, 3, 1, 4, 2};
  const Tensor z = index_select(before.at("blocks.1.z"), 1, tokens);
  CHECK(difference(after.at("blocks.1.z").value(), z.value()) < tight);
  // Every other kind of position sees the difference.
  for (const Positions positions : {Positions::learned, Positions::learned_2d, Positions::sincos,
                                    Positions::sincos_2d, Positions::relative}) {
    config.positions = positions;
    const VisionTransformer knowing = of_order_one(config, Rng(5));
    CHECK(difference(knowing(Tensor(exchanged)).value(), knowing(Tensor(images)).value()) > 1e-3);
  }
}

TEST_CASE("the last layer norm: all tokens or one is the same for a token, not for a mean") {
  const VisionTransformer model = of_order_one(tiny_vit(), Rng(5));
  const Tensor z(random_normal({3, 5, 8}, 9));
  const Array all = select(model.norm(z), 1, 0).value();
  CHECK(difference(model.norm(select(z, 1, 0)).value(), all) == 0);

  const VisionTransformer norm_first = tiny_with(&ViTConfig::mean_pooling);
  ViTConfig config = norm_first.config;
  config.norm_after_pooling = true;
  const VisionTransformer mean_first(config, Rng(1));
  copy_parameters(norm_first, mean_first);
  const Tensor images = images_for(config, 2, 3);
  Trace trace;
  const Array y = norm_first.features(images, {.trace = &trace}).value();
  const Tensor& z_L = trace.at("blocks.1.z");
  CHECK(difference(y, mean(norm_first.norm(z_L), {1}).value()) < tight);
  const Array other = mean_first.features(images).value();
  CHECK(difference(other, mean_first.norm(mean(z_L, {1})).value()) < tight);
  CHECK(difference(other, y) > 0.02);
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
  CHECK(difference(sum, together) < tight);
}

TEST_CASE("the key's bias has no gradient: softmax does not see it") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const Tensor images = images_for(model.config, 2, 10);
  const Tensor logits = model(images);
  logits.backward(random_normal({2, 3}, 11));
  const Array before = logits.value();
  const Parameter& bias = model.blocks[0].attn.qkv.bias;
  const double scale = largest(*bias.grad());
  CHECK(scale > 1e-3);
  const WriteGuard guard = bias.tensor().mutable_value();
  for (std::size_t i = 8; i < 16; ++i) {
    CHECK(std::abs(static_cast<double>(bias.grad()->data()[i])) <
          scale * (in_double ? 1e-13 : 1e-5));
    (*guard)(i) += real(0.5);
  }
  CHECK(difference(model(images).value(), before) < tight);
  (*guard)(0) += real(0.5);  // the query's bias is seen
  CHECK(difference(model(images).value(), before) > 1e-3);
}

TEST_CASE("D_h = D / h keeps parameters and qkv's multiply-adds, whatever h") {
  ViTConfig config;
  const ViTConfig four = config;
  for (const std::size_t h : {1, 2, 8, 16, 64}) {
    config.h = h;
    CHECK(config.D_h() * h == config.D);
    CHECK(config.parameters() == four.parameters());
    CHECK(config.macs() == four.macs());
    CHECK(VisionTransformer(config, Rng(1)).blocks[0].attn.qkv.weight.tensor().size() ==
          3 * 64 * 64);
  }
}

TEST_CASE("BatchNorm and LayerNorm on one small matrix: features over the batch, or each sample") {
  // Rows are samples, columns features. Column means 2, 5, 4; every column deviates by -1, 0, +1 of
  // its step, so that batch norm gives -s, 0, s with s = sqrt(3/2).
  const Tensor x(array({3, 3}, {1, 5, 0,  //
                                2, 7, 4,  //
                                3, 3, 8}));
  const double s = std::sqrt(1.5);
  const double tolerance = in_double ? 1e-11 : 1e-5;
  const Array batch = batch_norm(x, {}, {}, 1e-12).value();
  CHECK(difference(batch, array({3, 3}, {-s, 0, -s,  //
                                         0, s, 0,    //
                                         s, -s, s})) < tolerance);
  // Row means 2, 13/3, 14/3; biased variances 14/3, 38/9, 50/9.
  const auto row = [](double a, double b, double c) {
    const double m = (a + b + c) / 3;
    const double v = ((a - m) * (a - m) + (b - m) * (b - m) + (c - m) * (c - m)) / 3;
    return std::vector<double>{(a - m) / std::sqrt(v), (b - m) / std::sqrt(v),
                               (c - m) / std::sqrt(v)};
  };
  std::vector<double> expected;
  for (const auto& values : {row(1, 5, 0), row(2, 7, 4), row(3, 3, 8)}) {
    expected.insert(expected.end(), values.begin(), values.end());
  }
  CHECK(std::abs(expected[0] + 1 / std::sqrt(14.0 / 3)) < 1e-15);
  const Array layer = layer_norm(x, {3}, {}, {}, 1e-12).value();
  CHECK(difference(layer, array({3, 3}, expected)) < tolerance);
  // A sample's layer norm does not depend on the others; its batch norm does.
  const Tensor alone = slice(x, 0, 0, 1);
  CHECK(difference(layer_norm(alone, {3}, {}, {}, 1e-12).value(),
                   slice(Tensor(layer), 0, 0, 1).value()) == 0);
  CHECK(largest(batch_norm(alone, {}, {}, 1e-12).value()) == 0);
}
