#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"
#include "vitruvian/vit/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {

Array patches(const VisionTransformer& model, const Array& images) {
  const ViTConfig& c = model.config;
  const Shape& shape = images.shape();
  if (shape.size() != 4 || shape[1] != c.C || shape[2] != c.H || shape[3] != c.W) {
    fail(Exit::usage, "images of shape {}, but the model takes (B, {}, {}, {})", to_string(shape),
         c.C, c.H, c.W);
  }
  const NoGrad no_grad;
  Array x_p = unfold(images, {.height = c.patch_height(),
                              .width = c.patch_width(),
                              .stride_y = c.patch_height(),
                              .stride_x = c.patch_width()})
                  .value();
  x_p.reshape(Shape{shape[0], c.N(), c.C, c.patch_height(), c.patch_width()});
  return x_p;
}

const Array& filters(const VisionTransformer& model) {
  const auto& stem = model.patch_embed.stem.convolutions;
  return (stem.empty() ? model.patch_embed.weight : stem.front().weight).value();
}

PrincipalComponents principal_components(const Array& filters, std::size_t count) {
  const Shape& shape = filters.shape();
  if (shape.size() != 4 || shape[0] == 0) {
    fail("filters of shape {} are not (D, C, P, P)", to_string(shape));
  }
  const std::size_t D = shape[0];
  const std::size_t n = filters.size() / D;
  std::vector<double> centred(filters.data(), filters.data() + filters.size());
  for (std::size_t i = 0; i < n; ++i) {
    double mean = 0;
    for (std::size_t d = 0; d < D; ++d) mean += centred[d * n + i] / static_cast<double>(D);
    for (std::size_t d = 0; d < D; ++d) centred[d * n + i] -= mean;
  }
  std::vector<double> covariance(n * n, 0);  // its upper triangle
  for (std::size_t d = 0; d < D; ++d) {
    const double* const x = &centred[d * n];
    for (std::size_t i = 0; i < n; ++i) {
      const double x_i = x[i] / static_cast<double>(D);
      for (std::size_t j = i; j < n; ++j) covariance[i * n + j] += x_i * x[j];
    }
  }
  PrincipalComponents result;
  for (std::size_t i = 0; i < n; ++i) result.total += covariance[i * n + i];
  const SymmetricEigen eigen = symmetric_eigen(covariance, n);
  const std::size_t k = std::min(count, n);
  // Rounding may leave a variance of nothing below 0.
  for (std::size_t i = 0; i < k; ++i) result.variances.push_back(std::max(eigen.values[i], 0.0));
  result.components = empty({k, shape[1], shape[2], shape[3]});
  for (std::size_t i = 0; i < k; ++i) {
    const double* const v = &eigen.vectors[i * n];
    const double peak =
        *std::max_element(v, v + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::transform(v, v + n, result.components.data() + i * n,
                   [peak](double x) { return static_cast<real>(peak < 0 ? -x : x); });
  }
  return result;
}

Array patch_positions(const VisionTransformer& model) {
  const ViTConfig& c = model.config;
  if (c.positions == Positions::none || c.positions == Positions::relative) {
    fail(Exit::usage, "the model adds no position embeddings: its positions are {}",
         c.positions == Positions::none ? "none" : "relative");
  }
  const NoGrad no_grad;
  const Array all = model.pos_embed(Tensor(zeros({1, c.places(), c.D}))).value();
  Array result = empty({c.N(), c.D});
  std::copy(all.data() + c.class_tokens() * c.D, all.data() + all.size(), result.data());
  return result;
}

Array position_similarity(const Array& positions, std::size_t grid_width) {
  const Shape& shape = positions.shape();
  if (shape.size() != 2 || grid_width == 0 || shape[0] % grid_width != 0) {
    fail("positions of shape {} are not those of a grid {} wide", to_string(shape), grid_width);
  }
  const std::size_t N = shape[0];
  const std::size_t D = shape[1];
  std::vector<double> unit(positions.data(), positions.data() + positions.size());
  for (std::size_t i = 0; i < N; ++i) {
    double square = 0;
    for (std::size_t j = 0; j < D; ++j) square += unit[i * D + j] * unit[i * D + j];
    if (square == 0) continue;
    for (std::size_t j = 0; j < D; ++j) unit[i * D + j] /= std::sqrt(square);
  }
  Array result = empty({N / grid_width, grid_width, N / grid_width, grid_width});
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t k = 0; k < N; ++k) {
      double cosine = 0;
      for (std::size_t j = 0; j < D; ++j) cosine += unit[i * D + j] * unit[k * D + j];
      result.data()[i * N + k] = static_cast<real>(cosine);
    }
  }
  return result;
}

Array position_similarity(const VisionTransformer& model) {
  return position_similarity(patch_positions(model), model.config.grid_width());
}

double Lines::ratio() const { return std::abs(line / rest); }

Lines lines(const Array& similarity) {
  const Shape& shape = similarity.shape();
  if (shape.size() != 4 || shape[0] != shape[2] || shape[1] != shape[3]) {
    fail("similarities of shape {} are not (gh, gw, gh, gw)", to_string(shape));
  }
  const std::size_t width = shape[1];
  const std::size_t N = shape[0] * width;
  double line = 0, rest = 0;
  std::size_t in_line = 0, others = 0;
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t k = 0; k < N; ++k) {
      if (i == k) continue;
      const bool same = i / width == k / width || i % width == k % width;
      (same ? line : rest) += static_cast<double>(similarity.data()[i * N + k]);
      ++(same ? in_line : others);
    }
  }
  return {line / static_cast<double>(in_line), rest / static_cast<double>(others)};
}

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
