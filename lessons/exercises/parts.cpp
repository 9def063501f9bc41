// The parts of a learner's own ViT: theirs where the check of that exercise agreed, else ours.

#include "lessons/exercises/parts.hpp"

#include "lessons/exercises/own.hpp"
#include "vitruvian/core/base/error.hpp"

#include <cmath>
#include <set>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

std::map<std::string, lessons::Submission>& handed_in() {
  static std::map<std::string, lessons::Submission> answers;
  return answers;
}

// The learner's answer of this exercise, or ours.
template <class F>
F* theirs_or(const std::string& exercise, F* ours) {
  const auto found = handed_in().find(exercise);
  if (found == handed_in().end()) return ours;
  if (std::string_view(found->second.type) != typeid(F*).name()) return ours;
  return reinterpret_cast<F*>(found->second.function);
}

std::vector<std::ptrdiff_t> lengths(const Shape& shape) { return {shape.begin(), shape.end()}; }

// --- ours
// ------------------------------------------------------------------------------------------

namespace ours {

std::vector<Tensor> walk_back(const OwnTape& tape, std::size_t loss) {
  std::vector<Tensor> bars(tape.size());
  for (std::size_t i = 0; i < tape.size(); ++i) bars[i] = zeros(tape[i].value.shape());
  bars[loss] = full(tape[loss].value.shape(), 1);
  for (std::size_t i = loss + 1; i-- > 0;) {
    if (!tape[i].back) continue;
    const std::vector<Tensor> shares = tape[i].back(bars[i]);
    for (std::size_t n = 0; n < shares.size(); ++n) {
      bars[tape[i].inputs[n]] = bars[tape[i].inputs[n]] + shares[n];
    }
  }
  return bars;
}

Tensor unstretched(const Tensor& g, const Shape& shape) {
  Axes axes;
  const std::size_t added = g.rank() - shape.size();
  for (std::size_t i = 0; i < g.rank(); ++i) {
    if (i < added || (shape[i - added] == 1 && g.shape()[i] != 1)) {
      axes.push_back(static_cast<int>(i));
    }
  }
  return axes.empty() ? g : reshape(sum(g, axes), lengths(shape));
}

LinearGradients linear_vjp(const Tensor& g, const Tensor& x, const Tensor& W) {
  const Tensor rows_x = reshape(x, {-1, static_cast<std::ptrdiff_t>(x.size(-1))});
  const Tensor rows_g = reshape(g, {-1, static_cast<std::ptrdiff_t>(g.size(-1))});
  return {.dx = matmul(g, W), .dW = matmul(transpose(rows_g), rows_x), .db = sum(rows_g, {0})};
}

Tensor softmax_vjp(const Tensor& y, const Tensor& g) { return y * (g - sum(g * y, {-1}, true)); }

Tensor gelu_vjp(const Tensor& x, const Tensor& g) {
  const Tensor Phi = (erf(x / std::sqrt(2.0)) + 1) / 2;
  return g * (Phi + x * exp(-square(x) / 2) / std::sqrt(2 * std::numbers::pi));
}

LayerNormGradients layer_norm_vjp(const Tensor& g, const Tensor& x, const Tensor& gamma,
                                  double eps) {
  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + eps);
  const Tensor hat = (x - mean(x, {-1}, true)) * rstd;
  const Tensor u = g * gamma;
  Axes rows;
  for (int i = 0; i + 1 < static_cast<int>(x.rank()); ++i) rows.push_back(i);
  return {.dx = rstd * (u - mean(u, {-1}, true) - hat * mean(u * hat, {-1}, true)),
          .dgamma = sum(g * hat, rows),
          .dbeta = sum(g, rows)};
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return vitruvian::attention(q, k, v);
}

// With the learner's softmax, if it is there.
AttentionGradients attention_vjp(const Tensor& g, const Tensor& q, const Tensor& k,
                                 const Tensor& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor A = softmax(matmul(q, transpose(k)) * scale);
  const Tensor dS = vitruvian::softmax_vjp(A, matmul(g, transpose(v))) * scale;
  return {.dq = matmul(dS, k), .dk = matmul(transpose(dS), q), .dv = matmul(transpose(A), g)};
}

Tensor cross_entropy_gradient(const Tensor& logits, const std::vector<std::size_t>& labels) {
  Array one_hot = zeros(logits.shape());
  for (std::size_t b = 0; b < labels.size(); ++b) one_hot(b, labels[b]) = 1;
  return (softmax(logits) - Tensor(one_hot)) / static_cast<double>(labels.size());
}

