#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace vitruvian {

/// Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011):
/// a bijection of a 128-bit counter under a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// A counter-based random stream: a draw is a pure function of (key, index). Nothing advances, so a
/// dropout mask does not depend on the order of traversal, nor an augmentation on the number of
/// workers. Everything down to the last bit is ours: no libm, no std distributions.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : key_(seed) {}

  /// The stream for one purpose: `rng.fork("dropout", {epoch, sample})`. Streams of different
  /// purposes or indices are independent.
  [[nodiscard]] Rng fork(std::string_view purpose,
                         std::initializer_list<std::uint64_t> indices = {}) const;

  [[nodiscard]] std::uint64_t key() const { return key_; }

  /// 64 random bits; `attempt` separates the retries of a rejection sampler.
  [[nodiscard]] std::uint64_t bits(std::uint64_t index, std::uint64_t attempt = 0) const;
  /// Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform(std::uint64_t index) const;
  /// Uniform in {0, ..., n - 1}, exactly (by rejection). `n` must not be 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t n, std::uint64_t index) const;
  /// Standard normal, by inversion (Wichura, AS 241).
  [[nodiscard]] double normal(std::uint64_t index, std::uint64_t attempt = 0) const;
  /// Standard normal given that it lies in [low, high], by rejection: meant for bounds that a
  /// normal often meets. Throws when low > high or the interval is too improbable to be met.
  [[nodiscard]] double truncated_normal(double low, double high, std::uint64_t index) const;
  /// A uniformly random permutation of 0, ..., n - 1 (Fisher-Yates).
  [[nodiscard]] std::vector<std::size_t> permutation(std::size_t n) const;

 private:
  std::uint64_t key_;
};

// Elementary functions from +, -, *, / and sqrt alone: the same bits on every machine, whatever its
// libm. Good to about 1e-15; as fast as series are, so for random draws, not for arrays.

/// log(x) for normal x > 0.
double portable_log(double x);
/// exp(x); 0 below -700, where it would be less than 1e-304, and throws above 700.
double portable_exp(double x);

struct SineCosine {
  double sine, cosine;
};
/// For |x| <= pi.
SineCosine portable_sine_cosine(double x);

}  // namespace vitruvian
