#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace inspect {
namespace {

void check_range(const char* what, std::size_t i, std::size_t n) {
  if (i < n) return;
  if (n == 0) fail(Exit::usage, "{} {}: there is none", what, i);
  fail(Exit::usage, "{} {}: there are {}, from 0 to {}", what, i, n, n - 1);
}

// What one row says, patches only.
struct Reach {
  double distance = 0;  // weighted
  double weight = 0;    // of all patches
};
Reach reach(const real* row_over_patches, const real* distances, std::size_t N) {
  Reach r;
  for (std::size_t j = 0; j < N; ++j) {
    const auto a = static_cast<double>(row_over_patches[j]);
    r.weight += a;
    r.distance += a * static_cast<double>(distances[j]);
  }
  return r;
}

double entropy(const real* row, std::size_t T) {
  double sum = 0;
  for (std::size_t t = 0; t < T; ++t) {
    const auto p = static_cast<double>(row[t]);
    if (p > 0) sum -= p * std::log(p);
  }
  return sum;
}

}  // namespace

Attention attention(const VisionTransformer& model, const Array& images) {
  const NoGrad no_grad;
  const Composed probabilities_too;
  Trace trace;
  Attention result;
  result.config = model.config;
  result.logits = model(images, {.trace = &trace}).value();
  for (std::size_t l = 0; l < model.config.L; ++l) {
    result.probs.push_back(trace.at(fmt::format("blocks.{}.attn.probs", l)).value());
  }
  return result;
}

Array attention_map(const Attention& attention, std::size_t layer, std::optional<std::size_t> head,
                    Query query, std::size_t image) {
  const ViTConfig& c = attention.config;
  check_range("layer", layer, c.L);
  if (head) check_range("head", *head, c.h);
  if (query.patch) check_range("patch", *query.patch, c.N());
  check_range("image", image, attention.probs[layer].shape()[0]);
  const std::size_t first = c.first_patch();
  if (!query.patch && c.class_tokens() == 0) {
    fail(Exit::usage, "the model has no class token: ask for a patch's attention");
  }
  const std::size_t token = query.patch ? first + *query.patch : 0;
  const std::size_t T = c.T();
  const real* const maps = attention.probs[layer].data() + image * c.h * T * T;
  Array result = zeros({c.grid_height(), c.grid_width()});
  const std::size_t from = head.value_or(0);
  const std::size_t to = head ? from + 1 : c.h;
  for (std::size_t i = from; i < to; ++i) {
    const real* const row = maps + (i * T + token) * T + first;
    for (std::size_t n = 0; n < c.N(); ++n)
      result.data()[n] += row[n] / static_cast<real>(to - from);
  }
  return result;
}

Array patch_distances(const ViTConfig& config) {
  const std::size_t N = config.N();
  const std::size_t width = config.grid_width();
  const auto apart = [](std::size_t a, std::size_t b, std::size_t side) {
    return (static_cast<double>(a) - static_cast<double>(b)) * static_cast<double>(side);
  };
  Array result = empty({N, N});
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      const double dy = apart(i / width, j / width, config.patch_height());
      const double dx = apart(i % width, j % width, config.patch_width());
      result.data()[i * N + j] = static_cast<real>(std::hypot(dy, dx));
    }
  }
  return result;
}

Heads heads(const Attention& attention) {
  const ViTConfig& c = attention.config;
  const std::size_t T = c.T();
  const std::size_t N = c.N();
  const std::size_t first = c.first_patch();
  const Array distances = patch_distances(c);
  Heads result{zeros({c.L, c.h}), zeros({c.L, c.h}), zeros({c.L, c.h}), zeros({c.L, c.h})};
  for (std::size_t l = 0; l < c.L; ++l) {
    const Array& probs = attention.probs[l];
    const std::size_t B = probs.shape()[0];
    const double patch_rows = static_cast<double>(B * N);
    const double rows = static_cast<double>(B * T);
    for (std::size_t head = 0; head < c.h; ++head) {
      double distance = 0, to_patches = 0, nats = 0, saturated = 0;
      for (std::size_t b = 0; b < B; ++b) {
        for (std::size_t t = 0; t < T; ++t) {
          const real* const row = probs.data() + ((b * c.h + head) * T + t) * T;
          nats += entropy(row, T) / rows;
          if (*std::max_element(row, row + T) > real(0.99)) saturated += 1 / rows;
          if (t < first) continue;
          const Reach r = reach(row + first, distances.data() + (t - first) * N, N);
          // A patch that gives everything to the class token looks at no patch: it has no distance.
          if (r.weight > 0) distance += r.distance / r.weight / patch_rows;
          to_patches += r.weight / patch_rows;
        }
      }
      const std::size_t at = l * c.h + head;
      result.distance.data()[at] = static_cast<real>(distance);
      result.on_class_token.data()[at] = first == 0 ? 0 : static_cast<real>(1 - to_patches);
      result.entropy.data()[at] = static_cast<real>(nats);
      result.saturated.data()[at] = static_cast<real>(saturated);
    }
  }
  return result;
}