Var linear(const Var& x, const Var& W, const Var& b) {
  const Tensor x_value = x.value(), W_value = W.value();
  return record({x, W, b}, vitruvian::linear(x_value, W_value, b.value()),
                [x_value, W_value](const Tensor& g) {
                  const LinearGradients d = vitruvian::linear_vjp(g, x_value, W_value);
                  return std::vector<Tensor>{d.dx, d.dW, d.db};
                });
}

Tensor split_heads(const Tensor& qkv, std::size_t heads) {
  const std::vector<std::ptrdiff_t> n = lengths(qkv.shape());
  return permute(reshape(qkv, {n[0], n[1], 3, static_cast<std::ptrdiff_t>(heads), -1}),
                 {2, 0, 3, 1, 4});
}

Tensor class_token_vjp(const Tensor& g) { return sum(slice(g, 1, 0, 1), {0}, true); }

Tensor patches(const Tensor& images, std::size_t P) {
  return unfold(images, {.height = P, .width = P, .stride_y = P, .stride_x = P});
}

Var mlp(const Weights& w, const std::string& name, const Var& x) {
  const Var hidden =
      gelu(vitruvian::linear(x, w.at(name + ".fc1.weight"), w.at(name + ".fc1.bias")));
  return vitruvian::linear(hidden, w.at(name + ".fc2.weight"), w.at(name + ".fc2.bias"));
}

Var msa(const Weights& w, const std::string& name, const Var& x, std::size_t heads) {
  const Var qkv = vitruvian::linear(x, w.at(name + ".qkv.weight"), w.at(name + ".qkv.bias"));
  const auto [q, k, v] = vitruvian::split_heads(qkv, heads);
  return vitruvian::linear(merge_heads(vitruvian::attention(q, k, v)), w.at(name + ".proj.weight"),
                           w.at(name + ".proj.bias"));
}

Var encoder_block(const Weights& w, const std::string& name, const Var& z, std::size_t heads) {
  const auto norm = [&](const std::string& which, const Var& x) {
    return layer_norm(x, w.at(name + which + ".weight"), w.at(name + which + ".bias"));
  };
  const Var z_prime = vitruvian::msa(w, name + ".attn", norm(".norm1", z), heads) + z;
  return vitruvian::mlp(w, name + ".mlp", norm(".norm2", z_prime)) + z_prime;
}

Var vit(const Weights& w, const Tensor& images, const VitSizes& sizes) {
  OwnTape& tape = *w.at("cls_token").tape;
  const Var x_p = leaf(tape, vitruvian::patches(images, sizes.P));
  const Var embedded =
      vitruvian::linear(x_p, w.at("patch_embed.proj.weight"), w.at("patch_embed.proj.bias"));
  Var z = with_class_token(w.at("cls_token"), embedded) + w.at("pos_embed");
  for (std::size_t l = 0; l < sizes.L; ++l) {
    z = vitruvian::encoder_block(w, "blocks." + std::to_string(l), z, sizes.h);
  }
  const Var y = token(layer_norm(z, w.at("norm.weight"), w.at("norm.bias")), 0);
  return vitruvian::linear(y, w.at("head.weight"), w.at("head.bias"));
}

LossAndGradients gradients(const Parameters& parameters, const Tensor& images,
                           const std::vector<std::size_t>& labels, const VitSizes& sizes) {
  OwnTape tape;
  Weights w;
  for (const auto& [name, value] : parameters) w[name] = leaf(tape, value);
  const Var loss = cross_entropy(vitruvian::vit(w, images, sizes), labels);
  const std::vector<Tensor> bars = vitruvian::walk_back(tape, loss.place);
  LossAndGradients result{.loss = loss.value().item(), .gradients = {}};
  for (const auto& [name, var] : w) result.gradients[name] = bars[var.place];
  return result;
}

AdamWState adamw_step(AdamWState s, const Tensor& g, const AdamWRates& r) {
  const double t = static_cast<double>(++s.t);
  s.w = s.w - s.w * (r.eta * r.lambda);
  s.m = s.m * r.beta1 + g * (1 - r.beta1);
  s.v = s.v * r.beta2 + square(g) * (1 - r.beta2);
  const Tensor m_hat = s.m / (1 - std::pow(r.beta1, t));
  const Tensor v_hat = s.v / (1 - std::pow(r.beta2, t));
  s.w = s.w - m_hat / (sqrt(v_hat) + r.eps) * r.eta;
  return s;
}

