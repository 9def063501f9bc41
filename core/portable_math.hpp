#pragma once

// Elementary functions from +, -, *, / and sqrt alone: the same bits on every machine, whatever its
// libm. Good to about 1e-15; as fast as series are, so for random draws, not for arrays.

namespace vitruvian {

/// log(x) for normal x > 0.
double portable_log(double x);
/// exp(x); 0 below -700, where the next step would be a denormal, and throws above 700.
double portable_exp(double x);

struct SineCosine {
  double sine, cosine;
};
/// For |x| <= pi.
SineCosine portable_sine_cosine(double x);

}  // namespace vitruvian
