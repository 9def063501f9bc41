#pragma once

#include "vitruvian/vit/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

// Every field of a config once: what is written, read, and checked follows these lists.

namespace vitruvian {

template <class Config, class Visit>
void for_each_size(Config& c, const Visit& visit) {
  visit("C", c.C, "channels");
  visit("H", c.H, "image height");
  visit("W", c.W, "image width");
  visit("P", c.P, "patch size");
  visit("D", c.D, "width D");
  visit("L", c.L, "depth L");
  visit("h", c.h, "heads");
  visit("M", c.M, "MLP width M");
  visit("K", c.K, "classes");
}

template <class Config, class Visit>
void for_each_rate(Config& c, const Visit& visit) {
  visit("eps", c.eps);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
}

// What is on or off, and what a user is told of it.
template <class Config, class Visit>
void for_each_switch(Config& c, const Visit& visit) {
  visit("patch_bias", c.patch_bias, "Of the patch embedding");
  visit("qkv_bias", c.qkv_bias, "Of U_qkv");
  visit("proj_bias", c.proj_bias, "Of U_msa and the MLP");
  visit("conv_patches", c.conv_patches, "Embed patches by a convolution");
  visit("per_head_qkv", c.per_head_qkv, "One U_qkv for each head");
  visit("post_norm", c.post_norm, "Layer norm after the residual, as in 2017");
  visit("mean_pooling", c.mean_pooling, "The mean over the patches instead of a class token");
  visit("norm_after_pooling", c.norm_after_pooling, "The norm of that mean");
  visit("gelu_tanh", c.gelu_tanh, "GELU by its tanh approximation");
  visit("swiglu", c.swiglu, "SwiGLU for the MLP, as in DINOv2's largest: M is the gated width");
  visit("qk_norm", c.qk_norm, "Layer norms of each head's q and k");
  visit("distilled", c.distilled, "DeiT's distillation token, with a head of its own");
}

// Those that need not be said.
template <class Config, class Visit>
void for_each_option(Config& c, const Visit& visit) {
  visit("P_w", c.P_w);
  visit("stem", c.stem);
  visit("embedding_dropout", c.embedding_dropout);
  visit("projection_dropout", c.projection_dropout);
  visit("mlp_dropout", c.mlp_dropout);
  visit("stochastic_depth", c.stochastic_depth);
  visit("layer_scale", c.layer_scale);
  visit("registers", c.registers);
  for_each_switch(c, [&visit](const char* name, auto& field, const char*) { visit(name, field); });
  visit("positions", c.positions);
  visit("head", c.head);
  visit("init", c.init);
}

// The names of an enumeration's values, in their order.
constexpr auto names_of(Positions) {
  return std::array<std::string_view, 6>{"none",   "learned",   "learned_2d",
                                         "sincos", "sincos_2d", "relative"};
}
constexpr auto names_of(Head) { return std::array<std::string_view, 3>{"linear", "tanh", "none"}; }
constexpr auto names_of(Init) {
  return std::array<std::string_view, 5>{"jax", "torchvision", "timm", "hf", "mimetic"};
}

/// A field as a JSON file holds it; null where it says nothing.
template <class Json, class T>
Json to_value(const T& x) {
  if constexpr (std::is_enum_v<T>) {
    return names_of(x)[static_cast<std::size_t>(x)];
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return x ? Json(*x) : Json();
  } else {
    return x;
  }
}

/// Sets a field to what a JSON value says; or tells what that is: "neither true nor false".
template <class Json, class T>
std::string take_value(const Json& value, T& x) {
  if constexpr (std::is_enum_v<T>) {
    const auto names = names_of(x);
    const auto found = std::find(names.begin(), names.end(),
                                 value.is_string() ? value.template get<std::string>() : "");
    if (found == names.end()) return fmt::format("none of {}", joined(names));
    x = static_cast<T>(found - names.begin());
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return take_value(value, x.emplace());
  } else {
    if (std::is_same_v<T, std::string> && !value.is_string()) return "not a string";
    if (std::is_same_v<T, bool> && !value.is_boolean()) return "neither true nor false";
    if (std::is_same_v<T, double> && !value.is_number()) return "not a number";
    if (std::is_integral_v<T> && !std::is_same_v<T, bool> && !value.is_number_unsigned()) {
      return "not a whole number";
    }
    x = value.template get<T>();
  }
  return "";
}

}  // namespace vitruvian
