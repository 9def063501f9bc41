#pragma once

#include "vitruvian/core/kernels/kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

// What the tests of the kernels share: every instruction set, awkward sizes, and numbers wide
// enough to judge by.

namespace kernel_cases {

using Wide = long double;
using Row = std::vector<Wide>;

/// Runs `body` with the kernels of each instruction set that this machine has.
template <class Body>
void for_each_isa(const Body& body) {
  using vitruvian::kernels::Isa;
  const Isa before = vitruvian::kernels::isa();
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!vitruvian::kernels::isa_available(isa)) continue;
    vitruvian::kernels::set_isa(isa);
    CAPTURE(vitruvian::kernels::simd_description());
    body();
  }
  vitruvian::kernels::set_isa(before);
}

inline constexpr std::size_t sizes[] = {1, 2, 3, 7, 16, 17, 33, 65, 100, 193};

template <class T>
inline constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T>
inline constexpr T inf_of = std::numeric_limits<T>::infinity();

template <class T>
std::vector<T> random(std::size_t n, unsigned seed, double scale = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(scale * normal(bits));
  return x;
}

template <class T>
Row row(const std::vector<T>& x, std::size_t r, std::size_t n) {
  return Row(x.begin() + static_cast<std::ptrdiff_t>(r * n),
             x.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
}

// |got - want| in units of eps max(|want|, scale).
template <class T>
double error(T got, Wide want, Wide scale = 1) {
  if (static_cast<Wide>(got) == want) return 0;
  const Wide unit = std::numeric_limits<T>::epsilon() * std::max(std::abs(want), scale);
  return static_cast<double>(std::abs(got - want) / unit);
}

template <class T>
double worst(const std::vector<T>& got, std::size_t r, const Row& want, Wide scale = 1) {
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = error(got[r * want.size() + i], want[i], scale);
    if (!(e <= most)) most = e;
  }
  return most;
}

inline Wide sum(const Row& x, const std::function<Wide(std::size_t)>& term) {
  Wide s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += term(i);
  return s;
}

template <class Body>
void over_sizes(const Body& body) {
  for_each_isa([&] {
    for (const std::size_t n : sizes) {
      CAPTURE(n);
      body(n);
    }
  });
}

}  // namespace kernel_cases
