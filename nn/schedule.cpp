#include "nn/schedule.hpp"

#include <cmath>
#include <numbers>

namespace vitruvian {
namespace {

template <class Decay>
double with_warmup(std::size_t step, std::size_t steps, std::size_t warmup, const Decay& decay) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= steps) return decay(1.0);
  return decay(static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
}

}  // namespace

double constant_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup(step, steps, warmup, [](double) { return 1.0; });
}

double linear_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup(step, steps, warmup, [](double p) { return 1 - p; });
}

double cosine_schedule(std::size_t step, std::size_t steps, std::size_t warmup) {
  return with_warmup(step, steps, warmup,
                     [](double p) { return (1 + std::cos(std::numbers::pi * p)) / 2; });
}

}  // namespace vitruvian
