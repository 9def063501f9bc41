#pragma once

#include "vitruvian/nn/layers.hpp"
#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/nn/pass.hpp"
#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/positions.hpp"

#include <optional>
#include <string_view>
#include <vector>

// The Vision Transformer, Equations 1 to 4 of the paper. Shapes stand beside every step; the
// symbols are those of vit/config.hpp.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

/// One step of the stem: a 3 x 3 convolution of stride 2, layer norm over the channels of each
/// place, ReLU (Xiao et al. 2021, arXiv 2106.14881, with the norm that knows no batch).
struct StemConvolution {
  Parameter weight;  // (C', C, 3, 3)
  LayerNorm norm;    // of C' channels

  StemConvolution(std::size_t channels_in, std::size_t channels_out, double eps);
  /// (B, C, H, W) to (B, C', H / 2, W / 2), for even sides.
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) const;
};

/// What the paper's hybrid (section 3.1) has before E; without convolutions, the identity.
struct Stem {
  std::vector<StemConvolution> convolutions;

  explicit Stem(const ViTConfig& config);
  /// (B, C, H, W) to (B, D, H / 2^stem, W / 2^stem).
  Tensor operator()(const Tensor& images, const Pass& pass = {}) const;
  void visit(Visitor& visitor) const;
};

/// x_p E of Equation 1: cuts images into patches in raster order, flattens each as (C, P, P), and
/// projects it linearly. That is a convolution of kernel and stride P, whose weight has this shape:
/// `convolve` computes it so. Where there is a stem, the patches are cut from its feature map.
struct PatchEmbed {
  bool convolve;
  Stem stem;
  Parameter weight;  // (D, C, P, P), or with a stem (D, D, P / 2^stem, P / 2^stem)
  Parameter bias;    // (D), or absent

  /// All zeros: the model initialises it.
  explicit PatchEmbed(const ViTConfig& config);
  /// (B, C, H, W) to (B, N, D); or x_p (B, N, C P^2), patches that somebody cut beforehand, in
  /// raster order and each flattened as (C, P, P), where there is no stem.
  Tensor operator()(const Tensor& images, const Pass& pass = {}) const;
  void visit(Visitor& visitor) const;
};

/// One encoder block, Equations 2 and 3: layer norm before, residual after. With `post_norm`, layer
/// norm after the residual, as in the Transformer of 2017. With LayerScale each branch is
/// multiplied by its vector before it is added.
struct Block {
  bool post_norm;
  double skipped;  ///< stochastic depth: the rate at which training skips a branch
  LayerNorm norm1;
  MultiHeadSelfAttention attn;
  std::optional<RelativePositionBias> relative;
  LayerScale ls1;  // of MSA
  LayerNorm norm2;
  Mlp mlp;
  LayerScale ls2;  // of MLP

  /// Block `index` of config.L, from 0: stochastic depth goes by it.
  Block(const ViTConfig& config, const Rng& rng, std::size_t index = 0);
  /// (B, T, D) to (B, rows, D): the first `rows` tokens of z_l, or all of them. A token of z_l
  /// needs all tokens of z_{l-1}, but no other one of z'_l and z_l.
  Tensor operator()(const Tensor& z, const Pass& pass = {},
                    std::optional<std::size_t> rows = {}) const;
  void visit(Visitor& visitor) const;

 private:
  [[nodiscard]] Tensor msa(const Tensor& z, const Pass& pass,
                           std::optional<std::size_t> rows) const;
  [[nodiscard]] Tensor branch(std::string_view name, const Tensor& f, const Pass& pass) const;
};

/// What the two heads of a distilled model say, (B, K) each.
struct BothLogits {
  Tensor of_class;         ///< the class token's head: in training, what the labels teach
  Tensor of_distillation;  ///< the distillation token's: what the teacher teaches
};

struct VisionTransformer {
  ViTConfig config;
  Parameter cls_token;   // (1, 1, D), or absent
  Parameter dist_token;  // (1, 1, D), or absent
  Parameter reg_token;   // (1, registers, D), or absent
  PositionEmbedding pos_embed;
  PatchEmbed patch_embed;
  Dropout pos_drop;
  std::vector<Block> blocks;
  LayerNorm norm;
  Linear pre_logits;  // (D, D), or absent
  Linear head;        // (K, D), or absent
  Linear head_dist;   // (K, D): the distillation token's, or absent

  /// A model of the given sizes, with initial values (see initialise). Throws when the config is
  /// not valid.
  VisionTransformer(const ViTConfig& config, const Rng& rng);

  /// Images (B, C, H, W), or patches (B, N, C P^2) as PatchEmbed takes them, to logits (B, K), or
  /// to y (B, D) without a head. A distilled model's are the mean of both heads', as DeiT infers.
  /// `pass` brings randomness (training) and a trace.
  Tensor operator()(const Tensor& images, const Pass& pass = {}) const;
  /// What each head of a distilled model says of images or patches; throws where there is one head.
  [[nodiscard]] BothLogits both_logits(const Tensor& images, const Pass& pass = {}) const;
  /// Equation 1: z_0 (B, T, D).
  Tensor embed(const Tensor& images, const Pass& pass = {}) const;
  /// Equation 1 from patches that are embedded already, x_p E (B, N, D): z_0 (B, T, D), of which
  /// the last N tokens are the patches.
  Tensor place(const Tensor& patches, const Pass& pass = {}) const;
  /// Equations 2 and 3, block after block: z_0 (B, T, D) to z_L (B, rows, D), its first `rows`
  /// tokens, or all of them.
  Tensor encode(const Tensor& z_0, const Pass& pass = {},
                std::optional<std::size_t> rows = {}) const;
  /// Equations 1 to 4 without the head: y = LN(z_L^0) (B, D), or the mean over the patches; of a
  /// distilled model both tokens', (B, 2, D).
  Tensor features(const Tensor& images, const Pass& pass = {}) const;
  /// Equation 4 for any z_l (B, T, D): y (B, D) or (B, 2, D).
  [[nodiscard]] Tensor output(const Tensor& z) const;
  /// y to logits (B, K), or to itself without a head (both tokens' mean).
  [[nodiscard]] Tensor classify(const Tensor& y) const;

  void visit(Visitor& visitor) const;

 private:
  [[nodiscard]] Tensor mean_of_patches(const Tensor& z) const;
  [[nodiscard]] BothLogits heads_of(const Tensor& y) const;
};

/// A model whose parameters are all zero, for whoever brings the values.
VisionTransformer undrawn(const ViTConfig& config);

/// Draws every parameter anew, as the code that config.init names does (requirements C3). Each
/// parameter has its own stream, keyed by its name. The paper's (jax): patches and a hidden layer
/// of the head by LeCun's normal, attention and MLP by Xavier's uniform, positions N(0, .02), MLP
/// biases N(0, 1e-6), class token, other biases and the head zero. What the paper has not is drawn
/// as by those who brought it, but under timm and hf: a distillation token N(0, .02), registers
/// N(0, 1e-6), which nothing would tell apart if they were zero. Mimetic: the same, but for
/// attention (vit/initialise.cpp) and learned positions, which begin as the waves of sincos_2d.
void initialise(const VisionTransformer& model, const Rng& rng);

/// The tiny ViT of vit/variants.hpp with every parameter drawn from N(0, 1) (layer norms' weights
/// around 1), so that nothing is so small that a wrong derivative could hide.
VisionTransformer tiny_vit_of_order_one(const Rng& rng);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
