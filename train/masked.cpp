#include "vitruvian/train/masked.hpp"

#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/init.hpp"
#include "vitruvian/train/step.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

constexpr std::size_t levels = 8;  // 3 bits

std::size_t corrupted_of(std::size_t N) { return std::max<std::size_t>(1, N / 2); }

}  // namespace

std::size_t colours_of(std::size_t channels) {
  std::size_t colours = 1;
  for (std::size_t c = 0; c < channels; ++c) colours *= levels;
  return colours;
}

std::vector<std::size_t> mean_colours(const Array& images, const ViTConfig& config,
                                      std::span<const double> mean, std::span<const double> std) {
  const std::size_t B = images.shape()[0], C = config.C;
  const std::size_t height = config.patch_height(), width = config.patch_width();
  const auto pixels = static_cast<double>(height * width);
  std::vector<std::size_t> colours;
  colours.reserve(B * config.N());
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t n = 0; n < config.N(); ++n) {
      const std::size_t top = n / config.grid_width() * height;
      const std::size_t left = n % config.grid_width() * width;
      std::size_t colour = 0;
      for (std::size_t c = 0; c < C; ++c) {
        double sum = 0;
        for (std::size_t y = top; y < top + height; ++y) {
          for (std::size_t x = left; x < left + width; ++x) {
            sum += static_cast<double>(images(b, c, y, x));
          }
        }
        const double m = sum / pixels * std[c] + mean[c];
        // A mean that lies on the border of two levels must not fall by a rounded digit.
        const double level = std::floor(levels * m + 1e-5);
        colour = colour * levels + static_cast<std::size_t>(std::clamp(level, 0.0, levels - 1.0));
      }
      colours.push_back(colour);
    }
  }
  return colours;
}

Corruption corrupt(std::size_t N, const Rng& rng) {
  Corruption result;
  result.patches = rng.fork("patches").permutation(N);
  result.patches.resize(corrupted_of(N));
  result.masked.assign(N, false);
  for (std::size_t n = 0; n < N; ++n) result.source.push_back(n);
  const Rng fate = rng.fork("fate");
  const Rng other = rng.fork("other");
  for (const std::size_t n : result.patches) {
    const double u = fate.uniform(n);
    if (u < 0.8) {
      result.masked[n] = true;
    } else if (u < 0.9) {
      result.source[n] = (n + 1 + other.below(N - 1, n)) % N;
    }
  }
  return result;
}

MaskedViT::MaskedViT(const VisionTransformer& model, std::vector<double> means,
                     std::vector<double> deviations, const Rng& rng)
    : vit(model),
      mask_token(zeros({1, 1, model.config.D})),
      mask_head(model.config.D, colours_of(model.config.C), rng),
      mean(std::move(means)),
      std(std::move(deviations)) {
  init::normal(mask_token, rng.fork("mask_token"), 0.02);
  init::constant(mask_head.weight, 0);
  init::constant(mask_head.bias, 0);
}

Tensor MaskedViT::operator()(const Tensor& images, std::span<const Corruption> corruptions,
                             const Pass& pass) const {
  const std::size_t B = corruptions.size(), N = vit.config.N(), S = corrupted_of(N);
  Array masked = zeros({B, N, 1});
  std::vector<std::ptrdiff_t> source, asked;
  for (std::size_t b = 0; b < B; ++b) {
    const Corruption& of = corruptions[b];
    for (std::size_t n = 0; n < N; ++n) masked(b, n, 0) = of.masked[n] ? 1 : 0;
    source.insert(source.end(), of.source.begin(), of.source.end());
    for (const std::size_t n : of.patches) {
      asked.push_back(static_cast<std::ptrdiff_t>(vit.config.first_patch() + n));
    }
  }
  const Tensor patches = under("patch_embed", vit.patch_embed, images, pass);  // (B, N, D)
  const Tensor moved = gather(patches, 1, Indices({B, N}, source));
  const Tensor corrupted = where(masked, mask_token, moved);
  const Tensor z_L = vit.encode(vit.place(corrupted, pass), pass);  // (B, T, D)
  const Tensor of_asked = gather(z_L, 1, Indices({B, S}, asked));   // (B, S, D)
  const Tensor y = under("norm", vit.norm, of_asked);
  return under("mask_head", mask_head, reshape(y, {B * S, vit.config.D}));
}

std::vector<Corruption> MaskedViT::corruptions(const MicroBatch& part) const {
  std::vector<Corruption> result;
  for (std::size_t b = 0; b < part.images.size(0); ++b) {
    result.push_back(corrupt(vit.config.N(), part.step.fork("image", {part.first + b})));
  }
  return result;
}

std::vector<std::size_t> MaskedViT::right(const MicroBatch& part,
                                          std::span<const Corruption> corruptions) const {
  const std::vector<std::size_t> colours = mean_colours(part.images.value(), vit.config, mean, std);
  std::vector<std::size_t> result;
  for (std::size_t b = 0; b < corruptions.size(); ++b) {
    for (const std::size_t n : corruptions[b].patches) {
      result.push_back(colours[b * vit.config.N() + n]);
    }
  }
  return result;
}

void MaskedViT::visit(Visitor& visitor) const {
  vit.visit(visitor);
  visitor.parameter("mask_token", Role::token, mask_token);
  visitor.child("mask_head", mask_head);
}

Learner learner_of(const MaskedViT& model) {
  Learner learner(model.vit);
  learner.name += ", masked patch prediction";
  learner.parameters = named_parameters(model);
  learner.questions = [&model](const MicroBatch& part, const Pass& pass) {
    const std::vector<Corruption> corruptions = model.corruptions(part);
    return std::vector<Question>{
        {model(part.images, corruptions, pass), model.right(part, corruptions)}};
  };
  learner.rows = corrupted_of(model.vit.config.N());
  learner.classifies = false;
  return learner;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
