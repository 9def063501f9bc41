#pragma once

#include "vitruvian/nn/parameter.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// The optimizers, as PyTorch computes them to the last term. `step(lr)` takes one step down the
// gradients that a backward left on the parameters; a parameter without one, such as a frozen one,
// is skipped, not decayed, and its own count of steps stands still. The rate comes with every step:
// schedules are the functions below. Constructors and `step` throw on what is no option
// of the rule: a negative or infinite rate, momentum, decay or eps, betas outside of [0, 1), NaN.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

using Roles = std::vector<Role>;

/// What most recipes do not decay: everything but the weight matrices. (The paper's code decays
/// all.)
inline const Roles all_but_weights{Role::bias, Role::norm, Role::position, Role::token};

/// What an optimizer remembers of one parameter. The arrays are absent until the first step, and
/// where the rule has no use for them.
struct Moments {
  std::uint64_t t = 0;     ///< steps taken with a gradient
  std::optional<Array> m;  ///< SGD, Muon: the momentum buffer; Adam: the mean of the gradients
  std::optional<Array> v;  ///< Adam: the mean of their squares
};

/// What the optimizers share: the parameters, and their memory by name, which a checkpoint
/// reads and writes. To choose one at run time: std::variant<AdamW, SGD, ...>.
class Optimizer {
 public:
  [[nodiscard]] const std::vector<NamedParameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::map<std::string, Moments>& state() const { return state_; }
  /// Replaces the memory; throws when the names or shapes are not those of the parameters.
  void set_state(std::map<std::string, Moments> state);
  void zero_grad() const { vitruvian::zero_grad(parameters_); }
  /// From now on the rate of a parameter that is named is lr times its factor wherever its rule
  /// says lr, decoupled decay included: as in PyTorch's parameter groups. Of others the factor is
  /// 1. Throws for a name that no parameter has, and for a factor that is no finite number of at
  /// least 0.
  void set_rate_factors(const std::map<std::string, double>& factors);

 protected:
  explicit Optimizer(std::vector<NamedParameter> parameters);
  ~Optimizer() = default;
  Optimizer(const Optimizer&) = default;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(const Optimizer&) = default;
  Optimizer& operator=(Optimizer&&) = default;
  /// The rate of parameters()[i] in a step of rate lr.
  [[nodiscard]] double rate_of(std::size_t i, double lr) const { return lr * factors_[i]; }
  Moments& moments(const NamedParameter& p) { return state_.at(p.name); }

 private:
  std::vector<NamedParameter> parameters_;
  std::vector<double> factors_;  // of the rate, one a parameter
  std::map<std::string, Moments> state_;
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  Roles undecayed = {};  ///< roles that weight decay leaves alone
};

/// g = g + decay w;  m = momentum m + g (m = g at the first step);
/// w -= lr m,  or  w -= lr (g + momentum m) with Nesterov.
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<NamedParameter> parameters, SgdOptions options = {});
  void step(double lr);

 private:
  SgdOptions options_;
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  Roles undecayed = {};
};

/// Adam (Kingma and Ba, arXiv 1412.6980), with weight decay as a part of the gradient:
/// g = g + decay w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
/// w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps).
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<NamedParameter> parameters, AdamOptions options = {});
  void step(double lr);

 private:
  AdamOptions options_;
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  Roles undecayed = {};
};

/// Adam with decoupled decay (Loshchilov and Hutter, arXiv 1711.05101): w -= lr decay w, then
/// Adam's step on the bare gradient.
class AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<NamedParameter> parameters, AdamWOptions options = {});
  void step(double lr);

 private:
  AdamWOptions options_;
};

/// The nearest matrix to G with orthonormal rows (or columns, where it has more rows), nearly: five
/// Newton-Schulz steps, X = G / |G| and then X <- a X + (b A + c A A) X with A = X X^T and
/// (a, b, c) = (3.4445, -4.7750, 2.0315), which take every singular value to a number between about
/// 0.7 and 1.2 and leave the singular vectors (Jordan et al. 2024, "Muon"). G (m, n) of finite
/// numbers; the result has its shape. Zero where G is; smaller where |G| < 1e-7, by which it is
/// then divided, as in PyTorch.
Array orthogonalised(const Array& G);

struct MuonOptions {
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.01;
  Roles undecayed = {};
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< of AdamW, for what is no matrix of a block
};

/// Muon: of the matrices inside the blocks, the direction alone. As torch.optim.Muon (2.9), with
/// adjust_lr_fn "match_rms_adamw", so that lr and decay are AdamW's:
///   m = momentum m + (1 - momentum) g;   u = orthogonalised(momentum m + (1 - momentum) g),
///   or of m without Nesterov;   w -= lr decay w,  then  w -= 0.2 sqrt(max(rows, columns)) lr u.
/// q, k and v in one matrix, "attn.qkv.weight", are three matrices (one, where 3 does not divide
/// its rows). Everything else, embeddings, head, biases and norms, goes by AdamW. In float32
/// whatever the precision of products is.
class Muon : public Optimizer {
 public:
  /// Throws where no parameter is a matrix with "blocks." in its name.
  explicit Muon(std::vector<NamedParameter> parameters, MuonOptions options = {});
  void step(double lr);

 private:
  MuonOptions options_;
};

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), norm being that of all of them
/// together, and returns the norm before. A norm that is NaN or infinite leaves useless gradients,
/// as in PyTorch: look at what is returned. Throws unless max_norm is above 0; infinity only
/// measures.
double clip_grad_norm(const std::vector<NamedParameter>& parameters, double max_norm);

// --- schedules: pure functions from a step to a factor of the base rate. `step` counts from 0 and
// `steps` is their number. All begin with the same linear warm-up,
//   factor = (step + 1) / warmup         for step < warmup,
// so that no step is wasted on a rate of 0 and the last step of the warm-up runs at the full rate.
// Afterwards, with p = (step - warmup) / (steps - warmup), which is 0 at the first step after the
// warm-up and reaches 1 at step = steps, one after the last; beyond it the factor stays that of p
// = 1. A negative number (which arrives as one of at least 2^63) throws.

/// factor = 1
double constant_schedule(std::size_t step, std::size_t steps, std::size_t warmup = 0);
/// factor = 1 - p
double linear_schedule(std::size_t step, std::size_t steps, std::size_t warmup = 0);
/// factor = (1 + cos(pi p)) / 2 (Loshchilov and Hutter, arXiv 1608.03983, without restarts)
double cosine_schedule(std::size_t step, std::size_t steps, std::size_t warmup = 0);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
