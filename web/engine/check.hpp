#pragma once

#include "vitruvian/vit/config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vitruvian::web {

/// A gradient check of one parameter of a model, in float64.
struct CheckRequest {
  ViTConfig config;
  std::vector<std::vector<double>> parameters;  ///< in the order of the model's visit
  std::vector<double> image;                    ///< (C, H, W), normalised
  std::size_t label = 0;
  std::string parameter;    ///< its name
  std::size_t entries = 2;  ///< how many are moved
  std::uint64_t seed = 1;
};

struct CheckResult {
  bool passed = false;
  double error = 0;  ///< relative: see GradcheckReport
  std::size_t index = 0;
  double analytic = 0, numeric = 0;  ///< where they differ most
  std::size_t checked = 0;
  static constexpr double tolerance = 1e-6;  // a right answer's gradients are tiny
};

/// Under the thread's Fault, if there is one. Throws for a parameter that the model does not have.
CheckResult check_gradient(const CheckRequest& request);

}  // namespace vitruvian::web
