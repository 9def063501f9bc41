#include "web/engine/check.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/vit/model.hpp"

#include <algorithm>

namespace vitruvian::web {

CheckResult check_gradient(const CheckRequest& request) {
  const ViTConfig& c = request.config;
  const VisionTransformer model = undrawn(c);
  const std::vector<NamedParameter> parameters = named_parameters(model);
  const Tensor* checked = nullptr;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const WriteGuard value = parameters[i].tensor.mutable_value();
    std::copy_n(request.parameters.at(i).data(), value->size(), value->data());
    parameters[i].tensor.set_requires_grad(parameters[i].name == request.parameter);
    if (parameters[i].name == request.parameter) checked = &parameters[i].tensor;
  }
  if (checked == nullptr) fail("there is no parameter '{}'", request.parameter);
  Array image = zeros({1, c.C, c.H, c.W});
  std::copy_n(request.image.data(), image.size(), image.data());
  const Composed from_primitive_ops;
  const GradcheckReport report =
      gradcheck([&] { return cross_entropy(model(Tensor(image)), {request.label}); }, {*checked},
                {.strict = true, .entries = request.entries, .seed = request.seed});
  if (!report.problem.empty()) fail("{}", report.problem);
  return {report.error <= CheckResult::tolerance,
          report.error,
          report.index,
          report.analytic,
          report.numeric,
          report.checked};
}

}  // namespace vitruvian::web
