#pragma once

#include "tests/golden.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/vit/inspect/inspect.hpp"

#include <doctest/doctest.h>

// What the tests of inspection share: the ViT whose numbers PyTorch knows.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline constexpr double golden_tolerance = in_double ? 1e-10 : 5e-5;

struct GoldenVit {
  golden::Json json = golden::read("vit.json");
  golden::Json inside = json["inside"];
  VisionTransformer model{tiny_vit(), Rng(1)};
  Array images = golden::tensor(json.at("images"));
  std::vector<std::size_t> labels = json.at("labels").get<std::vector<std::size_t>>();
  std::vector<std::size_t> targets = inside.at("targets").get<std::vector<std::size_t>>();

  GoldenVit() {
    for (const NamedParameter& p : named_parameters(model)) {
      p.tensor.mutable_value() = golden::tensor(json.at("parameters").at(p.name));
    }
  }
  /// How far `ours` is from the golden numbers of this name, read in our shape.
  [[nodiscard]] double off(const std::string& name, const Array& ours) const {
    Array theirs = golden::tensor(inside.at(name));
    if (theirs.size() == ours.size()) theirs.reshape(ours.shape());
    return golden::difference(ours, theirs);
  }
};

/// Attention that is the same row for all queries, images, heads and layers of a config.
inline inspect::Attention with_maps(const ViTConfig& config, std::size_t B, const Array& map) {
  inspect::Attention result;
  result.config = config;
  const std::size_t T = config.T();
  for (std::size_t l = 0; l < config.L; ++l) {
    Array probs = empty({B, config.h, T, T});
    for (std::size_t i = 0; i < probs.size(); ++i) probs.data()[i] = map.data()[i % (T * T)];
    result.probs.push_back(std::move(probs));
  }
  return result;
}

inline Array identity(std::size_t T) {
  Array I = zeros({T, T});
  for (std::size_t t = 0; t < T; ++t) I.data()[t * T + t] = 1;
  return I;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
