#include "vitruvian/core/base/rng.hpp"

#include "vitruvian/core/base/error.hpp"

#include <cmath>
#include <numeric>

namespace vitruvian {
namespace {

std::array<std::uint32_t, 2> split(std::uint64_t x) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32U)};
}

// FNV-1a: only to turn a purpose into a counter; Philox does the mixing.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double y = 0;
  for (std::size_t i = N; i-- > 0;) y = y * x + c[i];
  return y;
}

// The quantile of the standard normal: algorithm AS 241 (PPND16), M. J. Wichura, Applied
// Statistics 37 (1988) 477-484; about 16 digits. p in (0, 1).
double normal_quantile(double p) {
  constexpr std::array a = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                            1.9715909503065514427e+3, 1.3731693765509461125e+4,
                            4.5921953931549871457e+4, 6.7265770927008700853e+4,
                            3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr std::array b = {1.0000000000000000000e0,  4.2313330701600911252e+1,
                            6.8718700749205790830e+2, 5.3941960214247511077e+3,
                            2.1213794301586595867e+4, 3.9307895800092710610e+4,
                            2.8729085735721942674e+4, 5.2264952788528545610e+3};
  constexpr std::array c = {1.42343711074968357734e0,  4.63033784615654529590e0,
                            5.76949722146069140550e0,  3.64784832476320460504e0,
                            1.27045825245236838258e0,  2.41780725177450611770e-1,
                            2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array d = {1.0000000000000000000e0,   2.05319162663775882187e0,
                            1.67638483018380384940e0,  6.89767334985100004550e-1,
                            1.48103976427480074590e-1, 1.51986665636164571966e-2,
                            5.47593808499534494600e-4, 1.05075007164441684324e-9};
  constexpr std::array e = {6.65790464350110377720e0,  5.46378491116411436990e0,
                            1.78482653991729133580e0,  2.96560571828504891230e-1,
                            2.65321895265761230930e-2, 1.24266094738807843860e-3,
                            2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr std::array f = {1.0000000000000000000e0,   5.99832206555887937690e-1,
                            1.36929880922735805310e-1, 1.48753612908506148525e-2,
                            7.86869131145613259100e-4, 1.84631831751005468180e-5,
                            1.42151175831644588870e-7, 2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double z = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                          : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -z : z;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto [low0, high0] = split(std::uint64_t{0xD2511F53U} * counter[0]);
    const auto [low1, high1] = split(std::uint64_t{0xCD9E8D57U} * counter[2]);
    counter = {high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

std::uint64_t Rng::bits(std::uint64_t index, std::uint64_t attempt) const {
  const auto [i0, i1] = split(index);
  const auto [a0, a1] = split(attempt);
  const auto r = philox({i0, i1, a0, a1}, split(key_));
  return std::uint64_t{r[1]} << 32U | r[0];
}

Rng Rng::fork(std::string_view purpose, std::initializer_list<std::uint64_t> indices) const {
  // The top bit of the attempt keeps keys apart from draws.
  constexpr std::uint64_t forking = std::uint64_t{1} << 63U;
  Rng child(bits(hash(purpose), forking));
  for (const std::uint64_t index : indices) child = Rng(child.bits(index, forking));
  return child;
}

double Rng::uniform(std::uint64_t index) const {
  return static_cast<double>(bits(index) >> 11U) * 0x1p-53;
}

std::uint64_t Rng::below(std::uint64_t n, std::uint64_t index) const {
  if (n == 0) fail("rng: below(0) has no value to choose");
  // Reject the last, incomplete run of remainders.
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % n + 1) % n;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const std::uint64_t draw = bits(index, attempt);
    if (draw <= limit) return draw % n;
  }
}

double Rng::normal(std::uint64_t index, std::uint64_t attempt) const {
  // Odd multiples of 2^-53: exact, never 0, never 1, symmetric about 1/2.
  const double p = (static_cast<double>(bits(index, attempt) >> 12U) + 0.5) * 0x1p-52;
  return normal_quantile(p);
}

double Rng::truncated_normal(double low, double high, std::uint64_t index) const {
  if (!(low <= high)) fail("truncated_normal: low {} is not below high {}", low, high);
  for (std::uint64_t attempt = 0; attempt < 100'000; ++attempt) {
    const double x = normal(index, attempt);
    if (low <= x && x <= high) return x;
  }
  fail("truncated_normal: [{}, {}] is too far out to be met by rejection", low, high);
}

std::vector<std::size_t> Rng::permutation(std::size_t n) const {
  std::vector<std::size_t> p(n);
  std::iota(p.begin(), p.end(), std::size_t{0});
  for (std::size_t i = n; i-- > 1;) std::swap(p[i], p[static_cast<std::size_t>(below(i + 1, i))]);
  return p;
}

// x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1)).
double portable_log(double x) {
  int e = 0;
  double m = std::frexp(x, &e);  // exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return 2 * s * sum + e * 0.69314718055994530942;
}

// exp(x) = 2^n exp(r), |r| <= log(2) / 2, the latter by Taylor's series.
double portable_exp(double x) {
  if (x < -700) return 0;
  if (!(x <= 700)) fail("portable_exp: {} is not below 700", x);
  const double n = std::floor(x * 1.44269504088896340736 + 0.5);
  // log 2 in two parts, so that n log 2 loses no digits of x.
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  double sum = 1;
  for (int k = 16; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));  // exact
}

SineCosine portable_sine_cosine(double x) {
  const double x2 = x * x;
  double sine = 1;
  double cosine = 1;
  for (int k = 30; k >= 2; k -= 2) {
    cosine = 1 - cosine * x2 / (k * (k - 1));
    sine = 1 - sine * x2 / (k * (k + 1));
  }
  return {sine * x, cosine};
}

}  // namespace vitruvian
