#include "vitruvian/vit/weights/held.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/vit/weights/written_out.hpp"

#include <utility>

namespace vitruvian {
namespace {

// What follows was read in torchvision 0.14 to 0.20 (models/vision_transformer.py), timm 1.0
// (models/vision_transformer.py), transformers 4.40 (models/vit/modeling_vit.py) and
// google-research/vision_transformer (vit_jax/models_vit.py).

using Cell = HeldRow::Cell;

constexpr Cell yes{};
constexpr Cell no{Held::no};
constexpr Cell by(std::string_view how) { return {Held::yes, how}; }
constexpr Cell as(std::string_view how) { return {Held::written, how}; }
constexpr std::array<Cell, 4> all(Cell cell) { return {cell, cell, cell, cell}; }

constexpr Cell learned = as("learned positions");
constexpr Cell zero = as("a bias of zeros");
constexpr Cell folded = as("factors of the layers before it");

void check_held(Scheme scheme, const ViTConfig& config, const std::string& source) {
  const auto refused = [&config](Scheme project) {
    std::vector<std::string_view> names;
    for (const HeldRow& row : held_rows()) {
      if (row.on(config) && row.cells.at(static_cast<std::size_t>(project)).held == Held::no) {
        names.push_back(row.name);
      }
    }
    return names;
  };
  const std::vector<std::string_view> names = refused(scheme);
  if (names.empty()) return;
  std::vector<std::string> able;
  for (const std::string& name : scheme_names()) {
    const Scheme other = scheme_of(name);
    if (other == Scheme::vitruvian || refused(other).empty()) able.push_back(name);
  }
  fail(Exit::usage, "{}: {} ViT has no such thing as {}; --scheme {} can hold this model", source,
       names_of(scheme), joined(names), joined(able, " or "));
}

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
      {"stem", [](C c) { return c.stem != 0; }, all(no)},
      {"per_head_qkv", [](C c) { return c.per_head_qkv; }, all(as("one U_qkv"))},
      {"post_norm", [](C c) { return c.post_norm; }, all(no)},
      {"mean_pooling",
       [](C c) { return c.mean_pooling && !c.norm_after_pooling; },
       {no, by("class_token=False, global_pool='avg', fc_norm=False"), no, by("classifier='gap'")}},
      {"norm_after_pooling",
       [](C c) { return c.mean_pooling && c.norm_after_pooling; },
       {no, by("class_token=False, global_pool='avg'"), no, no}},
      {"layer_scale",
       [](C c) { return c.layer_scale != 0; },
       {folded, by("init_values=..."), folded, folded}},
      {"swiglu",
       [](C c) { return c.swiglu; },
       {no, by("mlp_layer=SwiGLUPacked, mlp_ratio=2 * M / D"), no, no}},
      {"qk_norm", [](C c) { return c.qk_norm; }, {no, by("qk_norm=True"), no, no}},
      {"distilled",
       [](C c) { return c.distilled; },
       {no, by("its class is VisionTransformerDistilled"),
        by("its class is DeiTForImageClassificationWithTeacher"), no}},
      {"registers", [](C c) { return c.registers != 0; }, {no, by("reg_tokens=R"), no, no}},
      {"registers of a distilled model", [](C c) { return c.distilled && c.registers != 0; },
       all(no)},
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

VitWeights held_by(Scheme scheme, VitWeights weights) {
  const ViTConfig& config = weights.config;
  check_size(weights);
  if (scheme == Scheme::vitruvian) return weights;
  check_held(scheme, config, weights.tensors.source);
  std::vector<std::string> arguments;
  std::vector<std::string> written;
  for (const HeldRow& row : held_rows()) {
    const HeldRow::Cell& cell = row.cells.at(static_cast<std::size_t>(scheme));
    if (!row.on(config) || cell.how.empty()) continue;
    if (cell.held == Held::yes) arguments.emplace_back(cell.how);
    if (cell.held == Held::written) written.push_back(fmt::format("{} as {}", row.name, cell.how));
  }
  if (!arguments.empty()) {
    weights.notes.push_back(
        fmt::format("in {} ViT: {}", names_of(scheme), joined(arguments, "; ")));
  }
  if (!written.empty()) {
    weights.notes.push_back(fmt::format("written out: {}", joined(written, "; ")));
  }
  return written_for(scheme, std::move(weights));
}

}  // namespace vitruvian
