#include "vitruvian/vit/model.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/variants.hpp"

#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
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

// The first rows of an axis, or all of them.
Tensor first(std::optional<std::size_t> rows, const Tensor& x, int axis) {
  return rows ? slice(x, axis, 0, static_cast<std::ptrdiff_t>(*rows)) : x;
}

}  // namespace

StemConvolution::StemConvolution(std::size_t channels_in, std::size_t channels_out, double eps)
    : weight(zeros({channels_out, channels_in, 3, 3})), norm({channels_out}, eps) {}

// ReLU(LN(x * W)), without a bias: the norm has one.
Tensor StemConvolution::operator()(const Tensor& x) const {
  const Tensor places = permute(conv2d(x, weight, {}, 2, 1), {0, 2, 3, 1});  // channels last
  return permute(relu(under("norm", norm, places)), {0, 3, 1, 2});
}

void StemConvolution::visit(Visitor& visitor) const {
  visitor.parameter("conv.weight", Role::weight, weight);
  visitor.child("norm", norm);
}

Stem::Stem(const ViTConfig& c) {
  for (std::size_t i = 0; i < c.stem; ++i) {
    convolutions.emplace_back(c.channels_into(i), c.stem_map(i).channels, c.eps);
  }
}

Tensor Stem::operator()(const Tensor& images, const Pass& pass) const {
  Tensor map = images;
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    map = under(std::to_string(i), convolutions[i], map);
    pass.note(std::to_string(i), "(B, C', H', W')", map);
  }
  return map;
}

void Stem::visit(Visitor& visitor) const {
  for (std::size_t i = 0; i < convolutions.size(); ++i) {
    visitor.child(std::to_string(i), convolutions[i]);
  }
}

PatchEmbed::PatchEmbed(const ViTConfig& c)
    : convolve(c.conv_patches),
      stem(c),
      weight(zeros({c.D, c.embedded_channels(), c.embedded_height(), c.embedded_width()})) {
  if (c.patch_bias) bias = Parameter(zeros({c.D}));
}

Tensor PatchEmbed::operator()(const Tensor& pixels, const Pass& pass) const {
  const Tensor images = under("stem", stem, pixels, pass);  // the same, without convolutions
  const std::size_t P = weight.shape()[2];
  const std::size_t P_w = weight.shape()[3];
  const std::size_t D = weight.shape()[0];
  const bool cut = images.rank() == 3;  // beforehand
  if (convolve && !cut) {
    const Tensor grid = conv2d(images, weight, bias, {P, P_w});
    pass.note("grid", "(B, D, H / P, W / P)", grid);
    return transpose(reshape(grid, {grid.size(0), D, grid.size(2) * grid.size(3)}));
  }
  const Tensor x_p =
      cut ? images : unfold(images, {.height = P, .width = P_w, .stride_y = P, .stride_x = P_w});
  pass.note("x_p", "(B, N, C P^2)", x_p);
  return linear(x_p, reshape(weight, {D, -1}), bias);
}

void PatchEmbed::visit(Visitor& visitor) const {
  visitor.child("stem", stem);
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
            .per_head = c.per_head_qkv,
            .qk_norm = c.qk_norm ? std::optional<double>(c.eps) : std::nullopt}),
      ls1(c.D, c.layer_scale),
      norm2({c.D}, c.eps),
      mlp(c.D, c.M, rng, c.mlp_dropout.value_or(c.dropout), {.tanh = c.gelu_tanh}, c.proj_bias,
          c.swiglu),
      ls2(c.D, c.layer_scale) {
  if (c.positions == Positions::relative) relative.emplace(c);
}

// The branch of a residual, which training skips for some images.
Tensor Block::branch(std::string_view name, const Tensor& f, const Pass& pass) const {
  if (pass.rng == nullptr || skipped == 0) return pass.noted(name, "(B, T, D)", f);
  const Rng stream = pass.unused(pass.rng->fork(Scope::path()).fork(name));
  return pass.noted(name, "(B, T, D)", stochastic_depth(f, skipped, stream));
}

Tensor Block::msa(const Tensor& z, const Pass& pass, std::optional<std::size_t> rows) const {
  const Tensor bias = relative ? first(rows, (*relative)(), 1) : Tensor();  // (h, rows, T)
  return branch("msa", ls1(under("attn", attn, z, pass, bias, rows)), pass);
}

