#include "vitruvian/nn/layers.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/nn/init.hpp"

#include <cmath>
#include <string>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

// --- Linear ------------------------------------------------------------------------------------

Linear::Linear(std::size_t in, std::size_t out, const Rng& rng, bool with_bias)
    : weight(zeros({out, in})) {
  init::kaiming_uniform(weight, rng.fork("weight"), std::sqrt(5.0));
  if (!with_bias) return;
  bias = Parameter(zeros({out}));
  const double bound = in == 0 ? 0 : 1 / std::sqrt(static_cast<double>(in));
  init::uniform(bias, rng.fork("bias"), -bound, bound);
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias); }

void Linear::visit(Visitor& visitor) const {
  visitor.parameter("weight", Role::weight, weight);
  visitor.parameter("bias", Role::bias, bias);
}

Linear Linear::fresh() const { return {in(), out(), Rng(0), static_cast<bool>(bias)}; }

// --- LayerNorm ---------------------------------------------------------------------------------

LayerNorm::LayerNorm(const Shape& shape, double epsilon, bool affine, bool with_bias)
    : normalized_shape(shape), eps(epsilon) {
  if (affine) weight = Parameter(full(shape, real{1}));
  if (affine && with_bias) bias = Parameter(zeros(shape));
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, normalized_shape, weight, bias, eps);
}

void LayerNorm::visit(Visitor& visitor) const {
  visitor.parameter("weight", Role::norm, weight);
  visitor.parameter("bias", Role::norm, bias);
}

LayerNorm LayerNorm::fresh() const {
  return LayerNorm(normalized_shape, eps, static_cast<bool>(weight), static_cast<bool>(bias));
}

// --- LayerScale --------------------------------------------------------------------------------

LayerScale::LayerScale(std::size_t D, double initial) {
  if (initial != 0) gamma = Parameter(full({D}, static_cast<real>(initial)));
}

void LayerScale::visit(Visitor& visitor) const { visitor.parameter("gamma", Role::norm, gamma); }

// --- Dropout -----------------------------------------------------------------------------------

Tensor Dropout::operator()(const Tensor& x, const Pass& pass) const {
  if (pass.rng == nullptr || p == 0) return x;
  return dropout(x, p, pass.stream());
}

// --- Mlp ---------------------------------------------------------------------------------------

Mlp::Mlp(std::size_t D, std::size_t M, const Rng& rng, double drop, GELU gelu, bool with_bias,
         bool swiglu)
    : fc1(D, swiglu ? 2 * M : M, rng.fork("fc1"), with_bias),
      act(gelu),
      drop1{drop},
      fc2(M, D, rng.fork("fc2"), with_bias),
      drop2{drop},
      gated(swiglu) {}

Tensor Mlp::hidden(const Tensor& x, const Pass& pass) const {
  if (gated) {  // SwiGLU(x) = silu(a) b
    const Tensor fc1_x = pass.noted("fc1", "(B, T, 2 M)", under("fc1", fc1, x));
    const std::vector<Tensor> ab = split(fc1_x, {fc2.in(), fc2.in()}, -1);
    return silu(ab[0]) * ab[1];
  }
  const auto fc1_act = [&](const Tensor& u) { return linear_gelu(u, fc1.weight, fc1.bias); };
  const bool two_ops = act.tanh || Composed::active();
  return two_ops ? under("act", act, pass.noted("fc1", "(B, T, M)", under("fc1", fc1, x)))
                 : under("fc1", fc1_act, x);
}

Tensor Mlp::operator()(const Tensor& x, const Pass& pass) const {
  const Tensor u = pass.noted("hidden", "(B, T, M)", hidden(x, pass));
  return under("drop2", drop2, under("fc2", fc2, under("drop1", drop1, u, pass)), pass);
}

void Mlp::visit(Visitor& visitor) const {
  visitor.child("fc1", fc1);
  visitor.child("fc2", fc2);
}

Mlp Mlp::fresh() const {
  return {fc1.in(), fc2.in(), Rng(0), drop1.p, act, static_cast<bool>(fc1.bias), gated};
}

// --- MultiHeadSelfAttention --------------------------------------------------------------------