double warmup_cosine(std::size_t step, std::size_t steps, std::size_t warmup) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double p = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  return (1 + std::cos(std::numbers::pi * p)) / 2;
}

double clip(std::vector<Array>& gradients, double max_norm) {
  double squares = 0;
  for (const Array& g : gradients) {
    for (const double x : g) squares += x * x;
  }
  const double norm = std::sqrt(squares);
  if (norm > max_norm) {
    for (Array& g : gradients) {
      for (double& x : g) x *= max_norm / norm;
    }
  }
  return norm;
}

}  // namespace ours
}  // namespace

// --- the tape
// --------------------------------------------------------------------------------------

Var leaf(OwnTape& tape, const Tensor& value) {
  tape.push_back({value, {}, {}});
  return {&tape, tape.size() - 1};
}

Var record(const std::vector<Var>& inputs, const Tensor& value, const WayBack& back) {
  if (inputs.empty()) fail("record: a value that was computed from nothing is a leaf");
  OwnTape& tape = *inputs.front().tape;
  Recorded entry{value, {}, back};
  for (const Var& input : inputs) {
    if (input.tape != &tape) fail("record: the inputs lie on two tapes, or on none");
    entry.inputs.push_back(input.place);
  }
  tape.push_back(entry);
  return {&tape, tape.size() - 1};
}

std::vector<Tensor> walk_back(const OwnTape& tape, std::size_t loss) {
  return theirs_or("walk_back", ours::walk_back)(tape, loss);
}

// --- one op, without a tape
// --------------------------------------------------------------------------

Tensor unstretched(const Tensor& g, const Shape& shape) {
  return theirs_or("unbroadcast", ours::unstretched)(g, shape);
}
LinearGradients linear_vjp(const Tensor& g, const Tensor& x, const Tensor& W) {
  return theirs_or("linear", ours::linear_vjp)(g, x, W);
}
Tensor softmax_vjp(const Tensor& y, const Tensor& g) {
  return theirs_or("softmax", ours::softmax_vjp)(y, g);
}
Tensor gelu_vjp(const Tensor& x, const Tensor& g) {
  return theirs_or("gelu", ours::gelu_vjp)(x, g);
}
LayerNormGradients layer_norm_vjp(const Tensor& g, const Tensor& x, const Tensor& gamma,
                                  double eps) {
  return theirs_or("layer_norm", ours::layer_norm_vjp)(g, x, gamma, eps);
}
AttentionGradients attention_vjp(const Tensor& g, const Tensor& q, const Tensor& k,
                                 const Tensor& v) {
  return theirs_or("attention_vjp", ours::attention_vjp)(g, q, k, v);
}
Tensor cross_entropy_gradient(const Tensor& logits, const std::vector<std::size_t>& labels) {
  return theirs_or("cross_entropy", ours::cross_entropy_gradient)(logits, labels);
}

// --- ops on the tape
// -------------------------------------------------------------------------------

Var operator+(const Var& a, const Var& b) {
  const Shape of_a = a.value().shape(), of_b = b.value().shape();
  return record({a, b}, a.value() + b.value(), [of_a, of_b](const Tensor& g) {
    return std::vector<Tensor>{unstretched(g, of_a), unstretched(g, of_b)};
  });
}

Var linear(const Var& x, const Var& W, const Var& b) {
  return theirs_or("own_linear", ours::linear)(x, W, b);
}

Var gelu(const Var& x) {
  const Tensor before = x.value();
  return record({x}, gelu(before),
                [before](const Tensor& g) { return std::vector<Tensor>{gelu_vjp(before, g)}; });
}

Var layer_norm(const Var& x, const Var& gamma, const Var& b) {
  constexpr double eps = 1e-6;
  const Tensor before = x.value(), factor = gamma.value();
  return record({x, gamma, b}, layer_norm(before, {before.size(-1)}, factor, b.value(), eps),
                [before, factor](const Tensor& g) {
                  const LayerNormGradients d = layer_norm_vjp(g, before, factor, eps);
                  return std::vector<Tensor>{d.dx, d.dgamma, d.dbeta};
                });
}

