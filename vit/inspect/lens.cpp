#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <algorithm>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {

Array logit_lens(const VisionTransformer& model, const Trace& trace) {
  const NoGrad no_grad;
  const ViTConfig& c = model.config;
  const std::size_t B = trace.at("z_0").size(0);
  Array result = zeros({c.L + 1, B, c.K});
  for (std::size_t l = 0; l <= c.L; ++l) {
    const Tensor& z = trace.at(l == 0 ? "z_0" : fmt::format("blocks.{}.z", l - 1));
    const Array probabilities = softmax(model.classify(model.output(z))).value();
    std::copy_n(probabilities.data(), B * c.K, result.data() + l * B * c.K);
  }
  return result;
}

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