Tensor Block::operator()(const Tensor& z, const Pass& pass, std::optional<std::size_t> rows) const {
  const auto LN = [&](std::string_view name, const LayerNorm& norm, const Tensor& x) {
    return pass.noted(name, "(B, T, D)", under(name, norm, x));
  };
  const auto LN1 = [&](const Tensor& x) { return LN("norm1", norm1, x); };
  const auto LN2 = [&](const Tensor& x) { return LN("norm2", norm2, x); };
  const auto MSA = [&](const Tensor& x) { return msa(x, pass, rows); };
  const auto MLP = [&](const Tensor& x) {
    return branch("mlp", ls2(under("mlp", mlp, x, pass)), pass);
  };

  // z'_l = MSA(LN(z_{l-1})) + z_{l-1}                                                       (Eq. 2)
  // z_l = MLP(LN(z'_l)) + z'_l                                                              (Eq. 3)
  const Tensor past = first(rows, z, 1);
  const Tensor z_prime = post_norm ? LN1(MSA(z) + past) : MSA(LN1(z)) + past;
  pass.note("z_prime", "(B, T, D)", z_prime);
  const Tensor z_next = post_norm ? LN2(MLP(z_prime) + z_prime) : MLP(LN2(z_prime)) + z_prime;
  pass.note("z", "(B, T, D)", z_next);
  return z_next;
}

void Block::visit(Visitor& visitor) const {
  visitor.child("norm1", norm1);
  visitor.child("attn", attn);
  if (relative) {
    visitor.parameter("attn.relative_position_bias_table", Role::position, relative->table);
  }
  visitor.child("ls1", ls1);
  visitor.child("norm2", norm2);
  visitor.child("mlp", mlp);
  visitor.child("ls2", ls2);
}

VisionTransformer::VisionTransformer(const ViTConfig& c, const Rng& rng)
    : config(valid(c)),
      pos_embed(c),
      patch_embed(c),
      pos_drop{c.embedding_dropout.value_or(c.dropout)},
      blocks(encoder(c, rng)),
      norm({c.D}, c.eps) {
  if (!c.mean_pooling) cls_token = Parameter(zeros({1, 1, c.D}));
  if (c.distilled) dist_token = Parameter(zeros({1, 1, c.D}));
  if (c.registers != 0) reg_token = Parameter(zeros({1, c.registers, c.D}));
  if (c.head == Head::tanh) pre_logits = Linear(c.D, c.D, rng);
  if (c.head != Head::none) head = Linear(c.D, c.K, rng);
  if (c.head != Head::none && c.distilled) head_dist = Linear(c.D, c.K, rng);
  initialise(*this, rng);
}

Tensor VisionTransformer::embed(const Tensor& images, const Pass& pass) const {
  const std::size_t B = images.rank() == 0 ? 0 : images.shape()[0];
  const bool cut = images.shape() == Shape{B, config.N(), config.patch_length()};
  if (images.shape() != Shape{B, config.C, config.H, config.W} && !(cut && config.stem == 0)) {
    fail("vit: images of shape {}, but the model takes (B, {}, {}, {}){}",
         to_string(images.shape()), config.C, config.H, config.W,
         config.stem == 0
             ? fmt::format(", or patches (B, {}, {})", config.N(), config.patch_length())
             : ", and no patches: its stem looks beyond their edges");
  }
  return place(under("patch_embed", patch_embed, images, pass), pass);
}

Tensor VisionTransformer::place(const Tensor& patches, const Pass& pass) const {
  // z_0 = [x_class; x_p^1 E; ...; x_p^N E] + E_pos                                          (Eq. 1)
  pass.note("patches", "(B, N, D)", patches);
  Tensor tokens = patches;
  const auto of_each = [&](const Parameter& token) {
    return broadcast_to(token, {patches.size(0), token.shape()[1], config.D});
  };
  if (dist_token) tokens = concat({of_each(dist_token), tokens}, 1);
  if (cls_token) tokens = concat({of_each(cls_token), tokens}, 1);
  Tensor z_0 = pos_embed(tokens);
  if (reg_token) {  // they are nowhere
    const std::vector<Tensor> parts = split(z_0, {config.class_tokens(), config.N()}, 1);
    z_0 = concat({parts[0], of_each(reg_token), parts[1]}, 1);
  }
  pass.note("z_0", "(B, T, D)", z_0);
  return under("pos_drop", pos_drop, z_0, pass);
}