Var attention(const Var& q, const Var& k, const Var& v) {
  const Tensor q_value = q.value(), k_value = k.value(), v_value = v.value();
  return record({q, k, v}, theirs_or("attention", ours::attention)(q_value, k_value, v_value),
                [q_value, k_value, v_value](const Tensor& g) {
                  const AttentionGradients d = attention_vjp(g, q_value, k_value, v_value);
                  return std::vector<Tensor>{d.dq, d.dk, d.dv};
                });
}

std::array<Var, 3> split_heads(const Var& qkv, std::size_t heads) {
  const Tensor all = theirs_or("split_heads", ours::split_heads)(qkv.value(), heads);
  const std::vector<std::ptrdiff_t> whole = lengths(qkv.value().shape());
  std::array<Var, 3> result;
  for (std::size_t i = 0; i < 3; ++i) {
    // The way back: zeros for the two others, then the permutation the other way round.
    const auto back = [whole, i](const Tensor& g) {
      std::vector<Tensor> three(3, zeros(g.shape()));
      three[i] = g;
      return std::vector<Tensor>{reshape(permute(stack(three, 0), {1, 3, 0, 2, 4}), whole)};
    };
    result[i] = record({qkv}, select(all, 0, static_cast<std::ptrdiff_t>(i)), back);
  }
  return result;
}

Var merge_heads(const Var& x) {
  const std::vector<std::ptrdiff_t> n = lengths(x.value().shape());  // B, h, T, D_h
  return record(
      {x}, reshape(permute(x.value(), {0, 2, 1, 3}), {n[0], n[2], -1}), [n](const Tensor& g) {
        return std::vector<Tensor>{permute(reshape(g, {n[0], n[2], n[1], n[3]}), {0, 2, 1, 3})};
      });
}

Var with_class_token(const Var& x_class, const Var& patches) {
  const Shape shape = patches.value().shape();
  const Tensor row = broadcast_to(x_class.value(), {shape[0], 1, shape[2]});
  return record({x_class, patches}, concat({row, patches.value()}, 1), [](const Tensor& g) {
    return std::vector<Tensor>{theirs_or("class_token", ours::class_token_vjp)(g),
                               slice(g, 1, 1, slice_end)};
  });
}

Var token(const Var& z, std::size_t t) {
  const auto before = static_cast<std::ptrdiff_t>(t);
  const std::ptrdiff_t behind = static_cast<std::ptrdiff_t>(z.value().size(1)) - before - 1;
  return record({z}, select(z.value(), 1, before), [before, behind](const Tensor& g) {
    return std::vector<Tensor>{pad(unsqueeze(g, 1), 1, before, behind)};
  });
}

Var cross_entropy(const Var& logits, const std::vector<std::size_t>& labels) {
  const Tensor before = logits.value();
  return record({logits}, cross_entropy(before, labels), [before, labels](const Tensor& g) {
    return std::vector<Tensor>{cross_entropy_gradient(before, labels) * g};
  });
}

Tensor patches(const Tensor& images, std::size_t P) {
  return theirs_or("patches", ours::patches)(images, P);
}

// --- layers, the model, training
// ---------------------------------------------------------------------

Var mlp(const Weights& w, const std::string& name, const Var& x) {
  return theirs_or("own_mlp", ours::mlp)(w, name, x);
}
Var msa(const Weights& w, const std::string& name, const Var& x, std::size_t heads) {
  return theirs_or("own_heads", ours::msa)(w, name, x, heads);
}
Var encoder_block(const Weights& w, const std::string& name, const Var& z, std::size_t heads) {
  return theirs_or("own_block", ours::encoder_block)(w, name, z, heads);
}
Var vit(const Weights& w, const Tensor& images, const VitSizes& sizes) {
  return theirs_or("own_vit", ours::vit)(w, images, sizes);
}
LossAndGradients gradients(const Parameters& parameters, const Tensor& images,
                           const std::vector<std::size_t>& labels, const VitSizes& sizes) {
  return theirs_or("own_gradients", ours::gradients)(parameters, images, labels, sizes);
}
AdamWState adamw_step(AdamWState s, const Tensor& g, const AdamWRates& r) {
  return theirs_or("adamw", ours::adamw_step)(std::move(s), g, r);
}
double warmup_cosine(std::size_t step, std::size_t steps, std::size_t warmup) {
  return theirs_or("schedule", ours::warmup_cosine)(step, steps, warmup);
}
double clip(std::vector<Array>& gradients, double max_norm) {
  return theirs_or("clipping", ours::clip)(gradients, max_norm);
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

void take_part(const std::string& exercise, const Submission& answer) {
  handed_in()[exercise] = answer;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
