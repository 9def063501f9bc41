#pragma once

#include "vitruvian/vit/config.hpp"

#include <array>
#include <string_view>

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
}

// Those that need not be said.
template <class Config, class Visit>
void for_each_option(Config& c, const Visit& visit) {
  visit("P_w", c.P_w);
  visit("embedding_dropout", c.embedding_dropout);
  visit("projection_dropout", c.projection_dropout);
  visit("mlp_dropout", c.mlp_dropout);
  visit("stochastic_depth", c.stochastic_depth);
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
  return std::array<std::string_view, 4>{"jax", "torchvision", "timm", "hf"};
}

}  // namespace vitruvian
