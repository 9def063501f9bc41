// The element-wise kernels and sums of every instruction set: exp, log, erf, tanh and GELU against
// libm in a wider type, float over all its bit patterns (every 4099th), double over 100,000 of them
// and the ranges that matter; the others against plain loops in long double.
#include "vitruvian/core/kernels/kernels.hpp"
#include "kernel_cases.hpp"
#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <bit>

using namespace vitruvian;
using namespace kernel_cases;

namespace {

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

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
double ulps(T got, Wider<T> want) {
  using L = std::numeric_limits<T>;
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(rounded)) {
    return std::isnan(got) && std::isnan(rounded) ? 0 : HUGE_VAL;
  }
  if (std::isinf(got) || std::isinf(rounded)) {
    // The last half unit before overflow may go either way.
    const Wider<T> border = Wider<T>(L::max()) * (1 + 4 * Wider<T>(L::epsilon()));
    if (got == rounded) return 0;
    return std::isinf(want) || std::abs(want) > border ||
                   std::abs(want) < L::max() * (1 - 4 * L::epsilon())
               ? HUGE_VAL
               : 1;
  }
  int e = 0;
  std::frexp(std::abs(want), &e);
  const Wider<T> unit =
      std::ldexp(Wider<T>(1), std::max(e - L::digits, L::min_exponent - L::digits));
  return static_cast<double>(std::abs(Wider<T>(got) - want) / unit);
}

template <class T, class Kernel, class Truth>
void check(const std::string& name, const std::vector<T>& x, Kernel kernel, Truth truth,
           double most_ulps, double floor = 0) {
  std::vector<T> y(x.size());
  std::vector<Wider<T>> want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) want[i] = truth(static_cast<Wider<T>>(x[i]));
  for_each_isa([&] {
    kernel(x.data(), y.data(), x.size());
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::abs(want[i] - static_cast<Wider<T>>(y[i])) <= floor) continue;
      const double error = ulps<T>(y[i], want[i]);
      if (!(error <= worst)) {
        worst = error;
        at = i;
      }
    }
    INFO(name << "(" << x[at] << ") is off by " << worst << " ulp");
    CHECK(worst <= most_ulps);
  });
}

template <class W>
W Phi(W x) {
  return std::erfc(-x * W(0.70710678118654752440084436210485L)) / 2;
}

}  // namespace

TEST_CASE_TEMPLATE("exp, log, erf and tanh are right to a few units in the last place", T, float,
                   double) {
  using W = Wider<T>;
  const std::vector<T> x = samples<T>();
  check(
      "exp", x, kernels::exp<T>, [](W v) { return std::exp(v); }, 1.1);
  check(
      "log", x, kernels::log<T>, [](W v) { return std::log(v); }, 1.0);
  check(
      "erf", x, kernels::erf<T>, [](W v) { return std::erf(v); }, 2.5);
  check(
      "tanh", x, kernels::tanh<T>, [](W v) { return std::tanh(v); }, 1.25);
}

TEST_CASE_TEMPLATE("GELU keeps its digits in the tail", T, float, double) {
  using W = Wider<T>;
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
  for_each_isa([&] {
    kernels::tanh(x.data(), y.data(), x.size());
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += ulps<T>(y[i], static_cast<Wider<T>>(std::tanh(static_cast<long double>(x[i]))));
    }
    CHECK(sum / static_cast<double>(x.size()) <= 0.28);
  });
}

