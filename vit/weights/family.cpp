#include "vitruvian/vit/weights/family.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <array>
#include <string_view>

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
};

bool is_unused(const std::string& name) {
  return name == "mask_token" || name.ends_with("embeddings.mask_token") ||
         name.starts_with("mask_head.") || name.starts_with("decoder.") ||
         name.starts_with("decoder_");
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