Array logit_lens(const VisionTransformer& model, const Trace& trace) {
  const NoGrad no_grad;
  const ViTConfig& c = model.config;
  if (c.head == Head::none) fail(Exit::usage, "logit lens: a model without a head has no logits");
  const std::size_t B = trace.at("z_0").size(0);
  Array result = zeros({c.L + 1, B, c.K});
  for (std::size_t l = 0; l <= c.L; ++l) {
    const Tensor& z = trace.at(l == 0 ? "z_0" : fmt::format("blocks.{}.z", l - 1));
    const Array probabilities = softmax(model.classify(model.output(z))).value();
    std::copy_n(probabilities.data(), B * c.K, result.data() + l * B * c.K);
  }
  return result;
}

Array rollout(const Attention& attention) {
  const NoGrad no_grad;
  const std::size_t T = attention.config.T();
  Array I = zeros({T, T});
  for (std::size_t t = 0; t < T; ++t) I.data()[t * T + t] = 1;
  Tensor R(I);
  for (const Array& A : attention.probs) {
    const Tensor M = mean(Tensor(A), {1}) + Tensor(I);
    R = matmul(M / sum(M, {-1}, true), R);
  }
  return R.value();
}

Array shares_of_patches(const Array& rollout, const ViTConfig& config) {
  const std::size_t T = config.T();
  const std::size_t N = config.N();
  const std::size_t first = config.first_patch();
  const std::size_t read = config.class_tokens() == 0 ? T : config.class_tokens();
  if (rollout.shape().size() != 3 || rollout.shape()[1] != T || rollout.shape()[2] != T) {
    fail("a rollout of shape {} is not (B, {}, {})", to_string(rollout.shape()), T, T);
  }
  const std::size_t B = rollout.shape()[0];
  Array result = zeros({B, config.grid_height(), config.grid_width()});
  for (std::size_t b = 0; b < B; ++b) {
    std::vector<double> share(N, 0);
    double all = 0;
    for (std::size_t t = config.class_tokens() == 0 ? first : 0; t < read; ++t) {
      const real* const row = rollout.data() + (b * T + t) * T + first;
      for (std::size_t n = 0; n < N; ++n) share[n] += static_cast<double>(row[n]);
    }
    for (const double s : share) all += s;
    for (std::size_t n = 0; n < N; ++n) {
      result.data()[b * N + n] = static_cast<real>(all == 0 ? 0 : share[n] / all);
    }
  }
  return result;
}

std::vector<double> gain_on_ink(const Array& map, const Array& ink, double threshold) {
  const Shape& shape = ink.shape();
  if (map.shape().size() != 3 || shape.size() != 4 || map.shape()[0] != shape[0]) {
    fail("maps of shape {} for images of shape {}", to_string(map.shape()), to_string(shape));
  }
  const std::size_t gh = map.shape()[1];
  const std::size_t gw = map.shape()[2];
  if (gh == 0 || gw == 0 || shape[2] % gh != 0 || shape[3] % gw != 0) {
    fail("maps of shape {} do not divide images of shape {}", to_string(map.shape()),
         to_string(shape));
  }
  std::vector<double> gains;
  for (std::size_t b = 0; b < shape[0]; ++b) {
    std::vector<char> has_ink(gh * gw, 0);
    for (std::size_t i = 0; i < shape[1] * shape[2] * shape[3]; ++i) {
      const std::size_t y = i / shape[3] % shape[2];
      const std::size_t x = i % shape[3];
      const auto pixel = static_cast<double>(ink.data()[b * shape[1] * shape[2] * shape[3] + i]);
      if (pixel > threshold) has_ink[y / (shape[2] / gh) * gw + x / (shape[3] / gw)] = 1;
    }
    double mass = 0, all = 0, inked = 0;
    for (std::size_t n = 0; n < gh * gw; ++n) {
      const auto share = static_cast<double>(map.data()[b * gh * gw + n]);
      all += share;
      if (has_ink[n] != 0) mass += share, inked += 1;
    }
    gains.push_back(inked == 0 ? std::numeric_limits<double>::quiet_NaN()
                               : mass / all / (inked / static_cast<double>(gh * gw)));
  }
  return gains;
}

}  // namespace inspect
}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
