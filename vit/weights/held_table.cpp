#include "vitruvian/vit/weights/held.hpp"

// What follows was read in torchvision 0.14 to 0.20 (models/vision_transformer.py), timm 1.0
// (models/vision_transformer.py), transformers 4.40 (models/vit/modeling_vit.py) and
// google-research/vision_transformer (vit_jax/models_vit.py).

namespace vitruvian {
namespace {

using Cell = HeldRow::Cell;

constexpr Cell yes{};
constexpr Cell no{Held::no};
constexpr Cell by(std::string_view how) { return {Held::yes, how}; }
constexpr Cell as(std::string_view how) { return {Held::written, how}; }
constexpr std::array<Cell, 4> all(Cell cell) { return {cell, cell, cell, cell}; }

constexpr Cell learned = as("learned positions");
constexpr Cell zero = as("a bias of zeros");

bool pools_norms(const ViTConfig& c) { return c.mean_pooling && !c.norm_after_pooling; }

}  // namespace

const std::vector<HeldRow>& held_rows() {
  using C = const ViTConfig&;
  static const std::vector<HeldRow> rows{
      {"exact GELU",
       [](C c) { return !c.gelu_tanh; },
       {yes, yes, yes, by("its own code computes the tanh form, and other logits by some 1e-3")}},
      {"gelu_tanh",
       [](C c) { return c.gelu_tanh; },
       {no, by("act_layer='gelu_tanh'"), by("hidden_act='gelu_new'"), yes}},
      {"eps 1e-6", [](C c) { return c.eps == 1e-6; }, {yes, yes, by("layer_norm_eps=1e-6"), yes}},
      {"another eps",
       [](C c) { return c.eps != 1e-6; },
       {by("norm_layer=partial(LayerNorm, eps=...)"), by("norm_layer=partial(LayerNorm, eps=...)"),
        by("layer_norm_eps=..."), no}},
      {"no patch_bias", [](C c) { return !c.patch_bias; }, all(zero)},
      {"no qkv_bias", [](C c) { return !c.qkv_bias; }, all(zero)},
      {"no proj_bias", [](C c) { return !c.proj_bias; }, all(as("biases of zeros"))},
      {"conv_patches", [](C c) { return c.conv_patches; }, all(yes)},
      {"per_head_qkv", [](C c) { return c.per_head_qkv; }, all(as("one U_qkv"))},
      {"post_norm", [](C c) { return c.post_norm; }, all(no)},
      {"mean_pooling",
       pools_norms,
       {no, by("class_token=False, global_pool='avg', fc_norm=False"), no, by("classifier='gap'")}},
      {"norm_after_pooling",
       [](C c) { return c.mean_pooling && c.norm_after_pooling; },
       {no, by("class_token=False, global_pool='avg'"), no, no}},
      {"positions none", [](C c) { return c.positions == Positions::none; },
       all(as("positions of zeros"))},
      {"positions learned_2d", [](C c) { return c.positions == Positions::learned_2d; },
       all(learned)},
      {"positions sincos", [](C c) { return c.positions == Positions::sincos; }, all(learned)},
      {"positions sincos_2d", [](C c) { return c.positions == Positions::sincos_2d; },
       all(learned)},
      {"positions relative", [](C c) { return c.positions == Positions::relative; }, all(no)},
      {"head tanh",
       [](C c) { return c.head == Head::tanh; },
       {by("representation_size=D"), by("representation_size=D, up to timm 0.6"), no,
        by("representation_size=D")}},
      {"head none",
       [](C c) { return c.head == Head::none; },
       {by("heads = nn.Identity()"), by("num_classes=0"), by("num_labels=0"),
        by("num_classes=None")}},
      {"patches that are not square",
       [](C c) { return c.patch_width() != c.patch_height(); },
       {no, by("patch_size=(height, width)"), by("patch_size=(height, width)"),
        by("patches.size=(height, width)")}},
      {"images that are not square",
       [](C c) { return c.H != c.W; },
       {no, by("img_size=(height, width)"), by("image_size=(height, width)"), yes}},
      {"channels other than 3",
       [](C c) { return c.C != 3; },
       {by("conv_proj = nn.Conv2d(C, D, P, P)"), by("in_chans=C"), by("num_channels=C"), yes}},
      {"dropout and stochastic_depth, init", [](C) { return false; }, all(yes)},
  };
  return rows;
}

}  // namespace vitruvian
