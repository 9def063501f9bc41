#include "vitruvian/core/portable_math.hpp"

#include "vitruvian/core/error.hpp"

#include <cmath>

namespace vitruvian {

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