MultiHeadSelfAttention::MultiHeadSelfAttention(std::size_t D, std::size_t h, const Rng& rng,
                                               const Options& options)
    : heads(h),
      proj(D, D, rng.fork("proj"), options.proj_bias),
      attn_drop(options.attn_drop),
      proj_drop{options.proj_drop} {
  if (h == 0 || D % h != 0) fail("attention: {} heads do not divide a width D of {}", h, D);
  if (options.qk_norm) {
    q_norm.emplace(Shape{D / h}, *options.qk_norm);
    k_norm.emplace(Shape{D / h}, *options.qk_norm);
  }
  if (!options.per_head) {
    qkv = Linear(D, 3 * D, rng.fork("qkv"), options.qkv_bias);
    return;
  }
  for (std::size_t i = 0; i < h; ++i) {
    head_qkv.emplace_back(D, 3 * D / h, rng.fork("qkv", {i}), options.qkv_bias);
  }
}

MultiHeadSelfAttention::MultiHeadSelfAttention(std::size_t D, std::size_t h, const Rng& rng)
    : MultiHeadSelfAttention(D, h, rng, Options{}) {}

// [q, k, v] = x U_qkv: (B, T, D) to (B, T, 3 D), columns in the order (3, h, D_h).
Tensor MultiHeadSelfAttention::projected(const Tensor& x, std::optional<std::size_t> rows) const {
  const auto of_rows = [&](const Tensor& u) { return project_qkv(u, qkv.weight, qkv.bias, *rows); };
  if (head_qkv.empty()) return rows ? under("qkv", of_rows, x) : under("qkv", qkv, x);
  const Scope scope("qkv");
  std::vector<Tensor> each;  // (B, T, 3 D_h)
  for (std::size_t i = 0; i < heads; ++i) {
    each.push_back(under(std::to_string(i), head_qkv[i], x));
  }
  const std::size_t B = x.size(0), T = x.size(1), D = proj.in(), h = heads;
  const Tensor by_head = reshape(stack(each, 2), {B, T, h, 3, D / h});
  return reshape(transpose(by_head, 2, 3), {B, T, 3 * D});
}

// LN(q) and LN(k) of each head beside v: (B, T, 3 D) to (B, T, 3 D).
Tensor MultiHeadSelfAttention::normed(const Tensor& qkv_x) const {
  const std::size_t B = qkv_x.size(0), T = qkv_x.size(1), D = proj.in(), h = heads;
  const Tensor by_head = reshape(qkv_x, {B, T, 3, h, D / h});
  const Tensor q = under("q_norm", *q_norm, select(by_head, 2, 0));
  const Tensor k = under("k_norm", *k_norm, select(by_head, 2, 1));
  return reshape(stack({q, k, select(by_head, 2, 2)}, 2), {B, T, 3 * D});
}

Tensor MultiHeadSelfAttention::operator()(const Tensor& x, const Pass& pass, const Tensor& bias,
                                          std::optional<std::size_t> rows) const {
  const bool drops = pass.rng != nullptr && attn_drop != 0;
  const Rng stream = drops ? pass.stream(".attn_drop") : Rng(0);
  const AttentionOptions options{
      .bias = bias, .dropout = attn_drop, .rng = drops ? &stream : nullptr};
  const Tensor qkv_x = q_norm ? normed(projected(x, rows)) : projected(x, rows);
  Tensor heads_output;
  if (Composed::active()) {
    const auto a = composed::self_attention(qkv_x, heads, options, rows);
    pass.note("q", "(B, h, T, D_h)", a.q);
    pass.note("k", "(B, h, T, D_h)", a.k);
    pass.note("v", "(B, h, T, D_h)", a.v);
    pass.note("scores", "(B, h, T, T)", a.scores);
    pass.note("probs", "(B, h, T, T)", a.probs);
    heads_output = a.output;
  } else {
    heads_output = self_attention(qkv_x, heads, options, rows);
  }
  pass.note("heads", "(B, T, D)", heads_output);
  return under("proj_drop", proj_drop, under("proj", proj, heads_output), pass);
}

void MultiHeadSelfAttention::visit(Visitor& visitor) const {
  if (head_qkv.empty()) visitor.child("qkv", qkv);
  for (std::size_t i = 0; i < head_qkv.size(); ++i) visitor.child("qkv", i, head_qkv[i]);
  if (q_norm) visitor.child("q_norm", *q_norm);
  if (k_norm) visitor.child("k_norm", *k_norm);
  visitor.child("proj", proj);
}

MultiHeadSelfAttention MultiHeadSelfAttention::fresh() const {
  return {proj.in(),
          heads,
          Rng(0),
          {.qkv_bias = static_cast<bool>((head_qkv.empty() ? qkv : head_qkv.front()).bias),
           .attn_drop = attn_drop,
           .proj_drop = proj_drop.p,
           .proj_bias = static_cast<bool>(proj.bias),
           .per_head = !head_qkv.empty(),
           .qk_norm = q_norm ? std::optional<double>(q_norm->eps) : std::nullopt}};
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
