#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/symmetric_eigen.hpp"
#include "vitruvian/vit/variants.hpp"
#include "vitruvian/vit/waves.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// A parameter that is to be drawn. What none of the rules below draws is constant: ones for the
// weights of layer norms, zeros for the rest.
struct Fresh {
  const NamedParameter& p;
  Rng stream;
  const ViTConfig& c;

  [[nodiscard]] bool in(std::string_view module) const {
    return p.name.find(module) != std::string::npos;
  }
  [[nodiscard]] bool weight() const { return p.role == Role::weight; }
  [[nodiscard]] bool bias() const { return p.role == Role::bias; }
  [[nodiscard]] bool is(std::string_view name) const { return p.name == name; }
  [[nodiscard]] double fan_in() const { return static_cast<double>(init::fans(p.tensor).in); }
};

// NOLINTBEGIN(bugprone-branch-clone): tables, whose rows are in the order that decides
void jax(const Fresh& x) {
  if (x.in("head.") || x.in("head_dist.")) return;
  if (x.weight() && (x.in("patch_embed.") || x.in("pre_logits."))) {
    init::lecun_normal(x.p.tensor, x.stream);
  } else if (x.weight() && x.in(".attn.qkv.")) {
    // q, k and v are three matrices in one, and so are SwiGLU's two.
    init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, x.c.D});
  } else if (x.weight() && x.in(".mlp.fc1.")) {
    init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, x.c.M});
  } else if (x.weight()) {
    init::xavier_uniform(x.p.tensor, x.stream);
  } else if (x.p.role == Role::position) {
    init::normal(x.p.tensor, x.stream, 0.02);
  } else if (x.bias() && x.in(".mlp.")) {
    init::normal(x.p.tensor, x.stream, 1e-6);
  } else if (x.is("dist_token")) {
    init::truncated_normal(x.p.tensor, x.stream, 0.02);
  } else if (x.is("reg_token")) {
    init::normal(x.p.tensor, x.stream, 1e-6);
  }
}

void torchvision(const Fresh& x) {
  if (x.weight() && x.in("patch_embed.stem.")) {
    init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0));  // PyTorch's own
  } else if (x.weight() && x.in("patch_embed.") && x.c.stem != 0) {
    init::normal(x.p.tensor, x.stream, std::sqrt(2 / static_cast<double>(x.c.D)));
  } else if (x.weight() && (x.in("patch_embed.") || x.in("pre_logits."))) {
    init::truncated_normal(x.p.tensor, x.stream, std::sqrt(1 / x.fan_in()));
  } else if (x.weight() && x.in(".attn.qkv.")) {
    init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, 3 * x.c.D});  // one matrix, (3 D, D)
  } else if (x.weight() && x.in(".attn.proj.")) {
    init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0));
  } else {
    jax(x);
  }
}
// NOLINTEND(bugprone-branch-clone)

void timm(const Fresh& x) {
  if (x.in("patch_embed.") && x.weight()) {
    init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0));  // PyTorch's own, and so the bias
  } else if (x.in("patch_embed.") && x.bias()) {
    const double bound = 1 / std::sqrt(static_cast<double>(x.c.embedded_length()));
    init::uniform(x.p.tensor, x.stream, -bound, bound);
  } else if (x.weight() || x.p.role == Role::position || x.is("dist_token")) {
    init::truncated_normal(x.p.tensor, x.stream, 0.02);
  } else if (x.p.role == Role::token) {
    init::normal(x.p.tensor, x.stream, 1e-6);
  }
}

void hugging_face(const Fresh& x) {
  if (x.weight() || x.p.role == Role::position || x.p.role == Role::token) {
    init::truncated_normal(x.p.tensor, x.stream, 0.02);
  }
}

// a Z + b I, n rows of n.
std::vector<double> near_identity(double a, double b, std::size_t n, const Rng& rng) {
  std::vector<double> x(n * n);
  const double std = 1 / std::sqrt(static_cast<double>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = a * std * rng.normal(i);
  for (std::size_t i = 0; i < n; ++i) x[i * n + i] += b;
  return x;
}

// The first k rows of S^(1/2) U^T, to `left`, and of S^(1/2) V^T, to `right`, where x = U S V^T: by
// the eigenvectors V of x^T x, whose eigenvalues are S^2, and x V = U S.
void split(const std::vector<double>& x, std::size_t n, std::size_t k, real* left, real* right) {
  std::vector<double> gram(n * n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) gram[i * n + j] += x[r * n + i] * x[r * n + j];
    }
  }
  const SymmetricEigen eigen = symmetric_eigen(gram, n);
  for (std::size_t i = 0; i < k; ++i) {
    const double root = std::sqrt(std::sqrt(std::max(eigen.values[i], 0.0)));
    const double* const v = &eigen.vectors[i * n];
    for (std::size_t r = 0; r < n; ++r) {
      double sum = 0;  // of U S
      for (std::size_t j = 0; j < n; ++j) sum += x[r * n + j] * v[j];
      left[i * n + r] = static_cast<real>(root > 0 ? sum / root : 0);
      right[i * n + r] = static_cast<real>(root * v[r]);
    }
  }
}

