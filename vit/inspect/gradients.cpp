#include "vitruvian/vit/inspect/gradients.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {
namespace {

// While it lives, a model's parameters are constants: nobody pays for their gradients.
class Frozen {
 public:
  explicit Frozen(const VisionTransformer& model)
      : parameters_(trainable(named_parameters(model))) {
    set(false);
  }
  ~Frozen() { set(true); }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  void set(bool requires_grad) const {
    for (const Tensor& p : parameters_) p.node().requires_grad = requires_grad;
  }
  std::vector<Tensor> parameters_;
};

// The cotangent that picks each image's target out of the logits.
Array picking(const Shape& logits, const Targets& targets) {
  if (targets.size() != logits[0]) {
    fail("{} target classes for {} images", targets.size(), logits[0]);
  }
  Array c = zeros(logits);
  for (std::size_t b = 0; b < targets.size(); ++b) {
    if (targets[b] >= logits[1]) {
      fail(Exit::usage, "class {}: there are {}, from 0 to {}", targets[b], logits[1],
           logits[1] - 1);
    }
    c.data()[b * logits[1] + targets[b]] = 1;
  }
  return c;
}

Targets or_most_probable(const Targets& targets, const Array& logits) {
  return targets.empty() ? most_probable(logits) : targets;
}

Array logits_of(const VisionTransformer& model, const Array& images) {
  const NoGrad no_grad;
  return model(images).value();
}

// The gradient of frozen `model`.
Array gradient(const VisionTransformer& model, const Array& images, const Targets& targets) {
  const Tensor x(images, true);
  const Tensor y = model(x);
  return grad(y, {x}, picking(y.shape(), or_most_probable(targets, y.value())))[0];
}

double root_mean_square(const Array& a) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a.data()[i]) * static_cast<double>(a.data()[i]);
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

HiddenUnits hidden_units(const std::string& name, const Array& hidden) {
  const std::size_t M = hidden.shape().back();
  const std::size_t tokens = hidden.size() / M;
  std::vector<double> least(M, std::numeric_limits<double>::infinity());
  std::vector<double> most(M, -std::numeric_limits<double>::infinity());
  std::size_t on = 0;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const auto x = static_cast<double>(hidden.data()[i]);
    least[i % M] = std::min(least[i % M], x);
    most[i % M] = std::max(most[i % M], x);
    if (x > 0) ++on;
  }
  HiddenUnits result{name, M};
  for (std::size_t u = 0; u < M; ++u) {
    if (std::max(most[u], -least[u]) <= 0.001) ++result.dead;
    if (most[u] <= 0) ++result.never_on;
    if (least[u] > 3) ++result.always_on;
  }
  result.on = static_cast<double>(on) / static_cast<double>(tokens * M);
  return result;
}

}  // namespace

Targets most_probable(const Array& logits) {
  const std::size_t K = logits.shape().at(1);
  Targets result;
  for (std::size_t b = 0; b < logits.shape()[0]; ++b) {
    const real* const row = logits.data() + b * K;
    result.push_back(static_cast<std::size_t>(std::max_element(row, row + K) - row));
  }
  return result;
}

Array gradient_rollout(const VisionTransformer& model, const Array& images,
                       const Targets& targets) {
  const Frozen frozen(model);
  const Composed probabilities_too;
  Trace trace;
  const Tensor y = model(Tensor(images, true), {.trace = &trace});
  std::vector<Tensor> A;
  for (std::size_t l = 0; l < model.config.L; ++l) {
    A.push_back(trace.at(fmt::format("blocks.{}.attn.probs", l)));
  }
  const auto dA = grad(y, A, picking(y.shape(), or_most_probable(targets, y.value())));
  const NoGrad no_grad;
  const std::size_t T = model.config.T();
  Tensor R(zeros({images.shape()[0], T, T}));  // R_l - I
  for (std::size_t l = 0; l < A.size(); ++l) {
    const Tensor weighted = mean(relu(A[l].detach() * Tensor(dA[l])), {1});
    R = R + matmul(weighted, R) + weighted;
  }
  return R.value();
}

Array input_gradient(const VisionTransformer& model, const Array& images, const Targets& targets) {
  const Frozen frozen(model);
  return gradient(model, images, targets);
}

Array saliency(const Array& attributions) {
  const Shape& shape = attributions.shape();
  if (shape.size() != 4) fail("attributions of shape {} are not (B, C, H, W)", to_string(shape));
  const NoGrad no_grad;
  return amax(abs(Tensor(attributions)), {1}).value();
}

