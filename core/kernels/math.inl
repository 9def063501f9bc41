// exp, log, erf, tanh and the normal distribution from polynomials: branch-free functions of one
// number, which the compiler turns into vector code inside a `#pragma omp simd` loop. NaN and Inf
// go through where IEEE says so, denormals included. Coefficients: minimax fits of the quantity
// named beside them. Included by isa.cpp only.

template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa = 23;
  static constexpr Bits bias = 127;
  static constexpr float rounder = 0x1.8p23F;  // x + rounder - rounder is x to the nearest integer
  static constexpr float smallest = 0x1p-126F;
  static constexpr float infinity = __builtin_inff();
  static constexpr float exp_high = 89.0F, exp_low = -104.0F;  // beyond: Inf, 0
  static constexpr float exp_normal = -87.33F;                 // below: a denormal
  static constexpr float ln2_high = 0x1.62e4p-1F, ln2_low = 0x1.7f7d1cp-20F;
  static constexpr float Phi_far = 15.0F;  // Phi(-Phi_far) is 0
  static constexpr Bits high_half = ~Bits{0xFFF};
};
template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa = 52;
  static constexpr Bits bias = 1023;
  static constexpr double rounder = 0x1.8p52;
  static constexpr double smallest = 0x1p-1022;
  static constexpr double infinity = __builtin_inf();
  static constexpr double exp_high = 710.0, exp_low = -746.0;
  static constexpr double exp_normal = -708.39;
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr double Phi_far = 39.0;
  static constexpr Bits high_half = ~Bits{0x7FFFFFF};
};

template <class T>
using Bits = typename Format<T>::Bits;

#define VITRUVIAN_INLINE [[gnu::always_inline]] inline