TEST_CASE_TEMPLATE("GELU, its tanh form and their slopes", T, float, double) {
  const auto phi = [](Wide x) { return std::exp(-x * x / 2) * 0.398942280401432677939946L; };
  const Wide root = std::sqrt(2 / 3.14159265358979323846264L);
  over_sizes([&](std::size_t n) {
    std::vector<T> x = random<T>(n, 7, 4);
    const std::vector<T> g = random<T>(n, 8), b = random<T>(n, 9);
    std::vector<T> y(n), dx(n), ty(n), tdx(n), by = x, slope_at_by(n);
    kernels::gelu(x.data(), y.data(), n);
    kernels::gelu_vjp(x.data(), g.data(), dx.data(), n);
    kernels::gelu_tanh(x.data(), ty.data(), n);
    kernels::gelu_tanh_vjp(x.data(), g.data(), tdx.data(), n);
    by.insert(by.end(), x.begin(), x.end());  // two rows, the same
    slope_at_by.resize(2 * n);
    std::vector<T> bare = x;
    kernels::bias_gelu(by.data(), b.data(), slope_at_by.data(), 2, n);
    kernels::bias_gelu<T>(bare.data(), nullptr, nullptr, 1, n);
    CHECK(bare == y);
    for (std::size_t i = 0; i < n; ++i) {
      const Wide v = x[i];
      const Wide u = root * (v + 0.044715L * v * v * v);
      const Wide t = std::tanh(u);
      const Wide slope = (1 + t) / 2 + v * (1 - t * t) / 2 * root * (1 + 3 * 0.044715L * v * v);
      CHECK(error(y[i], v * Phi(v), 0.1L) <= 8);
      CHECK(error(dx[i], g[i] * (Phi(v) + v * phi(v)), 0.5L) <= 8);
      CHECK(error(ty[i], v * (1 + t) / 2) <= 8);
      CHECK(error(tdx[i], g[i] * slope) <= 16);
      const Wide w = x[i] + b[i];
      for (const std::size_t at : {i, n + i}) {
        CHECK(error(by[at], w * Phi(w), 0.1L) <= 8);
        CHECK(error(slope_at_by[at], Phi(w) + w * phi(w), 0.5L) <= 8);
      }
    }
  });
}

TEST_CASE_TEMPLATE("GELU at the ends of the line", T, float, double) {
  for_each_isa([] {
    // As IEEE and PyTorch: -Inf * 0 is NaN.
    const std::vector<T> x = {-inf_of<T>, inf_of<T>, nan_of<T>, T(-1e30), T(1e30), T(0)};
    const std::vector<T> g(x.size(), T(1));
    std::vector<T> y(x.size()), dx(x.size());
    for (const bool exact : {true, false}) {
      CAPTURE(exact);
      (exact ? kernels::gelu<T> : kernels::gelu_tanh<T>)(x.data(), y.data(), x.size());
      CHECK(std::isnan(y[0]));
      CHECK(y[1] == inf_of<T>);
      CHECK(std::isnan(y[2]));
      CHECK(y[3] == 0);
      CHECK(y[4] == T(1e30));
      CHECK(y[5] == 0);
      (exact ? kernels::gelu_vjp<T> : kernels::gelu_tanh_vjp<T>)(x.data(), g.data(), dx.data(),
                                                                 x.size());
      CHECK(dx[0] == 0);
      CHECK(dx[1] == 1);
      CHECK(std::isnan(dx[2]));
      CHECK(dx[3] == 0);
      CHECK(dx[4] == 1);
      CHECK(dx[5] == T(0.5));
    }
  });
}

TEST_CASE_TEMPLATE("bias and the sum of rows", T, float, double) {
  over_sizes([](std::size_t n) {
    for (const std::size_t rows : {0, 1, 5, 65, 1000}) {
      const std::vector<T> g = random<T>(rows * n, 9), b = random<T>(n, 10);
      std::vector<T> y = g, db(n, T(7));
      kernels::add_bias(y.data(), b.data(), rows, n);
      kernels::sum_rows(g.data(), db.data(), rows, n);
      Row want(n), size(n);
      bool added = true;
      for (std::size_t i = 0; i < g.size(); ++i) {
        added = added && y[i] == g[i] + b[i % n];
        want[i % n] += g[i];
        size[i % n] += std::abs(static_cast<Wide>(g[i]));
      }
      CHECK(added);
      for (std::size_t j = 0; j < n; ++j) CHECK(error(db[j], want[j], size[j]) <= 8);
    }
  });
}

