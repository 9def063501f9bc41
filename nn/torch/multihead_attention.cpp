#include "vitruvian/nn/torch/multihead_attention.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/nn/init.hpp"

#include <cmath>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// (B, S, D) with one row more for each image: `row` (1, 1, D), the same for all.
Tensor with_row(const Tensor& x, const Tensor& row) {
  return concat({x, broadcast_to(row, {x.size(0), 1, x.size(2)})}, 1);
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::size_t D, std::size_t heads, const Rng& rng,
                                       const Options& options)
    : num_heads(heads),
      dropout(options.dropout),
      add_zero_attn(options.add_zero_attn),
      batch_first(options.batch_first),
      out_proj(D, D, rng.fork("out_proj"), options.bias) {
  if (heads == 0 || D % heads != 0) {
    fail("attention: {} heads do not divide a width D of {}", heads, D);
  }
  const std::size_t kdim = options.kdim == 0 ? D : options.kdim;
  const std::size_t vdim = options.vdim == 0 ? D : options.vdim;
  const auto drawn = [&](const char* name, const Shape& shape) {
    Parameter weight(zeros(shape));
    init::xavier_uniform(weight, rng.fork(name));
    return weight;
  };
  if (kdim == D && vdim == D) {
    in_proj_weight = drawn("in_proj_weight", {3 * D, D});
  } else {
    q_proj_weight = drawn("q_proj_weight", {D, D});
    k_proj_weight = drawn("k_proj_weight", {D, kdim});
    v_proj_weight = drawn("v_proj_weight", {D, vdim});
  }
  if (options.bias) {
    in_proj_bias = Parameter(zeros({3 * D}));
    init::constant(out_proj.bias, 0);
  }
  if (options.add_bias_kv) {
    bias_k = Parameter(zeros({1, 1, D}));
    bias_v = Parameter(zeros({1, 1, D}));
    const double std = 1 / std::sqrt(static_cast<double>(D));  // Xavier's normal, both fans D
    init::normal(bias_k, rng.fork("bias_k"), std);
    init::normal(bias_v, rng.fork("bias_v"), std);
  }
}

MultiheadAttention::Result MultiheadAttention::operator()(const Tensor& query, const Tensor& key,
                                                          const Tensor& value, const Pass& pass,
                                                          bool need_weights) const {
  for (const Tensor* x : {&query, &key, &value}) {
    if (x->rank() != 3) {
      fail("attention: input {} is not {}", to_string(x->shape()),
           batch_first ? "(B, T, D)" : "(T, B, D)");
    }
  }
  const int tokens = batch_first ? 1 : 0;
  if (key.size(tokens) != value.size(tokens)) {
    fail("attention: key {} and value {} are not of as many tokens", to_string(key.shape()),
         to_string(value.shape()));
  }
  const int images = 1 - tokens;
  if (query.size(images) != key.size(images) || key.size(images) != value.size(images)) {
    fail("attention: query {}, key {} and value {} are not of as many images",
         to_string(query.shape()), to_string(key.shape()), to_string(value.shape()));
  }
  const auto images_first = [&](const Tensor& x) { return batch_first ? x : transpose(x, 0, 1); };
  const std::size_t D = out_proj.in();
  std::vector<Tensor> W{q_proj_weight, k_proj_weight, v_proj_weight};
  if (in_proj_weight) W = split(in_proj_weight, {D, D, D}, 0);
  const std::vector<Tensor> b =
      in_proj_bias ? split(in_proj_bias, {D, D, D}, 0) : std::vector<Tensor>(3);
  const Tensor q = linear(images_first(query), W[0], b[0]);
  Tensor k = linear(images_first(key), W[1], b[1]);
  Tensor v = linear(images_first(value), W[2], b[2]);
  if (bias_k) k = with_row(k, bias_k), v = with_row(v, bias_v);
  if (add_zero_attn) {
    const Tensor zero(zeros({1, 1, D}));
    k = with_row(k, zero), v = with_row(v, zero);
  }
  const bool drops = pass.rng != nullptr && dropout != 0;
  const Rng stream = drops ? pass.stream(".attn_drop") : Rng(0);
  const AttentionOptions options{.dropout = dropout, .rng = drops ? &stream : nullptr};
  Result result;
  Tensor concatenated;  // heads, (B, T, D)
  if (need_weights) {
    const auto a = composed::multi_head_attention(q, k, v, num_heads, options);
    result.weights = a.probs;
    concatenated = a.output;
  } else {
    concatenated = multi_head_attention(q, k, v, num_heads, options);
  }
  result.output = images_first(under("out_proj", out_proj, concatenated));
  return result;
}

void MultiheadAttention::visit(Visitor& visitor) const {
  visitor.parameter("in_proj_weight", Role::weight, in_proj_weight);
  visitor.parameter("q_proj_weight", Role::weight, q_proj_weight);
  visitor.parameter("k_proj_weight", Role::weight, k_proj_weight);
  visitor.parameter("v_proj_weight", Role::weight, v_proj_weight);
  visitor.parameter("in_proj_bias", Role::bias, in_proj_bias);
  visitor.parameter("bias_k", Role::bias, bias_k);
  visitor.parameter("bias_v", Role::bias, bias_v);
  visitor.child("out_proj", out_proj);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
