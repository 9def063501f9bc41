#include "vit/model.hpp"

#include "core/error.hpp"
#include "core/ops.hpp"
#include "nn/init.hpp"

#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

const ViTConfig& valid(const ViTConfig& config) {
  config.validate();
  return config;
}

std::vector<Block> encoder(const ViTConfig& config, const Rng& rng) {
  const init::Off values_come_later;  // from initialise()
  std::vector<Block> blocks;
  blocks.reserve(config.L);
  for (std::size_t i = 0; i < config.L; ++i) blocks.emplace_back(config, rng, i);
  return blocks;
}

}  // namespace

PatchEmbed::PatchEmbed(const ViTConfig& c)
    : convolve(c.conv_patches), weight(zeros({c.D, c.C, c.patch_height(), c.patch_width()})) {
  if (c.patch_bias) bias = Parameter(zeros({c.D}));
}

Tensor PatchEmbed::operator()(const Tensor& images, const Pass& pass) const {
  const std::size_t P = weight.shape()[2];
  const std::size_t P_w = weight.shape()[3];
  const auto D = static_cast<std::ptrdiff_t>(weight.shape()[0]);
  const bool cut = images.rank() == 3;  // beforehand
  if (convolve && !cut) {
    const Tensor grid = conv2d(images, weight, bias, {P, P_w});
    pass.note("grid", "(B, D, H / P, W / P)", grid);
    const auto B = static_cast<std::ptrdiff_t>(grid.size(0));
    return transpose(
        reshape(grid, {B, D, static_cast<std::ptrdiff_t>(grid.size(2) * grid.size(3))}));
  }
  const Tensor x_p =
      cut ? images : unfold(images, {.height = P, .width = P_w, .stride_y = P, .stride_x = P_w});
  pass.note("x_p", "(B, N, C P^2)", x_p);
  return linear(x_p, reshape(weight, {D, -1}), bias);
}

void PatchEmbed::visit(Visitor& visitor) const {
  visitor.parameter("proj.weight", Role::weight, weight);
  visitor.parameter("proj.bias", Role::bias, bias);
}

Block::Block(const ViTConfig& c, const Rng& rng, std::size_t index)
    : post_norm(c.post_norm),
      skipped(c.L < 2
                  ? c.stochastic_depth
                  : c.stochastic_depth * static_cast<double>(index) / static_cast<double>(c.L - 1)),
      norm1({c.D}, c.eps),
      attn(c.D, c.h, rng,
           {.qkv_bias = c.qkv_bias,
            .attn_drop = c.attention_dropout,
            .proj_drop = c.projection_dropout.value_or(c.dropout),
            .proj_bias = c.proj_bias,
            .per_head = c.per_head_qkv}),
      norm2({c.D}, c.eps),
      mlp(c.D, c.M, rng, c.mlp_dropout.value_or(c.dropout), {.tanh = c.gelu_tanh}, c.proj_bias) {
  if (c.positions == Positions::relative) relative.emplace(c);
}

Tensor Block::msa(const Tensor& z, const Pass& pass) const {
  return under("attn", attn, z, pass, relative ? (*relative)() : Tensor());
}

// The branch of a residual, which training skips for some images.
Tensor Block::branch(std::string_view name, const Tensor& f, const Pass& pass) const {
  if (pass.rng == nullptr || skipped == 0) return f;
  return stochastic_depth(f, skipped, pass.unused(pass.rng->fork(Scope::path()).fork(name)));
}

Tensor Block::operator()(const Tensor& z, const Pass& pass) const {
  if (post_norm) return with_post_norm(z, pass);
  // z'_l = MSA(LN(z_{l-1})) + z_{l-1}                                                       (Eq. 2)
  const Tensor update = branch("msa", msa(under("norm1", norm1, z), pass), pass);
  const auto [z_prime, norm_z_prime] = under("norm2", norm2, update, z);  // the sum and its norm
  pass.note("z_prime", "(B, T, D)", z_prime);
  // z_l = MLP(LN(z'_l)) + z'_l                                                              (Eq. 3)
  const Tensor z_next = branch("mlp", under("mlp", mlp, norm_z_prime, pass), pass) + z_prime;
  pass.note("z", "(B, T, D)", z_next);
  return z_next;
}

// z'_l = LN(MSA(z_{l-1}) + z_{l-1})    z_l = LN(MLP(z'_l) + z'_l)
Tensor Block::with_post_norm(const Tensor& z, const Pass& pass) const {
  const Tensor z_prime = under("norm1", norm1, branch("msa", msa(z, pass), pass), z).norm;
  pass.note("z_prime", "(B, T, D)", z_prime);
  const Tensor hidden = branch("mlp", under("mlp", mlp, z_prime, pass), pass);
  const Tensor z_next = under("norm2", norm2, hidden, z_prime).norm;
  pass.note("z", "(B, T, D)", z_next);
  return z_next;
}