TEST_CASE_TEMPLATE("dropout draws Philox's words, for each matrix its own", T, float, double) {
  const auto check = [](std::size_t matrices, std::size_t n, double p) {
    const std::vector<T> x = random<T>(matrices * n, 11);
    const std::uint64_t key = 0x0123456789ABCDEFU;
    std::vector<T> y(x.size());
    kernels::dropout(x.data(), y.data(), matrices, n, p, key);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < x.size(); ++at) {
      const std::size_t i = at % n;
      const auto words =
          philox({static_cast<std::uint32_t>(i / 4), 0, static_cast<std::uint32_t>(at / n), 0},
                 {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)});
      const bool kept = words[i % 4] >= p * 4294967296.0;
      wrong += y[at] == (kept ? x[at] * static_cast<T>(1 / (1 - p)) : T(0)) ? 0 : 1;
    }
    CHECK(wrong == 0);
  };
  over_sizes([&](std::size_t n) {
    for (const double p : {0.0, 0.1, 0.5, 0.97, 1.0}) check(1, n, p);
    check(7, n, 0.3);
  });
  check(3, 70'001, 0.3);  // matrices of several chunks
  check(20'000, 5, 0.3);  // chunks of several matrices
}

TEST_CASE_TEMPLATE("AdamW and the sum of squares", T, float, double) {
  over_sizes([](std::size_t n) {
    std::vector<T> w = random<T>(n, 14), m(n), v(n);
    Row rw(w.begin(), w.end()), rm(n), rv(n);
    for (std::uint64_t t = 1; t <= 3; ++t) {
      const std::vector<T> g = random<T>(n, static_cast<unsigned>(15 + t));
      const kernels::AdamWStep s{
          .lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.1, .t = t};
      kernels::adamw(w.data(), g.data(), m.data(), v.data(), n, s);
      for (std::size_t i = 0; i < n; ++i) {
        const Wide gi = g[i];
        rw[i] -= static_cast<Wide>(s.lr) * s.decay * rw[i];
        rm[i] = static_cast<Wide>(s.beta1) * rm[i] + (1 - static_cast<Wide>(s.beta1)) * gi;
        rv[i] = static_cast<Wide>(s.beta2) * rv[i] + (1 - static_cast<Wide>(s.beta2)) * gi * gi;
        const Wide c1 = 1 - std::pow(static_cast<Wide>(s.beta1), t);
        const Wide c2 = 1 - std::pow(static_cast<Wide>(s.beta2), t);
        rw[i] -= s.lr / c1 * rm[i] / (std::sqrt(rv[i]) / std::sqrt(c2) + s.eps);
      }
      CHECK(worst(w, 0, rw) <= 4);
      CHECK(worst(m, 0, rm) <= 4);
      CHECK(worst(v, 0, rv) <= 8);
    }
    const Wide squares = sum(rw, [&](std::size_t i) { return static_cast<Wide>(w[i]) * w[i]; });
    CHECK(error(kernels::sum_of_squares(w.data(), n), squares) <= 8);
  });
}

// 2,097,152 numbers are 64 chunks of the usual size, and the partial sums are 64: beyond, the
// chunks grow. fc1 of ViT-B has 2,359,296.
TEST_CASE_TEMPLATE("a sum of squares of a large parameter, by any number of threads", T, float,
                   double) {
  for (const std::size_t n : {100'000UL, 2'097'152UL, 2'097'153UL, 2'359'296UL, 5'000'000UL}) {
    CAPTURE(n);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<T>(static_cast<double>(i * 0x9E3779B97F4A7C15U >> 40U) * 0x1p-23 - 1);
    }
    Wide want = 0;
    for (const T v : x) want += static_cast<Wide>(v) * v;
    // Terms are positive, and each of a chunk's additions rounds by half a unit at most: less by as
    // many lanes as this build has.
    const Wide additions = static_cast<Wide>(n) / 64 + 64;
    for_each_isa([&] {
      set_threads(1);
      const double alone = kernels::sum_of_squares(x.data(), n);
      CHECK(std::abs(alone - want) <= (n == 100'000 ? 1e-13L : additions * 0x1p-53L) * want);
      for (const std::size_t count : {2, 4, 8}) {
        set_threads(count);
        CHECK(kernels::sum_of_squares(x.data(), n) == alone);
      }
    });
  }
}