// Weights of attention as they look after long training (Trockman and Kolter 2023, "Mimetic
// Initialization of Self-Attention Layers", arXiv 2305.09828). With U_q of a head and so on as the
// matrices that a token, a row, is multiplied by, and every Z (D, D) drawn from N(0, 1 / D) anew:
//   U_q U_k^T = the nearest matrix of rank D / h to 0.7 Z + 0.7 I   (of each head)
//   U_v U_msa = 0.4 Z - 0.4 I                                       (of all heads together)
// Both are split evenly: of a product with the singular values s, each factor has their roots. So
// tokens attend to those that are like themselves, and what attention adds draws them apart.
void mimetic_attention(const MultiHeadSelfAttention& attention, const Rng& rng) {
  const std::size_t D = attention.proj.in(), h = attention.heads, D_h = D / h;
  std::vector<real> q(3 * D * D), proj(D * D);  // U^T of q, k and v; U_msa
  real* const k = &q[D * D];
  real* const v = k + D * D;
  parallel_for(h + 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i < h) {
        split(near_identity(0.7, 0.7, D, rng.fork("qk", {i})), D, D_h, &q[i * D_h * D],
              k + i * D_h * D);
      } else {
        split(near_identity(0.4, -0.4, D, rng.fork("v proj")), D, D, v, proj.data());
      }
    }
  });
  const Tensor U_msa = attention.proj.weight;
  const WriteGuard out = U_msa.mutable_value();
  for (std::size_t i = 0; i < D; ++i) {
    for (std::size_t j = 0; j < D; ++j) (*out)(j, i) = proj[i * D + j];
  }
  // One matrix of q, k and v of all heads, or for each head one of its own.
  const auto fill = [&](const Linear& linear, std::size_t first, std::size_t rows) {
    const Tensor weight = linear.weight;
    const WriteGuard to = weight.mutable_value();
    for (std::size_t part = 0; part < 3; ++part) {
      std::copy_n(&q[(part * D + first) * D], rows * D, to->data() + part * rows * D);
    }
  };
  if (attention.head_qkv.empty()) return fill(attention.qkv, 0, D);
  for (std::size_t i = 0; i < h; ++i) fill(attention.head_qkv[i], i * D_h, D_h);
}

// Jax's values, but for attention and for learned positions, which begin as waves (four to a
// width).
void mimetic(const VisionTransformer& model, const Rng& rng) {
  if (Context::here().init_off) return;
  const ViTConfig& c = model.config;
  for (std::size_t l = 0; l < model.blocks.size(); ++l) {
    mimetic_attention(model.blocks[l].attn, rng.fork("mimetic", {l}));
  }
  const Tensor table = model.pos_embed.table;
  if (table && c.D % 4 == 0) {
    ViTConfig waves = c;
    waves.positions = Positions::sincos_2d;
    table.mutable_value() = array(table.shape(), fixed_positions(waves));
  }
}

}  // namespace

VisionTransformer undrawn(const ViTConfig& config) {
  const init::Off off;
  return {config, Rng(0)};
}

void initialise(const VisionTransformer& model, const Rng& rng) {
  const ViTConfig& c = model.config;
  for (const NamedParameter& p : named_parameters(model)) {
    const bool one = p.role == Role::norm && p.name.ends_with("weight");
    init::constant(p.tensor, p.name.ends_with(".gamma") ? c.layer_scale : one ? 1 : 0);
    const Fresh x{p, rng.fork(p.name), c};
    switch (c.init) {
      case Init::jax:
      case Init::mimetic:
        jax(x);
        break;
      case Init::torchvision:
        torchvision(x);
        break;
      case Init::timm:
        timm(x);
        break;
      case Init::hf:
        hugging_face(x);
        break;
    }
  }
  if (c.init == Init::mimetic) mimetic(model, rng);
}

VisionTransformer tiny_vit_of_order_one(const Rng& rng) {
  VisionTransformer model(tiny_vit(), rng);
  for (const auto& [name, role, tensor] : named_parameters(model)) {
    const double mean = role == Role::norm && name.ends_with("weight") ? 1 : 0;
    init::normal(tensor, rng.fork(name), 1, mean);
  }
  return model;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
