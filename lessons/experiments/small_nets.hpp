#pragma once

#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/vit/model.hpp"

// What the lesson on inductive bias measures, for digits (B, 1, 28, 28).

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

// [region maps]
// Four ways from an image (1, 1, 28, 28) to a map (1, channels, h, w).
struct Maps {
  Array kernel, matrix;
  VisionTransformer vit;

  // 3 x 3, on an image that goes once around: two more rows and columns.
  [[nodiscard]] Tensor convolution(const Tensor& x) const {
    const Tensor tall = concat({x, slice(x, 2, 0, 2)}, 2);
    return conv2d(concat({tall, slice(tall, 3, 0, 2)}, 3), kernel, {});
  }
  // One linear layer over all pixels.
  [[nodiscard]] Tensor dense(const Tensor& x) const {
    return reshape(linear(reshape(x, {1, -1}), matrix), {1, 1, 28, 28});
  }
  // Tokens (1, 16, D) as a map.
  [[nodiscard]] Tensor grid(const Tensor& tokens) const {
    return reshape(transpose(tokens, 1, 2), {1, std::ptrdiff_t(vit.config.D), 4, 4});
  }
  [[nodiscard]] Tensor patches(const Tensor& x) const { return grid(vit.patch_embed(x)); }
  [[nodiscard]] Tensor encoder(const Tensor& x, bool positions) const {
    Tensor z = vit.patch_embed(x);
    if (positions) z = z + slice(vit.pos_embed.table, 1, 1, 17);
    for (const Block& block : vit.blocks) z = block(z);
    return grid(z);
  }
};
// [end]

/// All numbers drawn at random: the ViT with D = 32 and two blocks, its positions from N(0, 1/4).
inline Maps maps(std::uint64_t seed) {
  ViTConfig c;
  c.D = 32, c.L = 2, c.M = 64;
  Maps m{random_normal({1, 1, 3, 3}, seed), random_normal({28 * 28, 28 * 28}, seed + 1),
         VisionTransformer(c, Rng(seed).fork("weights"))};
  init::normal(m.vit.pos_embed.table, Rng(seed).fork("positions"), 0.5);
  return m;
}

/// Every image two pixels down and two to the right: the margin of a digit is four wide.
inline Dataset moved(const Dataset& data) {
  Dataset result = data;
  const std::size_t n = data.image_size(), W = data.width;
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    const std::size_t y = i % n / W, x = i % W;
    result.pixels[i] = y < 2 || x < 2 ? std::uint8_t{0} : data.pixels[i - 2 * W - 2];
  }
  return result;
}

// [region mlp and cnn]
struct MlpNet {  // 784 numbers in a row: nobody says which are neighbours
  Linear fc1, fc2;
  explicit MlpNet(const Rng& rng)
      : fc1(784, 32, rng.fork("1")),  //
        fc2(32, 10, rng.fork("2")) {}
  Tensor operator()(const Tensor& x) const {
    return fc2(gelu(fc1(reshape(x, {std::ptrdiff_t(x.size(0)), -1}))));
  }
  void visit(Visitor& v) const { v.child("fc1", fc1), v.child("fc2", fc2); }
};
struct ConvNet {  // three convolutions, then the mean over all places
  Parameter w1, w2, w3;
  Linear head;
  explicit ConvNet(const Rng& rng)
      : w1(zeros({16, 1, 5, 5})),
        w2(zeros({32, 16, 3, 3})),
        w3(zeros({32, 32, 3, 3})),
        head(32, 10, rng.fork("head")) {
    init::kaiming_uniform(w1, rng.fork("1"));
    init::kaiming_uniform(w2, rng.fork("2"));
    init::kaiming_uniform(w3, rng.fork("3"));
  }
  Tensor operator()(const Tensor& x) const {
    const Tensor a = relu(conv2d(x, w1, {}, 2, 2));  // every second place
    const Tensor b = relu(conv2d(relu(conv2d(a, w2, {}, 1, 1)), w3, {}, 1, 1));
    return head(mean(b, {2, 3}));
  }
  void visit(Visitor& v) const {
    v.parameter("w1", Role::weight, w1), v.parameter("w2", Role::weight, w2);
    v.parameter("w3", Role::weight, w3), v.child("head", head);
  }
};
// [end]

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
