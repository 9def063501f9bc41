#pragma once

#include "vitruvian/core/base/real.hpp"

#include <cstddef>
#include <string>

// bench_ops: every fused op beside its readable twin, every kernel beside a plain loop, and the
// matrix product of each back end, at the shapes of one micro-batch. Its files are compiled once a
// precision, and each registers its own benchmarks before `main`. Everything runs on one thread, as
// a micro-batch does, but the products that say otherwise. `--benchmark_filter=float/gelu` picks.

namespace bench::VITRUVIAN_PRECISION {

inline const std::string precision = sizeof(vitruvian::real) == 4 ? "float" : "double";

/// In the paper's symbols: 8 images of the CIFAR shape, 32 of the MNIST shape.
struct Sizes {
  std::string name;
  std::size_t B, C, H, P, T, D, h, M;
};
inline const Sizes all_sizes[] = {{"cifar", 8, 3, 32, 4, 65, 128, 4, 512},
                                  {"mnist", 32, 1, 28, 7, 17, 64, 4, 256}};

}  // namespace bench::VITRUVIAN_PRECISION
