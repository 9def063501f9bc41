#include "vitruvian/vit/weights/family.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::array<std::string_view, 6> wrappings{"module.",   "_orig_mod.", "model.",
                                                    "backbone.", "deit.",      "vit."};

// What stands in the names of some tensors of a kind of model, and in those of no ViT of ours. The
// first that fits counts: so what is told apart by less stands below.
struct Family {
  std::string_view part, what;
};
constexpr std::array families{
    Family{"lora_A.", "an adapter (LoRA), not the model that it belongs to"},
    Family{"layer1.0.conv1.weight", "a ResNet"},
    Family{"resnet/root_block/", "a ResNet (BiT)"},
    Family{"patch_embed.backbone.", "the paper's hybrid, a ViT behind a ResNet"},
    Family{"conv_root/kernel", "the paper's hybrid, a ViT behind a ResNet"},
    Family{"layers.0.blocks.", "a Swin Transformer"},
    Family{"features.1.0.attn.relative_position_bias_table", "a Swin Transformer"},
    Family{"relative_position_bias_table", "a BEiT"},
    Family{"visual.class_embedding", "a CLIP"},
    Family{"visual.conv1.weight", "a CLIP"},
    Family{"vision_model.embeddings.class_embedding", "a CLIP"},
    Family{"vision_model.embeddings.patch_embedding.", "a SigLIP"},
    Family{"image_encoder.", "a Segment Anything or another model around an image encoder"},
    Family{"downsample_layers.0.", "a ConvNeXt"},
    Family{"stages.0.blocks.0.conv_dw.", "a ConvNeXt"},
    Family{"denseblock1.", "a DenseNet"},
    Family{"conv_dw.weight", "an EfficientNet or a MobileNet"},
    Family{"_depthwise_conv.weight", "an EfficientNet"},
    Family{"classifier.6.weight", "a VGG or an AlexNet"},
    Family{"mlp_tokens.", "an MLP-Mixer"},
    Family{"MixerBlock_0/", "an MLP-Mixer"},
    Family{"blocks_token_only.", "a CaiT"},
    Family{"query_embed.weight", "a DETR"},
    Family{"diffusion_model.", "a diffusion model"},
    Family{"down_blocks.0.", "a diffusion model"},
    Family{"word_embeddings.", "a language model"},
    Family{"embed_tokens.", "a language model"},
    Family{"attn.c_attn.", "a language model"},
    Family{"SelfAttention.q.", "a language model"},
    Family{"wte.weight", "a language model"},
    // Closer relatives.
    Family{"dist_token", "a distilled DeiT, which has a second token"},
    Family{"distillation_token", "a distilled DeiT, which has a second token"},
    Family{"register_tokens", "a ViT with register tokens, as DINOv2's are"},
    Family{"reg_token", "a ViT with register tokens, as DINOv2's are"},
    Family{"mlp.w12.", "a ViT with SwiGLU for its MLP, as DINOv2's largest"},
    Family{"mlp.weights_in.", "a ViT with SwiGLU for its MLP, as DINOv2's largest"},
    Family{"layer_scale1.lambda1", "a DINOv2 under Hugging Face's names; under its own it is read"},
    Family{"attn.q_norm.", "a ViT that normalises queries and keys"},
};

bool is_unused(const std::string& name) {
  return name == "mask_token" || name == "embeddings.mask_token" ||
         name == "vit.embeddings.mask_token" || name.starts_with("mask_head.") ||
         name.starts_with("decoder.") || name.starts_with("decoder_");
}

// What a branch's vector is called, and the layer whose output it multiplies.
struct Scale {
  std::string_view timm, deit, layer;
};
constexpr std::array scales{Scale{".ls1.gamma", ".gamma_1", ".attn.proj"},
                            Scale{".ls2.gamma", ".gamma_2", ".mlp.fc2"}};

// The name without the end that it has, or "".
std::string before(const std::string& name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : "";
}

// Row i times number i.
StoredTensor scaled(const StoredTensor& tensor, const StoredTensor& by) {
  StoredTensor result = tensor;
  result.read = [tensor, by] {
    std::vector<double> x = tensor.values();
    const std::vector<double> g = by.values();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= g[i / (x.size() / g.size())];
    return stored(tensor.name, tensor.shape, std::move(x), tensor.dtype).read();
  };
  return result;
}

}  // namespace

TensorFile without_wrapping(TensorFile file) {
  const auto shared = [&file](std::string_view prefix) {
    return !file.tensors.empty() &&
           std::all_of(file.tensors.begin(), file.tensors.end(), [prefix](const StoredTensor& t) {
             return t.name.size() > prefix.size() && t.name.starts_with(prefix);
           });
  };
  while (true) {
    const auto* const prefix = std::find_if(wrappings.begin(), wrappings.end(), shared);
    if (prefix == wrappings.end()) return file;
    for (StoredTensor& t : file.tensors) t.name.erase(0, prefix->size());
  }
}

void leave_out_unused(TensorFile& file, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  std::erase_if(file.tensors, [&names](const StoredTensor& t) {
    if (!is_unused(t.name)) return false;
    names.push_back(fmt::format("'{}'", t.name));
    return true;
  });
  if (names.empty()) return;
  notes.push_back(some_of(names) + ": only for training without labels, left out");
}

void fold_layer_scale(TensorFile& file, std::vector<std::string>& notes) {
  for (const Scale& scale : scales) {
    std::map<std::string, StoredTensor> vectors;  // by the block's name
    std::erase_if(file.tensors, [&](const StoredTensor& t) {
      const std::string block = before(t.name, scale.timm) + before(t.name, scale.deit);
      if (!block.empty()) vectors.emplace(block, t);
      return !block.empty();
    });
    if (vectors.empty()) continue;
    for (StoredTensor& t : file.tensors) {
      const std::string layer(scale.layer);
      const std::string block = before(t.name, layer + ".weight") + before(t.name, layer + ".bias");
      if (block.empty()) continue;
      const auto vector = vectors.find(block);
      if (vector == vectors.end()) {
        fail(Exit::checkpoint, "{}: other blocks have a LayerScale, but there is none for '{}'",
             file.source, t.name);
      }
      const StoredTensor& by = vector->second;
      if (by.dtype == Dtype::other || t.shape.empty() || t.shape[0] == 0 ||
          by.shape != std::vector<std::size_t>{t.shape[0]}) {
        fail(Exit::checkpoint, "{}: '{}' {} is no LayerScale of '{}' {}", file.source, by.name,
             shape_text(by.shape), t.name, shape_text(t.shape));
      }
      t = scaled(t, by);
    }
    notes.push_back(fmt::format("LayerScale ('*{}') is multiplied into '*{}'",
                                vectors.begin()->second.name.substr(vectors.begin()->first.size()),
                                scale.layer));
  }
}

void check_family(const TensorFile& file) {
  for (const Family& family : families) {
    for (const StoredTensor& t : file.tensors) {
      if (t.name.find(family.part) == std::string::npos) continue;
      fail(Exit::checkpoint,
           "{}: by its '{}' it seems to be {}; Vision Transformers as torchvision, timm, Hugging "
           "Face and JAX have them are read",
           file.source, t.name, family.what);
    }
  }
}

}  // namespace vitruvian
