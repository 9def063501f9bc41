#include "vitruvian/nn/schedule.hpp"

#include "vitruvian/core/base/error.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace vitruvian {
namespace {

template <class Decay>
double with_warmup(const char* schedule, std::size_t step, std::size_t steps, std::size_t warmup,
                   const Decay& decay) {
  for (const auto& [name, n] :
       {std::pair{"step", step}, std::pair{"steps", steps}, std::pair{"warmup", warmup}}) {
    const auto as_meant = static_cast<std::ptrdiff_t>(n);
    if (as_meant < 0) fail("{}: {} is {}, a negative number", schedule, name, as_meant);
  }
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= steps) return decay(1.0);
  return decay(static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
}

}  // namespace

double constant_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup("constant_schedule", step, steps, warmup, [](double) { return 1.0; });
}

double linear_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup("linear_schedule", step, steps, warmup, [](double p) { return 1 - p; });
}

double cosine_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup("cosine_schedule", step, steps, warmup,
                     [](double p) { return (1 + std::cos(std::numbers::pi * p)) / 2; });
}

}  // namespace vitruvian
