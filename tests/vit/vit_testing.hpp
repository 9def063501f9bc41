#pragma once

#include "tests/golden.hpp"
#include "vitruvian/core/gradcheck.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/tiny.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

// A tiny ViT with every switch of the config turned once.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline constexpr bool in_double = sizeof(real) == 8;

struct Switched {
  std::string name;
  ViTConfig config;
};

inline std::vector<Switched> every_switch() {
  std::vector<Switched> all;
  const auto add = [&](const char* name, auto change) {
    ViTConfig config = tiny_vit();
    change(config);
    all.push_back({name, config});
  };
  add("as it is", [](ViTConfig&) {});
  add("no patch bias", [](ViTConfig& c) { c.patch_bias = false; });
  add("no qkv bias", [](ViTConfig& c) { c.qkv_bias = false; });
  add("no bias after", [](ViTConfig& c) { c.proj_bias = false; });
  add("no bias at all", [](ViTConfig& c) { c.patch_bias = c.qkv_bias = c.proj_bias = false; });
  add("eps 1e-12", [](ViTConfig& c) { c.eps = 1e-12; });
  add("convolution", [](ViTConfig& c) { c.conv_patches = true; });
  add("per head", [](ViTConfig& c) { c.per_head_qkv = true; });
  add("per head, no bias", [](ViTConfig& c) { c.per_head_qkv = true, c.qkv_bias = false; });
  add("post-norm", [](ViTConfig& c) { c.post_norm = true; });
  add("mean", [](ViTConfig& c) { c.mean_pooling = true; });
  add("mean, then norm", [](ViTConfig& c) { c.mean_pooling = c.norm_after_pooling = true; });
  add("GELU by tanh", [](ViTConfig& c) { c.gelu_tanh = true; });
  for (const Positions p : {Positions::none, Positions::learned_2d, Positions::sincos,
                            Positions::sincos_2d, Positions::relative}) {
    for (const bool mean : {false, true}) {
      add(mean ? "positions, mean" : "positions",
          [=](ViTConfig& c) { c.positions = p, c.mean_pooling = mean; });
    }
  }
  add("tanh head", [](ViTConfig& c) { c.head = Head::tanh; });
  add("no head", [](ViTConfig& c) { c.head = Head::none; });
  add("flat patches", [](ViTConfig& c) { c.P = 2, c.P_w = 4, c.W = 12, c.C = 1; });
  add("tall patches", [](ViTConfig& c) { c.P = 4, c.P_w = 2, c.H = 12, c.C = 5; });
  add("flat convolution", [](ViTConfig& c) { c.P = 2, c.P_w = 4, c.conv_patches = true; });
  add("flat, relative", [](ViTConfig& c) { c.P_w = 2, c.positions = Positions::relative; });
  add("flat, by rows and columns",
      [](ViTConfig& c) { c.P_w = 2, c.positions = Positions::learned_2d; });
  add("all at once", [](ViTConfig& c) {
    c.patch_bias = c.proj_bias = false;
    c.conv_patches = c.per_head_qkv = c.post_norm = c.mean_pooling = c.gelu_tanh = true;
    c.positions = Positions::relative, c.head = Head::tanh;
  });
  return all;
}

/// With every parameter of order one, so that nothing hides (see tiny_vit_of_order_one).
inline VisionTransformer of_order_one(const ViTConfig& config, const Rng& rng) {
  VisionTransformer model(config, rng);
  for (const NamedParameter& p : named_parameters(model)) {
    init::normal(p.tensor, rng.fork(p.name), 1,
                 p.role == Role::norm && p.name.ends_with("weight") ? 1 : 0);
  }
  return model;
}

/// Values of the parameters as golden_switches.py draws them, from number `at` of the pool on.
inline void fill(const VisionTransformer& model, const std::vector<double>& pool,
                 std::size_t at = 0) {
  std::vector<NamedParameter> parameters = named_parameters(model);
  std::sort(parameters.begin(), parameters.end(),
            [](const NamedParameter& a, const NamedParameter& b) { return a.name < b.name; });
  for (const NamedParameter& p : parameters) {
    const double mean = p.name.find("norm") != std::string::npos && p.name.ends_with("weight");
    const WriteGuard guard = p.tensor.mutable_value();
    Array& value = *guard;
    for (std::size_t i = 0; i < value.size(); ++i) {
      value.data()[i] = static_cast<real>(0.4 * pool[at++ % pool.size()] + mean);
    }
  }
}

inline Tensor images_for(const ViTConfig& config, std::size_t B, std::uint64_t seed) {
  return Tensor(random_normal({B, config.C, config.H, config.W}, seed));
}

inline double largest(const Array& a) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    result = std::max(result, std::abs(static_cast<double>(a.data()[i])));
  }
  return result;
}

/// Logits, then every gradient of sum(logits * c), c random.
inline std::vector<Array> logits_and_gradients(const VisionTransformer& model, const Tensor& images,
                                               const Pass& pass = {}) {
  std::vector<Tensor> parameters;
  for (const NamedParameter& p : named_parameters(model)) parameters.push_back(p.tensor);
  const Tensor y = model(images, pass);
  std::vector<Array> result = grad(y, parameters, random_normal(y.shape(), 13));
  result.insert(result.begin(), y.value());
  return result;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
