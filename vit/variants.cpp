#include "vitruvian/vit/variants.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"

namespace vitruvian {
namespace {

// For ImageNet: 224 x 224 x 3, a thousand classes, M = 4 D.
ViTConfig imagenet(std::size_t P, std::size_t L, std::size_t D, std::size_t h) {
  return {.C = 3, .H = 224, .W = 224, .P = P, .D = D, .L = L, .h = h, .M = 4 * D, .K = 1000};
}

ViTConfig mini() {
  ViTConfig config = imagenet(16, 2, 192, 3);
  config.K = 10;
  config.eps = 1e-5;
  return config;
}

ViTConfig cifar() { return {.C = 3, .H = 32, .W = 32, .P = 4, .D = 128, .L = 6, .M = 512}; }

}  // namespace

const std::vector<Variant>& variants() {
  constexpr Table1 base{12, 768, 3072, 12, 86};
  constexpr Table1 large{24, 1024, 4096, 16, 307};
  constexpr Table1 huge{32, 1280, 5120, 16, 632};
  static const std::vector<Variant> all{
      {"vit_b_16", "ViT-Base", imagenet(16, 12, 768, 12), base},
      {"vit_b_32", "ViT-Base, larger patches", imagenet(32, 12, 768, 12), base},
      {"vit_l_16", "ViT-Large", imagenet(16, 24, 1024, 16), large},
      {"vit_l_32", "ViT-Large, larger patches", imagenet(32, 24, 1024, 16), large},
      {"vit_h_14", "ViT-Huge", imagenet(14, 32, 1280, 16), huge},
      {"vit_s_16", "the sizes of DeiT-S", imagenet(16, 12, 384, 6)},
      {"vit_ti_16", "the sizes of DeiT-Ti", imagenet(16, 12, 192, 3)},
      {"mini_vit", "the MiniViT notebook's demonstration", mini()},
      {"cifar", "what train takes for CIFAR", cifar()},
      {"mnist", "what train takes for MNIST and the digits", ViTConfig{}}};
  return all;
}

const Variant& variant(std::string_view name) { return named(name, variants(), "model"); }

ViTConfig with_image_size(ViTConfig config, std::size_t side) {
  config.H = config.W = side;
  config.validate();
  return config;
}

std::string to_json(const Variant& model, std::size_t batch) {
  const ViTConfig& c = model.config;
  Json json;
  json["name"] = model.name;
  json["about"] = model.about;
  json["config"] = parse_json(c.to_json());
  json["parameters"] = c.parameters();
  json["macs"] = c.macs();
  json["batch_size"] = batch;
  json["forward_bytes"] = c.forward_bytes(batch, sizeof(float));
  json["training_bytes"] = c.training_bytes(batch, sizeof(float));
  if (model.paper) {
    const Table1& paper = *model.paper;
    json["table_1"] = {{"L", paper.L},
                       {"D", paper.D},
                       {"M", paper.M},
                       {"h", paper.h},
                       {"parameters", fmt::format("{}M", paper.millions)}};
  }
  return dump_json(json);
}

ViTConfig tiny_vit() {
  return {.C = 2, .H = 8, .W = 8, .P = 4, .D = 8, .L = 2, .h = 2, .M = 12, .K = 3};
}

}  // namespace vitruvian
