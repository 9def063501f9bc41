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

// Two by sixteen elements, those of the lower halves of words and those of the upper.
struct Halves {
  __m512 low, high;
};

// The first n of 16 elements; without a mask where it can be, which costs as much as the rest.
inline __m512 floats(const float* x, std::size_t n) {
  return n >= lanes ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(first(n), x);
}

// 32 elements of one row, 16 and 16; those beyond n are 0.
inline Halves halves_of_row(const float* x, std::size_t n) {
  if (n >= 2 * lanes) return {_mm512_loadu_ps(x), _mm512_loadu_ps(x + lanes)};
  return {floats(x, n), n > lanes ? floats(x + lanes, n - lanes) : __m512{}};
}

// The first n of 16 elements of row p, and those of row p + 1, or zeros where that is null.
inline Halves halves_of_rows(const float* p, const float* next, std::size_t n) {
  return {floats(p, n), next != nullptr ? floats(next, n) : __m512{}};
}

// The halves, rounded: of one row in 16 words, or of two rows, one above the other.
inline __m512i words_of_row(const Halves& x) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(x.high, x.low));
}
inline __m512i words_of_rows(const Halves& x) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, words_of_row(x));
}
inline __m512i words_of_row(const float* x, std::size_t n) {
  return words_of_row(halves_of_row(x, n));
}
inline __m512i words_of_rows(const float* p, const float* next, std::size_t n) {
  return words_of_rows(halves_of_rows(p, next, n));
}

// Two quarters of a and two of b. (g++ 12 warns of the intrinsic without a mask.)
template <int which>
inline __m512i quarters(__m512i a, __m512i b) {
  return _mm512_maskz_shuffle_i32x4(__mmask16{0xFFFF}, a, b, which);
}

// x[i], the 16 words of row i, become the words of column i.
inline void transpose_words(__m512i (&x)[16]) {
  // The forms without a mask make g++ 12 warn of a variable of its own header.
  constexpr __mmask16 all16 = 0xFFFF;
  constexpr __mmask8 all8 = 0xFF;
  __m512i y[16];
  for (int i = 0; i < 16; i += 4) {  // of each four rows, the words 0, 4, 8, 12 of all; 1, 5, ...
    const __m512i a = _mm512_maskz_unpacklo_epi32(all16, x[i], x[i + 1]);
    const __m512i b = _mm512_maskz_unpackhi_epi32(all16, x[i], x[i + 1]);
    const __m512i c = _mm512_maskz_unpacklo_epi32(all16, x[i + 2], x[i + 3]);
    const __m512i d = _mm512_maskz_unpackhi_epi32(all16, x[i + 2], x[i + 3]);
    y[i] = _mm512_maskz_unpacklo_epi64(all8, a, c);
    y[i + 1] = _mm512_maskz_unpackhi_epi64(all8, a, c);
    y[i + 2] = _mm512_maskz_unpacklo_epi64(all8, b, d);
    y[i + 3] = _mm512_maskz_unpackhi_epi64(all8, b, d);
  }
  for (int i = 0; i < 4; ++i) {  // and the quarters of those, four by four
    const __m512i a = quarters<0x88>(y[i], y[i + 4]);
    const __m512i b = quarters<0x88>(y[i + 8], y[i + 12]);
    const __m512i c = quarters<0xDD>(y[i], y[i + 4]);
    const __m512i d = quarters<0xDD>(y[i + 8], y[i + 12]);
    x[i] = quarters<0x88>(a, b);
    x[i + 8] = quarters<0xDD>(a, b);
    x[i + 4] = quarters<0x88>(c, d);
    x[i + 12] = quarters<0xDD>(c, d);
  }
}

}  // namespace
}  // namespace vitruvian::kernels
