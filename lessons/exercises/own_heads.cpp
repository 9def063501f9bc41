// Exercise. Multi-head attention of your ViT (after heads, middle)
//
//   [q, k, v] = z U_qkv,    SA_i(z) = softmax(q_i k_iᵀ / √D_h) v_i                   (Eqs. 5 to 7)
//   MSA(z) = [SA_1(z); …; SA_h(z)] U_msa                                                   (Eq. 8)
//
// The parameters below `name` are qkv.weight (3D, D), qkv.bias (3D), proj.weight (D, D) and
// proj.bias (D): U_qkv and U_msa, transposed as a linear layer has them, with biases, as in the
// authors' code.
//
// Parts: walk_back linear own_linear softmax attention attention_vjp split_heads

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

// z (B, T, D)  ->  (B, T, D)
Var own_msa(const Weights& w, const std::string& name, const Var& z, std::size_t heads) {
  // [gap]
  //| // Yours: linear, split_heads, attention, merge_heads, linear; see parts.hpp.
  //| // const auto [q, k, v] = split_heads(qkv, heads); takes the three apart.
  //| return {};
  // [solution]
  const Var qkv = linear(z, w.at(name + ".qkv.weight"), w.at(name + ".qkv.bias"));
  const auto [q, k, v] = split_heads(qkv, heads);
  const Var together = merge_heads(attention(q, k, v));
  return linear(together, w.at(name + ".proj.weight"), w.at(name + ".proj.bias"));
  // [end]
}

EXERCISE(own_msa);

// [hint 1]
// One linear layer makes queries, keys and values of all heads at once. Then every head works
// by itself, all in one call of `attention`, which takes (B, h, T, D_h).
// [hint 2]
// Behind `attention` the heads stand apart: merge_heads puts them side by side. The last linear
// layer mixes them.
// [hint 3]
// qkv = linear(z, qkv.weight, qkv.bias); [q, k, v] = split_heads(qkv, heads); together =
// merge_heads(attention(q, k, v)); return linear(together, proj.weight, proj.bias).
