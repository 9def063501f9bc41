#include "lessons/experiments/attention.hpp"

#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {
namespace {

double median(const Tensor& x) {
  std::vector<double> values(x.value().begin(), x.value().end());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::string Sharpness::text() const {
  return fmt::format("{:.2g}, {:.2g}, {:.2g}", spread, share, gradient);
}

// [region sharpness]
Sharpness sharpness(std::size_t width, double divisor, std::uint64_t seed) {
  const Tensor q(random_normal({64, width}, seed)), k(random_normal({64, width}, seed + 1));
  const Tensor S(mul(matmul(q, transpose(k)), real(1 / divisor)).value(), true);
  const Tensor A = softmax(S);
  const Tensor dS(grad(A, {S}, random_normal({64, 64}, seed + 2), true)[0]);
  const Tensor size = sqrt(sum(square(dS), {1}));
  return {std::sqrt(double(mean(square(S)).item())), median(amax(A, {1})), median(size)};
}
// [end]

std::vector<Tensor> attention_maps(const VisionTransformer& model, const Tensor& images) {
  const NoGrad no_grad;
  const Composed probabilities_too;
  Trace trace;
  model(images, {.trace = &trace});
  std::vector<Tensor> A;
  for (std::size_t l = 0; l < model.config.L; ++l) {
    A.push_back(trace.at(fmt::format("blocks.{}.attn.probs", l)));
  }
  return A;
}

Array class_token_looks(const Tensor& probs) {
  const Tensor row = slice(select(select(probs, 0, 0), 1, 0), 1, 1, 17);
  return reshape(row / amax(row, {1}, true), {-1, 4, 4}).value();
}

// [region ink]
// The class token's share on patches with ink, against the share of such patches.
double on_ink(const Tensor& M, std::span<const std::uint8_t> pixels) {
  double mass = 0, all = 0, patches = 0;
  for (std::size_t n = 0; n < 16; ++n) {
    bool ink = false;
    for (std::size_t i = 0; i < 7 * 7; ++i) {
      ink = ink || pixels[(n / 4 * 7 + i / 7) * 28 + n % 4 * 7 + i % 7] > 127;
    }
    const double share = double(M.value()(0, 0, n + 1));
    all += share;
    mass += ink ? share : 0;
    patches += ink ? 1.0 / 16 : 0;
  }
  return mass / all / patches;
}
// [end]

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