Tensor VisionTransformer::encode(const Tensor& z_0, const Pass& pass,
                                 std::optional<std::size_t> rows) const {
  Tensor z = z_0;
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    const Scope scope("blocks", l);
    z = blocks[l](z, pass, l + 1 == blocks.size() ? rows : std::nullopt);
  }
  return z;
}

Tensor VisionTransformer::features(const Tensor& images, const Pass& pass) const {
  // Equation 4 reads z_L^0 and nothing else of z_L: without the other rows the last block has a
  // sixth of its products. Who traces sees them all.
  const bool few = cls_token && pass.trace == nullptr;
  const Tensor z_L =
      encode(embed(images, pass), pass, few ? std::optional(config.class_tokens()) : std::nullopt);
  return pass.noted("y", config.distilled ? "(B, 2, D)" : "(B, D)", output(z_L));
}

Tensor VisionTransformer::output(const Tensor& z) const {
  // y = LN(z_L^0)                                                                           (Eq. 4)
  if (!cls_token) return mean_of_patches(z);
  return under("norm", norm, config.distilled ? slice(z, 1, 0, 2) : select(z, 1, 0));
}

// A layer norm and a mean do not commute: each token is divided by its own deviation, or their mean
// by its.
Tensor VisionTransformer::mean_of_patches(const Tensor& z) const {
  const Tensor patches =
      config.registers == 0 ? z : split(z, {config.registers, config.N()}, 1).back();
  return config.norm_after_pooling ? under("norm", norm, mean(patches, {1}))
                                   : mean(under("norm", norm, patches), {1});
}

Tensor VisionTransformer::operator()(const Tensor& images, const Pass& pass) const {
  const Tensor y = features(images, pass);
  const Tensor logits = classify(y);
  return config.head == Head::none ? logits : pass.noted("logits", "(B, K)", logits);
}

BothLogits VisionTransformer::both_logits(const Tensor& images, const Pass& pass) const {
  if (!head_dist.weight) fail("vit: only a distilled model with a head has two of them");
  return heads_of(features(images, pass));
}

BothLogits VisionTransformer::heads_of(const Tensor& y) const {
  return {under("head", head, select(y, 1, 0)), under("head_dist", head_dist, select(y, 1, 1))};
}

Tensor VisionTransformer::classify(const Tensor& y) const {
  if (config.head == Head::none) return config.distilled ? mean(y, {1}) : y;
  if (config.distilled) {
    const auto [of_class, of_distillation] = heads_of(y);
    return (of_class + of_distillation) * real(0.5);
  }
  const Tensor hidden = config.head == Head::tanh ? tanh(under("pre_logits", pre_logits, y)) : y;
  return under("head", head, hidden);
}

void VisionTransformer::visit(Visitor& visitor) const {
  visitor.parameter("cls_token", Role::token, cls_token);
  visitor.parameter("dist_token", Role::token, dist_token);
  visitor.parameter("reg_token", Role::token, reg_token);
  pos_embed.visit(visitor);
  visitor.child("patch_embed", patch_embed);
  for (std::size_t i = 0; i < blocks.size(); ++i) visitor.child("blocks", i, blocks[i]);
  visitor.child("norm", norm);
  visitor.child("pre_logits", pre_logits);
  visitor.child("head", head);
  visitor.child("head_dist", head_dist);
}

std::vector<Stage> stages_of_a_forward_pass(const ViTConfig& config, std::size_t B) {
  const VisionTransformer model(config, Rng(1));
  const Tensor images(zeros({B, config.C, config.H, config.W}));
  init::normal(images, Rng(2), 1);
  const NoGrad no_grad;
  const Composed probabilities_too;
  Trace trace;
  trace.add("images", "(B, C, H, W)", images);
  model(images, {.trace = &trace});
  std::vector<Stage> stages;
  for (const Trace::Entry& entry : trace.entries()) {
    const Shape& shape = entry.tensor.shape();
    stages.push_back({entry.name, entry.symbols, {shape.begin(), shape.end()}});
  }
  return stages;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