template <class T>
VITRUVIAN_INLINE Bits<T> bits_of(T x) {
  return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
VITRUVIAN_INLINE T from_bits(Bits<T> b) {
  return __builtin_bit_cast(T, b);
}

// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class T>
VITRUVIAN_INLINE T polynomial(T, T c) {
  return c;
}
template <class T, class... C>
VITRUVIAN_INLINE T polynomial(T x, T c0, C... c) {
  return c0 + x * polynomial(x, c...);
}

VITRUVIAN_INLINE float square_root(float x) { return __builtin_sqrtf(x); }
VITRUVIAN_INLINE double square_root(double x) { return __builtin_sqrt(x); }

template <class T>
VITRUVIAN_INLINE T magnitude(T x) {
  return from_bits<T>(bits_of(x) & ~bits_of(-T{0}));
}
template <class T>
VITRUVIAN_INLINE T with_sign_of(T x, T sign) {
  return from_bits<T>(bits_of(x) | (bits_of(sign) & bits_of(-T{0})));
}
// x <= bound ? x : bound, but NaN stays NaN.
template <class T>
VITRUVIAN_INLINE T at_most(T x, T bound) {
  return x > bound ? bound : x;
}
template <class T>
VITRUVIAN_INLINE T at_least(T x, T bound) {
  return x < bound ? bound : x;
}

// 2^k for a normal result; `shifted` is k + rounder.
template <class T>
VITRUVIAN_INLINE T power_of_two(T shifted) {
  using F = Format<T>;
  constexpr Bits<T> offset = F::bias - __builtin_bit_cast(Bits<T>, F::rounder);
  return from_bits<T>((bits_of(shifted) + offset) << F::mantissa);
}

// (e^f - 1 - f) / f^2 for |f| <= log(2) / 2
VITRUVIAN_INLINE float exp_tail(float f) {
  return polynomial(f, 0.49999999548877986633F, 0.166665772872370507F, 0.041666855904687871439F,
                    0.0083631460070690197727F, 0.0013901080434922702747F);
}
VITRUVIAN_INLINE double exp_tail(double f) {
  return polynomial(f, 0.50000000000000010153, 0.16666666666666643833, 0.041666666666624309742,
                    0.0083333333333563082352, 0.0013888888917137979171, 0.00019841269784339608975,
                    0.00002480152139686322222, 2.7557355871448201895e-6, 2.762004643602721865e-7,
                    2.5068033615551577828e-8);
}

// e^(x + low) = 2^k (1 + m), where x + low = k log(2) + f and m = e^f - 1.
template <class T>
struct Exp {
  T shifted_k, m;
};
template <class T>
VITRUVIAN_INLINE Exp<T> exp_of(T shifted_k, T f) {
  return {shifted_k, f + f * f * exp_tail(f)};
}
template <class T>
VITRUVIAN_INLINE Exp<T> reduced_exp(T x) {
  using F = Format<T>;
  const T shifted = x * T(1.44269504088896340736) + F::rounder;
  const T k = shifted - F::rounder;
  return exp_of(shifted, (x - k * F::ln2_high) - k * F::ln2_low);
}
template <class T>
VITRUVIAN_INLINE Exp<T> reduced_exp(T x, T low) {
  using F = Format<T>;
  const T shifted = (x + low) * T(1.44269504088896340736) + F::rounder;
  const T k = shifted - F::rounder;
  return exp_of(shifted, (x - k * F::ln2_high) + (low - k * F::ln2_low));
}

// e^x and e^(x + low) where it is a normal number (or NaN), and 0 below: what a softmax needs,
// without the slow arithmetic of denormals. x must not exceed log(max).
template <class T>
VITRUVIAN_INLINE T exp_or_zero(T x) {
  const Exp<T> e = reduced_exp(x);
  const T scale = power_of_two(e.shifted_k);
  return x < Format<T>::exp_normal ? T{0} : scale + scale * e.m;
}
template <class T>
VITRUVIAN_INLINE T exp_or_zero(T x, T low) {
  const Exp<T> e = reduced_exp(x, low);
  const T scale = power_of_two(e.shifted_k);
  return x + low < Format<T>::exp_normal ? T{0} : scale + scale * e.m;
}

template <class T>
VITRUVIAN_INLINE T exponential(T x) {
  using F = Format<T>;
  const Exp<T> e = reduced_exp(at_least(at_most(x, F::exp_high), F::exp_low));
  // 2^k in two factors: k may be that of a denormal, or one more than the largest.
  const T half = (e.shifted_k - F::rounder) * T{0.5} + F::rounder;
  const T rest = e.shifted_k - (half - F::rounder);
  return (T{1} + e.m) * power_of_two(half) * power_of_two(rest);
}

// (log(1 + f) - 2 s) / s with s = f / (2 + f), as a polynomial in s^2 (as in FreeBSD's e_log.c)
VITRUVIAN_INLINE float log_tail(float z) {
  return z * polynomial(z, 0x1.555554p-1F, 0x1.999c26p-2F, 0x1.23d3dcp-2F, 0x1.f13c4cp-3F);
}
VITRUVIAN_INLINE double log_tail(double z) {
  return z * polynomial(z, 6.666666666666735130e-01, 3.999999999940941908e-01,
                        2.857142874366239149e-01, 2.222219843214978396e-01,
                        1.818357216161805012e-01, 1.531383769920937332e-01,
                        1.479819860511658591e-01);
}

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]: log x = e log(2) + log(1 + f).
template <class T>
VITRUVIAN_INLINE T logarithm(T x) {
  using F = Format<T>;
  const bool denormal = x < F::smallest;
  const T lifted = denormal ? x * T(0x1p100) : x;
  constexpr Bits<T> one = F::bias << F::mantissa;
  constexpr Bits<T> root_half = __builtin_bit_cast(Bits<T>, T(0.70710678118654752440));
  const Bits<T> exponent = (bits_of(lifted) - root_half + one) >> F::mantissa;  // e + bias
  const T f = from_bits<T>(bits_of(lifted) - (exponent << F::mantissa) + one) - T{1};
  const T e = from_bits<T>(exponent + bits_of(F::rounder)) - F::rounder -
              (denormal ? T{F::bias + 100} : T{F::bias});
  const T s = f / (T{2} + f);
  const T half_square = T{0.5} * f * f;
  const T y = e * F::ln2_high +
              (f - (half_square - (s * (half_square + log_tail(s * s)) + e * F::ln2_low)));
  const T nan = F::infinity * T{0};
  const T special = x == T{0} ? -F::infinity : x < T{0} ? nan : x;
  return x > T{0} && x < F::infinity ? y : special;
}