Tensor Block::class_token(const Tensor& z, const Pass& pass) const {
  const Tensor attended = under(
      "attn", [&](const Tensor& x) { return attn.first_token(x); }, under("norm1", norm1, z));
  const Tensor update = branch("msa", attended, pass);
  const auto [z_prime, norm_z_prime] = under("norm2", norm2, update, slice(z, 1, 0, 1));
  return branch("mlp", under("mlp", mlp, norm_z_prime), pass) + z_prime;
}

void Block::visit(Visitor& visitor) const {
  visitor.child("norm1", norm1);
  visitor.child("attn", attn);
  if (relative) {
    visitor.parameter("attn.relative_position_bias_table", Role::position, relative->table);
  }
  visitor.child("norm2", norm2);
  visitor.child("mlp", mlp);
}

VisionTransformer::VisionTransformer(const ViTConfig& c, const Rng& rng)
    : config(valid(c)),
      pos_embed(c),
      patch_embed(c),
      pos_drop{c.embedding_dropout.value_or(c.dropout)},
      blocks(encoder(c, rng)),
      norm({c.D}, c.eps) {
  if (!c.mean_pooling) cls_token = Parameter(zeros({1, 1, c.D}));
  if (c.head == Head::tanh) pre_logits = Linear(c.D, c.D, rng);
  if (c.head != Head::none) head = Linear(c.D, c.K, rng);
  initialise(*this, rng);
}

Tensor VisionTransformer::embed(const Tensor& images, const Pass& pass) const {
  const std::size_t B = images.rank() == 0 ? 0 : images.shape()[0];
  if (images.shape() != Shape{B, config.C, config.H, config.W} &&
      images.shape() != Shape{B, config.N(), config.patch_length()}) {
    fail("vit: images of shape {}, but the model takes (B, {}, {}, {}), or patches (B, {}, {})",
         to_string(images.shape()), config.C, config.H, config.W, config.N(),
         config.patch_length());
  }
  // z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos                                          (Eq. 1)
  const Tensor patches = under("patch_embed", patch_embed, images, pass);
  pass.note("patches", "(B, N, D)", patches);
  Tensor tokens = patches;
  if (cls_token) {
    tokens = concat({broadcast_to(cls_token, {B, 1, config.D}), patches}, 1);
  }
  const Tensor z_0 = pos_embed(tokens);
  pass.note("z_0", "(B, T, D)", z_0);
  return under("pos_drop", pos_drop, z_0, pass);
}

// Equation 4 reads z_L^0 and nothing else of z_L. Where nobody watches and no dropout counts its
// elements, the last block need not compute the other rows: 10/12 of a block's products. (Variants
// of the block compute all rows.)
bool VisionTransformer::only_class_token_is_read(const Pass& pass) const {
  const Block& last = blocks.back();
  const bool drops = pass.rng != nullptr && (last.attn.attn_drop > 0 || last.attn.proj_drop.p > 0 ||
                                             last.mlp.drop1.p > 0 || last.mlp.drop2.p > 0);
  const bool variant = !cls_token || last.post_norm || last.relative || config.per_head_qkv;
  return pass.trace == nullptr && !drops && !variant && !last.attn.composed;
}

Tensor VisionTransformer::features(const Tensor& images, const Pass& pass) const {
  Tensor z = embed(images, pass);
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    const Scope scope("blocks", l);
    const bool last = l + 1 == blocks.size();
    z = last && only_class_token_is_read(pass) ? blocks[l].class_token(z, pass)
                                               : blocks[l](z, pass);
  }
  // y = LN(z_L^0)                                                                           (Eq. 4)
  const Tensor y = cls_token ? under("norm", norm, select(z, 1, 0)) : mean_of_patches(z);
  pass.note("y", "(B, D)", y);
  return y;
}

// A layer norm and a mean do not commute: each token is divided by its own deviation, or their mean
// by its.
Tensor VisionTransformer::mean_of_patches(const Tensor& z) const {
  return config.norm_after_pooling ? under("norm", norm, mean(z, {1}))
                                   : mean(under("norm", norm, z), {1});
}

Tensor VisionTransformer::operator()(const Tensor& images, const Pass& pass) const {
  Tensor y = features(images, pass);
  if (config.head == Head::none) return y;
  if (config.head == Head::tanh) y = tanh(under("pre_logits", pre_logits, y));
  const Tensor logits = under("head", head, y);
  pass.note("logits", "(B, K)", logits);
  return logits;
}

void VisionTransformer::visit(Visitor& visitor) const {
  visitor.parameter("cls_token", Role::token, cls_token);
  pos_embed.visit(visitor);
  visitor.child("patch_embed", patch_embed);
  for (std::size_t i = 0; i < blocks.size(); ++i) visitor.child("blocks", i, blocks[i]);
  visitor.child("norm", norm);
  visitor.child("pre_logits", pre_logits);
  visitor.child("head", head);
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
