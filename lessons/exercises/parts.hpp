#pragma once

// What your own Vision Transformer is put together from, exercise by exercise. Each function here
// is your answer of an earlier exercise where its check agreed, and ours where it did not; the
// check says which ones were yours. What your answer is called stands behind the function.

#include "lessons/exercises/exercise.hpp"

#include <array>
#include <map>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

// --- the tape

/// Cotangent of a value to the cotangents of its inputs, one for each, in their order.
using WayBack = std::function<std::vector<Tensor>(const Tensor& g)>;

/// One entry of the tape: a value, the entries that it was computed from, and the way back to them.
struct Recorded {
  Tensor value;
  std::vector<std::size_t> inputs;  ///< places on the tape, all of them earlier; none: a leaf
  WayBack back;                     ///< empty for a leaf
};
using OwnTape = std::vector<Recorded>;

/// A value on a tape: which tape, and its place there.
struct Var {
  OwnTape* tape = nullptr;
  std::size_t place = 0;
  [[nodiscard]] const Tensor& value() const { return (*tape)[place].value; }
};

/// Puts a value onto the tape that was computed from nothing: a parameter, an image.
Var leaf(OwnTape& tape, const Tensor& value);
/// Puts a value onto its inputs' tape, with the way back.
Var record(const std::vector<Var>& inputs, const Tensor& value, const WayBack& back);

/// The cotangents of all entries, at their places, from the entry `loss`.     exercise walk_back
std::vector<Tensor> walk_back(const OwnTape& tape, std::size_t loss);

// --- what goes back through one op, without a tape

Tensor unstretched(const Tensor& g, const Shape& shape);                        // unbroadcast
LinearGradients linear_vjp(const Tensor& g, const Tensor& x, const Tensor& W);  // linear
Tensor softmax_vjp(const Tensor& y, const Tensor& g);                           // softmax
Tensor gelu_vjp(const Tensor& x, const Tensor& g);                              // gelu
LayerNormGradients layer_norm_vjp(const Tensor& g, const Tensor& x, const Tensor& gamma,
                                  double eps);  // layer_norm
AttentionGradients attention_vjp(const Tensor& g, const Tensor& q, const Tensor& k,
                                 const Tensor& v);  // attention_vjp
Tensor cross_entropy_gradient(const Tensor& logits,
                              const std::vector<std::size_t>& labels);  // cross_entropy

// --- ops on the tape

Var operator+(const Var& a, const Var& b);                     // unbroadcast on the way back
Var linear(const Var& x, const Var& W, const Var& b);          // own_linear: y = x Wᵀ + b
Var gelu(const Var& x);                                        // gelu on the way back
Var layer_norm(const Var& x, const Var& gamma, const Var& b);  // layer_norm; ε is 1e-6
Var attention(const Var& q, const Var& k, const Var& v);       // attention, attention_vjp
/// q, k, v, each (B, h, T, D_h), of qkv (B, T, 3D)                split_heads
std::array<Var, 3> split_heads(const Var& qkv, std::size_t heads);
/// The heads side by side again: (B, h, T, D_h) to (B, T, D).
Var merge_heads(const Var& x);
/// The class token (1, 1, D) in front of each image's patches: (B, N, D) to (B, 1 + N, D).
Var with_class_token(const Var& x_class, const Var& patches);  // class_token on the way back
/// Token t of each image: (B, T, D) to (B, D).
Var token(const Var& z, std::size_t t);
/// The mean loss of a batch, one number.                         cross_entropy on the way back
Var cross_entropy(const Var& logits, const std::vector<std::size_t>& labels);
/// Images (B, C, H, W) to x_p (B, N, C P²).                      patches
Tensor patches(const Tensor& images, std::size_t P);

// --- layers and the model

/// Parameters by their names, which are those of `vitruvian train`'s files.
using Weights = std::map<std::string, Var>;

/// The sizes of a Vision Transformer, in the paper's letters.
struct VitSizes {
  std::size_t P = 7, D = 32, L = 2, h = 4, M = 128, K = 10;
};

// Each below `name`: mlp(w, "blocks.0.mlp", x) reads w.at("blocks.0.mlp.fc1.weight").
Var mlp(const Weights& w, const std::string& name, const Var& x);  // own_mlp
Var msa(const Weights& w, const std::string& name, const Var& x,
        std::size_t heads);  // own_heads
Var encoder_block(const Weights& w, const std::string& name, const Var& z,
                  std::size_t heads);  // own_block
Var vit(const Weights& w, const Tensor& images,
        const VitSizes& sizes);  // own_vit

/// Tensors by the names of parameters.
using Parameters = std::map<std::string, Tensor>;

/// The mean loss of a batch, and its derivative with respect to each parameter.
struct LossAndGradients {
  double loss = 0;
  Parameters gradients;
};
LossAndGradients gradients(const Parameters& parameters, const Tensor& images,
                           const std::vector<std::size_t>& labels,
                           const VitSizes& sizes);  // own_gradients

// --- training

AdamWState adamw_step(AdamWState s, const Tensor& g, const AdamWRates& r);      // adamw
double warmup_cosine(std::size_t step, std::size_t steps, std::size_t warmup);  // schedule
double clip(std::vector<Array>& gradients, double max_norm);                    // clipping

/// All that a run of training remembers: AdamW's state of each parameter, by its name.
using TrainingState = std::map<std::string, AdamWState>;

/// The plan of a run.
struct TrainingPlan {
  VitSizes sizes;
  std::size_t steps = 100, warmup = 10;
  double max_norm = 1;  ///< of all gradients together
  AdamWRates rates;     ///< eta is the peak; lambda is for the matrices alone
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
