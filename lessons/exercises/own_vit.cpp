// Exercise. Your ViT as a class, Equations 1 to 4 (after vit, hard)
//
//   z_0 = [x_class; x_p^1 E; …; x_p^N E] + E_pos                             (Eq. 1)
//   z_l = block l of z_{l−1},  l = 1 … L                                     (Eqs. 2 and 3)
//   y = LN(z_L^0)                                                            (Eq. 4)
//   logits = y W_headᵀ + b_head
//
// z_L^0 is token 0 of each image, the class token. The parameters are cls_token (1, 1, D),
// pos_embed (1, 1 + N, D), patch_embed.proj.weight (D, C P²) and .bias (D), those of the blocks
// below blocks.0 to blocks.(L − 1), norm.weight and norm.bias (D), head.weight (K, D) and head.bias
// (K).
//
// Parts: walk_back unbroadcast linear own_linear softmax gelu layer_norm patches class_token
// attention attention_vjp split_heads own_mlp own_heads own_block

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

class VisionTransformer {
 public:
  VisionTransformer(const Weights& w, const VitSizes& sizes) : w_(w), sizes_(sizes) {}

  // Equation 1. images (B, C, H, W)  ->  z_0 (B, 1 + N, D)
  [[nodiscard]] Var embed(const Tensor& images) const {
    // [gap]
    //| // Yours. An image is a leaf of the tape; so are its patches:
    //| const Var x_p = leaf(*w_.at("cls_token").tape, patches(images, sizes_.P));
    //| return x_p;  // linear, with_class_token(x_class, patches), +
    // [solution]
    const Var x_p = leaf(*w_.at("cls_token").tape, patches(images, sizes_.P));
    const Var E = w_.at("patch_embed.proj.weight"), bias = w_.at("patch_embed.proj.bias");
    return with_class_token(w_.at("cls_token"), linear(x_p, E, bias)) + w_.at("pos_embed");
    // [end]
  }

  // Equation 4. z_L (B, 1 + N, D)  ->  y (B, D)
  [[nodiscard]] Var output(const Var& z_L) const {
    // [gap]
    //| // Yours: token(z, t) is token t of each image; layer_norm(x, gamma, beta).
    //| return {};
    // [solution]
    return layer_norm(token(z_L, 0), w_.at("norm.weight"), w_.at("norm.bias"));
    // [end]
  }

  // All of it. images (B, C, H, W)  ->  logits (B, K)
  Var operator()(const Tensor& images) const {
    // [gap]
    //| // Yours: embed, then sizes_.L times
    //| // encoder_block(w_, "blocks." + std::to_string(l), z, sizes_.h),
    //| // then output, and the head, a linear layer.
    //| return {};
    // [solution]
    Var z = embed(images);
    for (std::size_t l = 0; l < sizes_.L; ++l) {
      z = encoder_block(w_, "blocks." + std::to_string(l), z, sizes_.h);
    }
    return linear(output(z), w_.at("head.weight"), w_.at("head.bias"));
    // [end]
  }

 private:
  const Weights& w_;
  VitSizes sizes_;
};

Var own_vit(const Weights& w, const Tensor& images, const VitSizes& sizes) {
  return VisionTransformer(w, sizes)(images);
}

EXERCISE(own_vit);

// [hint 1]
// Go by the equations, one member function each. Shapes lead you: (B, C, H, W) to patches (B, N, C
// P²), to tokens (B, N, D), with the class token (B, 1 + N, D); at the end (B, D), then (B, K).
// [hint 2]
// The positions are added when the class token is there already: it has a position, too. The last
// layer norm belongs to Equation 4: the blocks end without one.
// [hint 3]
// embed: with_class_token(cls_token, linear(x_p, E, bias)) + pos_embed. output:
// layer_norm(token(z_L, 0), norm.weight, norm.bias). Then: z = embed; L blocks; linear(output(z),
// head.weight, head.bias).
