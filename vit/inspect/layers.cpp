#include "vitruvian/vit/inspect/layers.hpp"

#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/inspect/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {
namespace {

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
    if (entry.name.ends_with(".mlp.hidden")) {
      result.units.push_back(hidden_units(entry.name, value));
    }
  }
  return result;
}

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
