#pragma once

#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/weights/naming.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the tensors of a ViT are called, and how they lie. Internal to vit.

namespace vitruvian {

/// How a tensor lies under JAX's names, from ours, which are PyTorch's: Linear's weight (out, in).
enum class Layout {
  same,
  matrix,    ///< (out, in) to (in, out)
  image,     ///< (D, C, P, P) to (P, P, C, D): OIHW to HWIO
  qkv,       ///< (3 D, D) to three of (D, h, D_h)
  qkv_bias,  ///< (3 D) to three of (h, D_h)
  proj       ///< (D, D) to (h, D_h, D)
};

/// Whether a file must have it. Those of the second line are of parts that a model has or not:
/// where one of a part's tensors is there, all of them must be.
enum class Need {
  always,
  class_token,
  head,
  never,
  distilled,
  registers,
  layer_scale,
  qk_norm,
  head_dist
};

/// One tensor; in a block, one of each, its names below the block's. "[qkv]" stands for three
/// tensors, of the query, the key and the value, where a scheme keeps them apart.
struct TensorRow {
  std::string_view timm;
  /// Ours: T is the number of positions, W the width of a patch, R that of what enters the head, F
  /// that of fc1 (M, or 2 M with SwiGLU), G the number of registers, D_h as in the paper, as the
  /// rest are.
  std::string_view shape;
  std::string_view torchvision, hf, jax;  ///< "" where its models have no such thing
  Layout layout = Layout::same;
  Need need = Need::always;
  bool in_block = false;
};
constexpr TensorRow of_block(TensorRow row) {
  row.in_block = true;
  return row;
}

inline constexpr std::array tensor_rows{
    TensorRow{"cls_token", "1 1 D", "class_token", "vit.embeddings.cls_token", "cls", Layout::same,
              Need::class_token},
    TensorRow{"dist_token", "1 1 D", "", "vit.embeddings.distillation_token", "", Layout::same,
              Need::distilled},
    TensorRow{"reg_token", "1 G D", "", "vit.embeddings.register_tokens", "", Layout::same,
              Need::registers},
    TensorRow{"pos_embed", "1 T D", "encoder.pos_embedding", "vit.embeddings.position_embeddings",
              "Transformer/posembed_input/pos_embedding"},
    TensorRow{"patch_embed.proj.weight", "D C P W", "conv_proj.weight",
              "vit.embeddings.patch_embeddings.projection.weight", "embedding/kernel",
              Layout::image},
    TensorRow{"patch_embed.proj.bias", "D", "conv_proj.bias",
              "vit.embeddings.patch_embeddings.projection.bias", "embedding/bias"},
    of_block({"norm1.weight", "D", "ln_1.weight", "layernorm_before.weight", "LayerNorm_0/scale"}),
    of_block({"norm1.bias", "D", "ln_1.bias", "layernorm_before.bias", "LayerNorm_0/bias"}),
    of_block({"attn.qkv.weight", "3D D", "self_attention.in_proj_weight",
              "attention.attention.[qkv].weight", "MultiHeadDotProductAttention_1/[qkv]/kernel",
              Layout::qkv}),
    of_block({"attn.qkv.bias", "3D", "self_attention.in_proj_bias",
              "attention.attention.[qkv].bias", "MultiHeadDotProductAttention_1/[qkv]/bias",
              Layout::qkv_bias}),
    of_block({"attn.proj.weight", "D D", "self_attention.out_proj.weight",
              "attention.output.dense.weight", "MultiHeadDotProductAttention_1/out/kernel",
              Layout::proj}),
    of_block({"attn.proj.bias", "D", "self_attention.out_proj.bias", "attention.output.dense.bias",
              "MultiHeadDotProductAttention_1/out/bias"}),
    of_block({"attn.q_norm.weight", "D_h", "", "", "", Layout::same, Need::qk_norm}),
    of_block({"attn.q_norm.bias", "D_h", "", "", "", Layout::same, Need::qk_norm}),
    of_block({"attn.k_norm.weight", "D_h", "", "", "", Layout::same, Need::qk_norm}),
    of_block({"attn.k_norm.bias", "D_h", "", "", "", Layout::same, Need::qk_norm}),
    of_block({"ls1.gamma", "D", "", "layer_scale1.lambda1", "", Layout::same, Need::layer_scale}),
    of_block({"ls2.gamma", "D", "", "layer_scale2.lambda1", "", Layout::same, Need::layer_scale}),
    of_block({"norm2.weight", "D", "ln_2.weight", "layernorm_after.weight", "LayerNorm_2/scale"}),
    of_block({"norm2.bias", "D", "ln_2.bias", "layernorm_after.bias", "LayerNorm_2/bias"}),
    of_block({"mlp.fc1.weight", "F D", "mlp.0.weight", "intermediate.dense.weight",
              "MlpBlock_3/Dense_0/kernel", Layout::matrix}),
    of_block(
        {"mlp.fc1.bias", "F", "mlp.0.bias", "intermediate.dense.bias", "MlpBlock_3/Dense_0/bias"}),
    of_block({"mlp.fc2.weight", "D M", "mlp.3.weight", "output.dense.weight",
              "MlpBlock_3/Dense_1/kernel", Layout::matrix}),
    of_block({"mlp.fc2.bias", "D", "mlp.3.bias", "output.dense.bias", "MlpBlock_3/Dense_1/bias"}),
    TensorRow{"norm.weight", "D", "encoder.ln.weight", "vit.layernorm.weight",
              "Transformer/encoder_norm/scale"},
    TensorRow{"norm.bias", "D", "encoder.ln.bias", "vit.layernorm.bias",
              "Transformer/encoder_norm/bias"},
    // The paper's tanh layer before the head: only some models of ImageNet-21k have it.
    TensorRow{"pre_logits.weight", "R D", "heads.pre_logits.weight", "vit.pooler.dense.weight",
              "pre_logits/kernel", Layout::matrix, Need::never},
    TensorRow{"pre_logits.bias", "R", "heads.pre_logits.bias", "vit.pooler.dense.bias",
              "pre_logits/bias", Layout::same, Need::never},
    TensorRow{"head.weight", "K R", "heads.head.weight", "classifier.weight", "head/kernel",
              Layout::matrix, Need::head},
    TensorRow{"head.bias", "K", "heads.head.bias", "classifier.bias", "head/bias", Layout::same,
              Need::head},
    // The distillation token's.
    TensorRow{"head_dist.weight", "K R", "", "distillation_classifier.weight", "", Layout::matrix,
              Need::head_dist},
    TensorRow{"head_dist.bias", "K", "", "distillation_classifier.bias", "", Layout::same,
              Need::head_dist},
};

/// Another beginning that a scheme's names have somewhere, to be read and never written.
struct Spelling {
  Scheme scheme;
  std::string_view timm;  ///< the beginning of the row's
  std::string_view name;  ///< below the block's, as in the row
};

inline constexpr std::array spellings{
    // torchvision's and timm's first releases.
    Spelling{Scheme::torchvision, "mlp.fc1.", "mlp.linear_1."},
    Spelling{Scheme::torchvision, "mlp.fc2.", "mlp.linear_2."},
    Spelling{Scheme::timm, "pre_logits.", "pre_logits.fc."},
    // DINOv2's own files (dinov2/models/vision_transformer.py, dinov2/layers/swiglu_ffn.py).
    Spelling{Scheme::timm, "reg_token", "register_tokens"},
    Spelling{Scheme::timm, "mlp.fc1.", "mlp.w12."},
    Spelling{Scheme::timm, "mlp.fc2.", "mlp.w3."},
    // DeiT III's own (deit/models_v2.py).
    Spelling{Scheme::timm, "ls1.gamma", "gamma_1"},
    Spelling{Scheme::timm, "ls2.gamma", "gamma_2"},
    // Hugging Face's DeiTForImageClassificationWithTeacher.
    Spelling{Scheme::hf, "head.", "cls_classifier."},
    // Hugging Face's Dinov2Model and Dinov2WithRegistersModel.
    Spelling{Scheme::hf, "norm1.", "norm1."},
    Spelling{Scheme::hf, "norm2.", "norm2."},
    Spelling{Scheme::hf, "mlp.fc1.", "mlp.fc1."},
    Spelling{Scheme::hf, "mlp.fc2.", "mlp.fc2."},
    Spelling{Scheme::hf, "mlp.fc1.", "mlp.weights_in."},
    Spelling{Scheme::hf, "mlp.fc2.", "mlp.weights_out."},
};

/// Which row of the table a name belongs to, which block, and which of query, key and value.
struct Place {
  std::size_t row = 0, block = 0, part = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};
std::optional<Place> find_place(const std::string& name, Scheme scheme);
std::string name_in(const TensorRow& row, Scheme scheme, std::size_t block, std::size_t part);
/// Whether the scheme's models have it.
bool has_name(const TensorRow& row, Scheme scheme);
/// In how many tensors the scheme keeps what is one of ours: 1 or 3.
std::size_t parts_of(const TensorRow& row, Scheme scheme);

/// One of ours, or its third that is the query's, the key's or the value's, in JAX's layout: the
/// shape, and views in both directions. The shape must have as many axes as the layout speaks of.
std::vector<std::size_t> jax_shape(const std::vector<std::size_t>& shape, Layout layout,
                                   std::size_t heads);
StoredTensor to_jax(const StoredTensor& tensor, Layout layout, std::size_t heads);
StoredTensor from_jax(const StoredTensor& tensor, Layout layout);

}  // namespace vitruvian
