#include "vit/variants.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

#include <algorithm>

namespace vitruvian {
namespace {

// For ImageNet: 224 x 224 x 3, a thousand classes, M = 4 D.
ViTConfig imagenet(std::size_t P, std::size_t L, std::size_t D, std::size_t h) {
  ViTConfig config;
  config.C = 3;
  config.H = config.W = 224;
  config.P = P;
  config.D = D;
  config.L = L;
  config.h = h;
  config.M = 4 * D;
  config.K = 1000;
  return config;
}

ViTConfig mini() {
  ViTConfig config = imagenet(16, 2, 192, 3);
  config.K = 10;
  config.eps = 1e-5;
  return config;
}

ViTConfig cifar() {
  ViTConfig config;
  config.C = 3;
  config.H = config.W = 32;
  config.P = 4;
  config.D = 128;
  config.L = 6;
  config.M = 512;
  return config;
}

}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all{
      {"vit_b_16", "ViT-Base of the paper", imagenet(16, 12, 768, 12), "86M"},
      {"vit_b_32", "the same, larger patches", imagenet(32, 12, 768, 12), "86M"},
      {"vit_l_16", "ViT-Large of the paper", imagenet(16, 24, 1024, 16), "307M"},
      {"vit_l_32", "the same, larger patches", imagenet(32, 24, 1024, 16), "307M"},
      {"vit_h_14", "ViT-Huge of the paper", imagenet(14, 32, 1280, 16), "632M"},
      {"vit_s_16", "DeiT-S's sizes", imagenet(16, 12, 384, 6), ""},
      {"vit_ti_16", "DeiT-Ti's sizes", imagenet(16, 12, 192, 3), ""},
      {"mini_vit", "the MiniViT notebook's", mini(), ""},
      {"cifar", "what train takes for CIFAR", cifar(), ""},
      {"mnist", "what train takes for MNIST", ViTConfig{}, ""}};
  return all;
}

const Variant& variant(const std::string& name) {
  const auto found = std::find_if(variants().begin(), variants().end(),
                                  [&](const Variant& v) { return v.name == name; });
  if (found != variants().end()) return *found;
  std::vector<std::string> names;
  for (const Variant& v : variants()) names.push_back(v.name);
  const std::string near = nearest(name, names);
  fail(Exit::usage, "there is no model '{}'{}", name,
       near.empty() ? fmt::format("; there are {}", fmt::join(names, ", "))
                    : fmt::format("; did you mean {}?", near));
}

ViTConfig with_image_size(ViTConfig config, std::size_t side) {
  config.H = config.W = side;
  config.validate();
  return config;
}

const ViTConfig& mini_vit() { return variant("mini_vit").config; }

}  // namespace vitruvian
