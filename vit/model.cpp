#include "vit/model.hpp"

#include "core/error.hpp"
#include "core/ops.hpp"

#include <utility>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

const ViTConfig& valid(const ViTConfig& config) {
  config.validate();
  return config;
}

std::vector<Block> encoder(const ViTConfig& config, const Rng& rng) {
  std::vector<Block> blocks;
  blocks.reserve(config.L);
  for (std::size_t i = 0; i < config.L; ++i) blocks.emplace_back(config, rng);
  return blocks;
}

}  // namespace

PatchEmbed::PatchEmbed(const ViTConfig& c)
    : P(c.P), weight(zeros({c.D, c.C, c.P, c.P})), bias(zeros({c.D})) {}

Tensor PatchEmbed::operator()(const Tensor& images, const Pass& pass) const {
  const Tensor x_p = unfold(images, {.height = P, .width = P, .stride_y = P, .stride_x = P});
  pass.note("x_p", "(B, N, C P^2)", x_p);
  const auto D = static_cast<std::ptrdiff_t>(weight.shape()[0]);
  return linear(x_p, reshape(weight, {D, -1}), bias);
}

void PatchEmbed::visit(Visitor& visitor) const {
  visitor.parameter("proj.weight", Role::weight, weight);
  visitor.parameter("proj.bias", Role::bias, bias);
}

Block::Block(const ViTConfig& c, const Rng& rng)
    : norm1({c.D}, c.eps),
      attn(c.D, c.h, rng, {.attn_drop = c.attention_dropout, .proj_drop = c.dropout}),
      norm2({c.D}, c.eps),
      mlp(c.D, c.M, rng, c.dropout) {}

Tensor Block::operator()(const Tensor& z, const Pass& pass) const {
  // z'_l = MSA(LN(z_{l-1})) + z_{l-1}                                                       (Eq. 2)
  const Tensor msa = under("attn", attn, under("norm1", norm1, z), pass);
  const Tensor z_prime = msa + z;
  pass.note("z_prime", "(B, T, D)", z_prime);
  // z_l = MLP(LN(z'_l)) + z'_l                                                              (Eq. 3)
  const Tensor hidden = under("mlp", mlp, under("norm2", norm2, z_prime), pass);
  const Tensor z_next = hidden + z_prime;
  pass.note("z", "(B, T, D)", z_next);
  return z_next;
}

Tensor Block::class_token(const Tensor& z) const {
  const Tensor msa = under(
      "attn", [&](const Tensor& x) { return attn.first_token(x); }, under("norm1", norm1, z));
  const Tensor z_prime = msa + slice(z, 1, 0, 1);
  return under("mlp", mlp, under("norm2", norm2, z_prime)) + z_prime;
}

void Block::visit(Visitor& visitor) const {
  visitor.child("norm1", norm1);
  visitor.child("attn", attn);
  visitor.child("norm2", norm2);
  visitor.child("mlp", mlp);
}

VisionTransformer::VisionTransformer(const ViTConfig& c, const Rng& rng)
    : config(valid(c)),
      cls_token(zeros({1, 1, c.D})),
      pos_embed(zeros({1, c.T(), c.D})),
      patch_embed(c),
      pos_drop{c.dropout},
      blocks(encoder(c, rng)),
      norm({c.D}, c.eps),
      head(c.D, c.K, rng) {
  initialise(*this, rng);
}

Tensor VisionTransformer::embed(const Tensor& images, const Pass& pass) const {
  const Shape expected{images.rank() == 4 ? images.shape()[0] : 0, config.C, config.H, config.W};
  if (images.shape() != expected) {
    fail("vit: images of shape {}, but the model takes (B, {}, {}, {})", to_string(images.shape()),
         config.C, config.H, config.W);
  }
  // z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos                                          (Eq. 1)
  const Tensor patches = under("patch_embed", patch_embed, images, pass);
  pass.note("patches", "(B, N, D)", patches);
  const Tensor cls = broadcast_to(cls_token, {expected[0], 1, config.D});
  const Tensor z_0 = concat({cls, patches}, 1) + pos_embed;
  pass.note("z_0", "(B, T, D)", z_0);
  return under("pos_drop", pos_drop, z_0, pass);
}

// Equation 4 reads z_L^0 and nothing else of z_L. Where nobody watches and no dropout counts its
// elements, the last block need not compute the other rows: 10/12 of a block's products.
bool VisionTransformer::only_class_token_is_read(const Pass& pass) const {
  const bool drops = pass.rng != nullptr && (config.dropout > 0 || config.attention_dropout > 0);
  return pass.trace == nullptr && !drops && !blocks.back().attn.composed;
}

Tensor VisionTransformer::features(const Tensor& images, const Pass& pass) const {
  Tensor z = embed(images, pass);
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    const Scope scope("blocks", l);
    const bool last = l + 1 == blocks.size();
    z = last && only_class_token_is_read(pass) ? blocks[l].class_token(z) : blocks[l](z, pass);
  }
  // y = LN(z_L^0)                                                                           (Eq. 4)
  const Tensor y = under("norm", norm, select(z, 1, 0));
  pass.note("y", "(B, D)", y);
  return y;
}

Tensor VisionTransformer::operator()(const Tensor& images, const Pass& pass) const {
  const Tensor logits = under("head", head, features(images, pass));
  pass.note("logits", "(B, K)", logits);
  return logits;
}

void VisionTransformer::visit(Visitor& visitor) const {
  visitor.parameter("cls_token", Role::token, cls_token);
  visitor.parameter("pos_embed", Role::position, pos_embed);
  visitor.child("patch_embed", patch_embed);
  for (std::size_t i = 0; i < blocks.size(); ++i) visitor.child("blocks", i, blocks[i]);
  visitor.child("norm", norm);
  visitor.child("head", head);
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
