// exp, log, erf, tanh and GELU of every instruction set against libm in a wider type: float over
// all its bit patterns (every 4099th), double over 100,000 of them and the ranges that matter.
#include "kernel_cases.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace vitruvian;
using kernel_cases::for_each_isa;

namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
std::vector<T> samples() {
  std::vector<T> x;
  if constexpr (std::is_same_v<T, float>) {
    for (std::uint64_t b = 0; b < (std::uint64_t{1} << 32U); b += 4099) {
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
    }
  } else {
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      x.push_back(std::bit_cast<double>(i * 0x9E3779B97F4A7C15U));
    }
  }
  for (int i = -80'000; i <= 80'000; ++i) x.push_back(static_cast<T>(i * 0.001234567891));
  for (int i = -80'000; i <= 80'000; ++i) x.push_back(static_cast<T>(i * 0.0101234567891));
  using L = std::numeric_limits<T>;
  for (const T v : {T(0), L::denorm_min(), L::min(), L::epsilon(), T(0.5), T(1), L::max(),
                    L::infinity(), std::log(L::max()), std::log(L::min())}) {
    x.insert(x.end(), {v, -v, std::nextafter(v, T(0)), std::nextafter(v, L::infinity())});
  }
  x.push_back(L::quiet_NaN());
  return x;
}

// The distance from the truth in units of the last place of T.
template <class T>
double ulps(T got, Wide<T> want) {
  using L = std::numeric_limits<T>;
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(rounded)) {
    return std::isnan(got) && std::isnan(rounded) ? 0 : HUGE_VAL;
  }
  if (std::isinf(got) || std::isinf(rounded)) {
    // The last half unit before overflow may go either way.
    const Wide<T> border = Wide<T>(L::max()) * (1 + 4 * Wide<T>(L::epsilon()));
    if (got == rounded) return 0;
    return std::isinf(want) || std::abs(want) > border ||
                   std::abs(want) < L::max() * (1 - 4 * L::epsilon())
               ? HUGE_VAL
               : 1;
  }
  int e = 0;
  std::frexp(std::abs(want), &e);
  const Wide<T> unit = std::ldexp(Wide<T>(1), std::max(e - L::digits, L::min_exponent - L::digits));
  return static_cast<double>(std::abs(Wide<T>(got) - want) / unit);
}

template <class T, class Kernel, class Truth>
void check(const std::string& name, const std::vector<T>& x, Kernel kernel, Truth truth,
           double most_ulps, double floor = 0) {
  std::vector<T> y(x.size());
  std::vector<Wide<T>> want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) want[i] = truth(static_cast<Wide<T>>(x[i]));
  for_each_isa([&](const std::string& isa) {
    kernel(x.data(), y.data(), x.size());
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::abs(want[i] - static_cast<Wide<T>>(y[i])) <= floor) continue;
      const double error = ulps<T>(y[i], want[i]);
      if (!(error <= worst)) {
        worst = error;
        at = i;
      }
    }
    INFO(isa << " " << name << "(" << x[at] << ") is off by " << worst << " ulp");
    CHECK(worst <= most_ulps);
  });
}

template <class W>
W Phi(W x) {
  return std::erfc(-x * W(0.70710678118654752440084436210485L)) / 2;
}

// The table's function of the instruction set in use when it is called.
template <class T>
auto body_of(typename kernels::Table<T>::Map kernels::Table<T>::*map) {
  return [map](const T* a, T* y, std::size_t n) { (kernels::table<T>().*map)(a, y, n); };
}

}  // namespace

TEST_CASE_TEMPLATE("exp, log, erf and tanh are right to a few units in the last place", T, float,
                   double) {
  using W = Wide<T>;
  const std::vector<T> x = samples<T>();
  check(
      "exp", x, body_of<T>(&kernels::Table<T>::exp), [](W v) { return std::exp(v); }, 1.1);
  check(
      "log", x, body_of<T>(&kernels::Table<T>::log), [](W v) { return std::log(v); }, 1.0);
  check(
      "erf", x, body_of<T>(&kernels::Table<T>::erf), [](W v) { return std::erf(v); }, 2.5);
  check(
      "tanh", x, kernels::tanh<T>, [](W v) { return std::tanh(v); }, 1.25);
}

TEST_CASE_TEMPLATE("GELU keeps its digits in the tail", T, float, double) {
  using W = Wide<T>;
  const auto gelu = [](W v) { return v * Phi(v); };
  // x Phi(x) is 0 where e^(-x^2 / 2) is denormal.
  const double floor = 64 * static_cast<double>(std::numeric_limits<T>::min());
  const std::vector<T> x = samples<T>();
  check("gelu", x, kernels::gelu<T>, gelu, 12, floor);
  std::vector<T> near_zero;
  for (const T v : x) {
    if (std::abs(v) <= 2) near_zero.push_back(v);
  }
  check("gelu", near_zero, kernels::gelu<T>, gelu, 6, floor);
}

// Near 0 too, where 1 - 2 / (e^2x + 1) would cancel; a half on average would be 0.25.
TEST_CASE_TEMPLATE("tanh is right to 0.28 units in the last place on average", T, float, double) {
  std::vector<T> x;
  for (int i = 1; i <= 200'000; ++i) x.push_back(static_cast<T>(i * 1.2345678e-5));  // to 2.5
  std::vector<T> y(x.size());
  for_each_isa([&](const std::string& isa) {
    CAPTURE(isa);
    kernels::tanh(x.data(), y.data(), x.size());
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += ulps<T>(y[i], static_cast<Wide<T>>(std::tanh(static_cast<long double>(x[i]))));
    }
    CHECK(sum / static_cast<double>(x.size()) <= 0.28);
  });
}
