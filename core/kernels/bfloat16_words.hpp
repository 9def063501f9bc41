#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Floats rounded to bfloat16 two to a word, the earlier step of k in the lower half: how the
// kernels of both instructions pack their factors.

namespace vitruvian::kernels {
namespace {

using Word = std::uint32_t;  // two bfloat16

constexpr std::size_t lanes = 16;

inline std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }
inline std::size_t beyond(std::size_t n, std::size_t done) { return n > done ? n - done : 0; }

// The first n of 16 lanes.
inline __mmask16 first(std::size_t n) {
  return n >= lanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << n) - 1U);
}

// 32 elements of one row in 16 words; those beyond n are 0.
inline __m512i words_of_row(const float* x, std::size_t n) {
  const __m512 low = _mm512_maskz_loadu_ps(first(n), x);
  const __m512 high = n > lanes ? _mm512_maskz_loadu_ps(first(n - lanes), x + lanes) : __m512{};
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// The first n of 16 elements of row p below those of row p + 1, or of zeros where that is null.
inline __m512i words_of_rows(const float* p, const float* next, std::size_t n) {
  const __m512 low = _mm512_maskz_loadu_ps(first(n), p);
  const __m512 high = next == nullptr ? __m512{} : _mm512_maskz_loadu_ps(first(n), next);
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}

}  // namespace
}  // namespace vitruvian::kernels