Array smooth_grad(const VisionTransformer& model, const Array& images, const SmoothGrad& options,
                  const Targets& targets, const Progress& progress) {
  if (options.samples == 0) fail(Exit::usage, "SmoothGrad takes at least one sample");
  const Frozen frozen(model);
  const Targets of_the_clean = or_most_probable(targets, logits_of(model, images));
  Array mean = zeros(images.shape());
  const std::size_t size = images.size() / images.shape()[0];  // of one image
  for (std::size_t k = 0; k < options.samples; ++k) {
    const Rng rng = Rng(options.seed).fork("smooth_grad", {k});
    Array noisy = images;
    for (std::size_t b = 0; b < images.shape()[0]; ++b) {
      const real* const image = images.data() + b * size;
      const auto [low, high] = std::minmax_element(image, image + size);
      const double deviation = options.noise * static_cast<double>(*high - *low);
      for (std::size_t i = b * size; i < (b + 1) * size; ++i) {
        noisy.data()[i] += static_cast<real>(deviation * rng.normal(i));
      }
    }
    add_multiple(mean, static_cast<real>(1 / static_cast<double>(options.samples)),
                 gradient(model, noisy, of_the_clean));
    if (progress) progress(k + 1);
  }
  return mean;
}

IntegratedGradients integrated_gradients(const VisionTransformer& model, const Array& images,
                                         const Array& baseline, std::size_t steps,
                                         const Targets& targets, const Progress& progress) {
  if (steps == 0) fail(Exit::usage, "integrated gradients take at least one step");
  const std::size_t B = images.shape()[0];
  const std::size_t size = baseline.size();
  if (size * B != images.size()) {
    fail("a baseline of shape {} for images of shape {}", to_string(baseline.shape()),
         to_string(images.shape()));
  }
  const Frozen frozen(model);
  const Array y = logits_of(model, images);
  IntegratedGradients result;
  result.targets = or_most_probable(targets, y);
  const Array c = picking(y.shape(), result.targets);
  const auto at = [&](double share) {  // x' + share (x - x')
    Array x = images;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const real from = baseline.data()[i % size];
      x.data()[i] = from + static_cast<real>(share) * (x.data()[i] - from);
    }
    return x;
  };
  Array mean = zeros(images.shape());
  for (std::size_t k = 0; k < steps; ++k) {
    const double share = (static_cast<double>(k) + 0.5) / static_cast<double>(steps);
    add_multiple(mean, static_cast<real>(1 / static_cast<double>(steps)),
                 gradient(model, at(share), result.targets));
    if (progress) progress(k + 1);
  }
  const Array y_0 = logits_of(model, at(0));
  result.sum.assign(B, 0);
  result.difference.assign(B, 0);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean.data()[i] *= images.data()[i] - baseline.data()[i % size];
    result.sum[i / size] += static_cast<double>(mean.data()[i]);
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto gain = static_cast<double>(y.data()[i]) - static_cast<double>(y_0.data()[i]);
    result.difference[i / y.shape()[1]] += static_cast<double>(c.data()[i]) * gain;
  }
  result.attributions = std::move(mean);
  return result;
}

double IntegratedGradients::incompleteness() const {
  double worst = 0;
  for (std::size_t b = 0; b < sum.size(); ++b) {
    if (sum[b] == difference[b]) continue;  // of both 0 too
    const double missed = std::abs(sum[b] - difference[b]) / std::abs(difference[b]);
    if (std::isnan(missed)) return missed;
    worst = std::max(worst, missed);
  }
  return worst;
}

Layers layers(const VisionTransformer& model, const Array& images,
              const std::vector<std::size_t>& labels) {
  const Frozen frozen(model);
  const Composed probabilities_too;
  Trace trace;
  const Tensor loss = cross_entropy(model(Tensor(images, true), {.trace = &trace}), labels);
  std::vector<Tensor> stages;
  for (const Trace::Entry& entry : trace.entries()) {
    if (entry.tensor.requires_grad()) stages.push_back(entry.tensor);
  }
  const std::vector<Array> gradients = grad(loss, stages);
  Layers result;
  result.loss = static_cast<double>(loss.item());
  std::size_t next = 0;
  for (const Trace::Entry& entry : trace.entries()) {
    const Array& value = entry.tensor.value();
    const bool derived = entry.tensor.requires_grad();
    result.norms.push_back(
        {entry.name, root_mean_square(value), derived ? root_mean_square(gradients[next++]) : 0});
    // Of SwiGLU's units the terms do not hold: a product is dead by either factor.
    if (entry.name.ends_with(".mlp.hidden") && !model.config.swiglu) {
      result.units.push_back(hidden_units(entry.name, value));
    }
  }
  return result;
}

double seconds_a_gradient(const VisionTransformer& model, const Array& images) {
  const auto begin = std::chrono::steady_clock::now();
  input_gradient(model, images);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
