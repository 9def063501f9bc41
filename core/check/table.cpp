#include "vitruvian/core/check/gradcheck.hpp"

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

std::vector<GradcheckCase> gradcheck_cases() {
  std::vector<GradcheckCase> all = elementwise_cases();
  for (GradcheckCase& row : shape_cases()) all.push_back(std::move(row));
  for (GradcheckCase& row : pick_cases()) all.push_back(std::move(row));
  for (GradcheckCase& row : layer_cases()) all.push_back(std::move(row));
  return all;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
