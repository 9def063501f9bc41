// Exercise. Your block as a class, Equations 2 and 3 (after block, middle)
//
//   z'_l = MSA(LN(z_{l−1})) + z_{l−1}                                                      (Eq. 2)
//   z_l  = MLP(LN(z'_l)) + z'_l                                                            (Eq. 3)
//
// A class holds what belongs together: here the parameters of one block, which lie below `name`:
// norm1.weight and norm1.bias (D), those of `msa` below attn, norm2.weight and norm2.bias, those of
// `mlp` below mlp. Write its operator().
//
// Parts: walk_back unbroadcast linear own_linear softmax gelu layer_norm attention attention_vjp
// split_heads own_mlp own_heads

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

class EncoderBlock {
 public:
  EncoderBlock(const Weights& w, const std::string& name, std::size_t heads)
      : w_(w), name_(name), heads_(heads) {}

  // z (B, T, D)  ->  (B, T, D)
  Var operator()(const Var& z) const {
    // [gap]
    //| // Yours: an equation a line. msa(w_, name_ + ".attn", x, heads_) is there,
    //| // and mlp(w_, name_ + ".mlp", x), norm("norm1", x) and +.
    //| return {};
    // [solution]
    const Var z_prime = msa(w_, name_ + ".attn", norm("norm1", z), heads_) + z;
    return mlp(w_, name_ + ".mlp", norm("norm2", z_prime)) + z_prime;
    // [end]
  }

 private:
  // LN with the parameters of norm1 or norm2.
  [[nodiscard]] Var norm(const std::string& which, const Var& x) const {
    return layer_norm(x, w_.at(name_ + "." + which + ".weight"),
                      w_.at(name_ + "." + which + ".bias"));
  }

  const Weights& w_;
  std::string name_;
  std::size_t heads_;
};

Var own_block(const Weights& w, const std::string& name, const Var& z, std::size_t heads) {
  return EncoderBlock(w, name, heads)(z);
}

EXERCISE(own_block);

// [hint 1]
// Layer norm stands inside the branch, before MSA and before the MLP. What is added behind the
// branch is what came in, without layer norm: that is the residual (or skip) connection.
// [hint 2]
// The second equation reads z', the result of the first, at both of its places.
// [hint 3]
// const Var z_prime = msa(w_, name_ + ".attn", norm("norm1", z), heads_) + z; and the same with
// mlp(w_, name_ + ".mlp", norm("norm2", z_prime)) + z_prime.
