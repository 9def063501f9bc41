#pragma once

#include "tests/train/small.hpp"
#include "vitruvian/train/teacher.hpp"

// Tiny teachers and students.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

inline ViTConfig small_config(bool distilled) {
  ViTConfig c = small_options().model;
  c.distilled = distilled;
  return c;
}

/// With a head that says something.
inline VisionTransformer drawn(const ViTConfig& config, std::uint64_t seed) {
  VisionTransformer model(config, Rng(seed));
  for (const NamedParameter& p : named_parameters(model)) {
    if (p.name.starts_with("head")) init::normal(p.tensor, Rng(seed).fork(p.name), 0.5);
  }
  return model;
}

inline const DataConfig digits_seen{"digits", {0.2}, {0.4}, {}};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