// e^(a^2 / 2) Phi(-a) for a >= 0, where Phi is the normal distribution function
VITRUVIAN_INLINE float scaled_tail(float a) {
  return polynomial(a, 0.50000000255635399316F, 0.43881062411630488761F, 0.18360177891294703724F,
                    0.040752376063591151957F, 0.0041327126138248943538F) /
         polynomial(a, 1.0F, 1.6755061985158158239F, 1.2040594664958620839F,
                    0.47043469682654574442F, 0.10215726118001199732F, 0.010359060850686425847F);
}
VITRUVIAN_INLINE double scaled_tail(double a) {
  return polynomial(a, 0.50000000000000000018, 0.82336533740540691165, 0.67246416622969088645,
                    0.35181104841408736285, 0.12932267437496434693, 0.034737884573960957986,
                    0.0068952718042436609623, 0.00099976797112102154385, 0.00010170479656501045504,
                    6.5990114628873035721e-6, 2.0981041698037079512e-7) /
         polynomial(a, 1.0, 2.4446152356136792702, 2.7954490860589917598, 1.977721665565964554,
                    0.9640879727735817226, 0.34094313345981408047, 0.089547928169454287029,
                    0.017537767539378604795, 0.0025225879334715646452, 0.00025546203545464192876,
                    0.000016541268717529199257, 5.2591672351493340627e-7);
}

// Phi(x) and e^(-x^2 / 2), which share all the work, and `near`: x, held to where Phi is neither 0
// nor 1, so that it may be multiplied by a bell of 0. The square is taken in two parts, so that the
// tail keeps its digits down to the smallest normal number (below it: 0).
template <class T>
struct Normal {
  T Phi, bell, near;
};
template <class T>
VITRUVIAN_INLINE Normal<T> normal(T x) {
  const T a = at_most(magnitude(x), T{Format<T>::Phi_far});
  const T high = from_bits<T>(bits_of(a) & Format<T>::high_half);
  const T bell = exp_or_zero(T{-0.5} * high * high, T{-0.5} * (a - high) * (a + high));
  const T tail = bell * scaled_tail(a);
  return {x > T{0} ? T{1} - tail : tail, bell, with_sign_of(a, x)};
}

// erf(z) / z as a polynomial in z^2 <= 1/4
VITRUVIAN_INLINE float erf_small(float z2) {
  return polynomial(z2, 1.128379167078556551F, -0.37612638437226466989F, 0.11283770833824631006F,
                    -0.026862749328484997199F, 0.0051984489555089597642F,
                    -0.0007660566649774939563F);
}
VITRUVIAN_INLINE double erf_small(double z2) {
  return polynomial(z2, 1.1283791670955125739, -0.37612638903183749638, 0.11283791670954768733,
                    -0.026866170644956030911, 0.0052239776210695613296, -0.00085483263958796729285,
                    0.000120552780581807325, -0.000014922668036194835134, 1.6363812655828794434e-6,
                    -1.4552668091075809854e-7);
}
template <class T>
VITRUVIAN_INLINE T error_function(T x) {
  const T z = magnitude(x);
  const T outer = T{1} - T{2} * normal(T(-1.41421356237309504880) * z).Phi;
  const T small = at_most(z, T{0.5});
  return with_sign_of(z > T{0.5} ? outer : small * erf_small(small * small), x);
}

// tanh near 0 is a + a r with r = p(a^2) / q(a^2); this is r's fraction (in float q is 1). Fits of
// Cephes (Moshier 1989, tanhf.c and tanh.c).
VITRUVIAN_INLINE float tanh_top(float z) {
  return z * polynomial(z, -3.33332819422e-1F, 1.33314422036e-1F, -5.37397155531e-2F,
                        2.06390887954e-2F, -5.70498872745e-3F);
}
VITRUVIAN_INLINE double tanh_top(double z) {
  return z * polynomial(z, -1.61468768441708447952e3, -9.92877231001918586564e1,
                        -9.64399179425052238628e-1);
}
VITRUVIAN_INLINE float tanh_bottom(float) { return 1.0F; }
VITRUVIAN_INLINE double tanh_bottom(double z) {
  return polynomial(z, 4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2,
                    1.0);
}

// tanh a = 1 - 2 / (e^(2a) + 1) for a = |x|; near 0, where that would cancel, as above.
template <class T>
VITRUVIAN_INLINE T hyperbolic_tangent(T x) {
  const T a = at_most(magnitude(x), T{20});  // tanh(20) rounds to 1
  const Exp<T> e = reduced_exp(a + a);
  const T scale = power_of_two(e.shifted_k);
  const bool near = a <= T(0.625);
  const T z = a * a;
  const T r = (near ? tanh_top(z) : T{-2}) / (near ? tanh_bottom(z) : (scale + T{1}) + scale * e.m);
  return with_sign_of(near ? a + a * r : T{1} + r, x);
}
