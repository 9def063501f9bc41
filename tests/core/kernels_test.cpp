// The element-wise kernels and sums of every instruction set against plain loops in long double.
#include "vitruvian/core/kernels/kernels.hpp"
#include "kernel_cases.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/base/rng.hpp"

#include <cmath>

using namespace vitruvian;
using namespace kernel_cases;

TEST_CASE_TEMPLATE("GELU, its tanh form and their slopes", T, float, double) {
  const auto Phi = [](Wide x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; };
  const auto phi = [](Wide x) { return std::exp(-x * x / 2) * 0.398942280401432677939946L; };
  const Wide root = std::sqrt(2 / 3.14159265358979323846264L);
  over_sizes([&](std::size_t n) {
    std::vector<T> x = random<T>(n, 7, 4);
    const std::vector<T> g = random<T>(n, 8);
    std::vector<T> y(n), dx(n), ty(n), tdx(n);
    kernels::gelu(x.data(), y.data(), n);
    kernels::gelu_vjp(x.data(), g.data(), dx.data(), n);
    kernels::gelu_tanh(x.data(), ty.data(), n);
    kernels::gelu_tanh_vjp(x.data(), g.data(), tdx.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const Wide v = x[i];
      const Wide u = root * (v + 0.044715L * v * v * v);
      const Wide t = std::tanh(u);
      const Wide slope = (1 + t) / 2 + v * (1 - t * t) / 2 * root * (1 + 3 * 0.044715L * v * v);
      CHECK(error(y[i], v * Phi(v), 0.1L) <= 8);
      CHECK(error(dx[i], g[i] * (Phi(v) + v * phi(v)), 0.5L) <= 8);
      CHECK(error(ty[i], v * (1 + t) / 2) <= 8);
      CHECK(error(tdx[i], g[i] * slope) <= 16);
    }
  });
}

TEST_CASE_TEMPLATE("GELU at the ends of the line", T, float, double) {
  for_each_isa([](const std::string& isa) {
    CAPTURE(isa);
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

TEST_CASE_TEMPLATE("a sum of squares over several chunks", T, float, double) {
  const std::vector<T> x = random<T>(100'000, 21);
  Wide want = 0;
  for (const T v : x) want += static_cast<Wide>(v) * v;
  for_each_isa([&](const std::string& isa) {
    CAPTURE(isa);
    const double got = kernels::sum_of_squares(x.data(), x.size());
    CHECK(std::abs(got - want) <= 1e-13L * want);
  });
}

// 2,097,152 numbers are 64 chunks of the usual size, and the partial sums are 64: beyond, the
// chunks grow. fc1 of ViT-B has 2,359,296.
TEST_CASE_TEMPLATE("a sum of squares of a large parameter, by any number of threads", T, float,
                   double) {
  const std::size_t before = threads();
  for (const std::size_t n : {2'097'152UL, 2'097'153UL, 2'359'296UL, 5'000'000UL}) {
    CAPTURE(n);
    std::vector<T> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<T>(static_cast<double>(i * 0x9E3779B97F4A7C15U >> 40U) * 0x1p-23 - 1);
    }
    Wide want = 0;
    for (const T v : x) want += static_cast<Wide>(v) * v;
    set_threads(1);
    const double alone = kernels::sum_of_squares(x.data(), n);
    // Terms are positive, and each of a chunk's additions rounds by half a unit at most: less by as
    // many lanes as this build has.
    const Wide additions = static_cast<Wide>(n) / 64 + 64;
    CHECK(std::abs(alone - want) <= additions * 0x1p-53L * want);
    for (const std::size_t count : {2, 4, 8}) {
      set_threads(count);
      CHECK(kernels::sum_of_squares(x.data(), n) == alone);
    }
  }
  set_threads(before);
}
