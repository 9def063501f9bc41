// The row kernels of every instruction set against plain loops in long double.
#include "core/kernels/kernels.hpp"

#include "core/parallel.hpp"
#include "core/rng.hpp"
#include "kernel_cases.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace vitruvian;
using kernel_cases::for_each_isa;

namespace {

using Wide = long double;
using Row = std::vector<Wide>;

constexpr std::size_t sizes[] = {1, 2, 3, 7, 16, 17, 33, 65, 100};

template <class T>
constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T inf_of = std::numeric_limits<T>::infinity();

template <class T>
std::vector<T> random(std::size_t n, unsigned seed, double scale = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(scale * normal(bits));
  return x;
}

template <class T>
Row row(const std::vector<T>& x, std::size_t r, std::size_t n) {
  return Row(x.begin() + static_cast<std::ptrdiff_t>(r * n),
             x.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
}

// |got - want| in units of eps max(|want|, scale).
template <class T>
double error(T got, Wide want, Wide scale = 1) {
  if (static_cast<Wide>(got) == want) return 0;
  const Wide unit = std::numeric_limits<T>::epsilon() * std::max(std::abs(want), scale);
  return static_cast<double>(std::abs(got - want) / unit);
}

template <class T>
double worst(const std::vector<T>& got, std::size_t r, const Row& want, Wide scale = 1) {
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = error(got[r * want.size() + i], want[i], scale);
    if (!(e <= most)) most = e;
  }
  return most;
}

Wide sum(const Row& x, const std::function<Wide(std::size_t)>& term) {
  Wide s = 0;
  for (std::size_t i = 0; i < x.size(); ++i) s += term(i);
  return s;
}

Row softmax_of(const Row& x) {
  Wide most = x[0];
  for (const Wide v : x) most = std::max(most, v);
  Row y(x.size());
  const Wide total = sum(x, [&](std::size_t i) { return y[i] = std::exp(x[i] - most); });
  for (Wide& v : y) v /= total;
  return y;
}

template <class Body>
void over_sizes(const Body& body) {
  for_each_isa([&](const std::string& isa) {
    CAPTURE(isa);
    for (const std::size_t n : sizes) {
      CAPTURE(n);
      body(n);
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("softmax and log_softmax, forward and backward", T, float, double) {
  over_sizes([](std::size_t n) {
    const std::size_t rows = 5;
    const std::vector<T> x = random<T>(rows * n, 1, 3);
    const std::vector<T> g = random<T>(rows * n, 2);
    std::vector<T> y(x.size()), dx(x.size()), ly(x.size()), ldx(x.size());
    kernels::softmax(x.data(), y.data(), rows, n);
    kernels::softmax_vjp(y.data(), g.data(), dx.data(), rows, n);
    kernels::log_softmax(x.data(), ly.data(), rows, n);
    kernels::log_softmax_vjp(ly.data(), g.data(), ldx.data(), rows, n);
    for (std::size_t r = 0; r < rows; ++r) {
      const Row p = softmax_of(row(x, r, n));
      const Row gr = row(g, r, n);
      const Wide dot = sum(p, [&](std::size_t i) { return p[i] * gr[i]; });
      const Wide total = sum(p, [&](std::size_t i) { return gr[i]; });
      Row want_dx(n), want_log(n), want_ldx(n);
      for (std::size_t i = 0; i < n; ++i) {
        want_dx[i] = p[i] * (gr[i] - dot);
        want_log[i] = std::log(p[i]);
        want_ldx[i] = gr[i] - p[i] * total;
      }
      CHECK(worst(y, r, p, 0) <= 12);
      CHECK(worst(dx, r, want_dx, 0.1L) <= 16);
      CHECK(worst(ly, r, want_log) <= 4);
      CHECK(worst(ldx, r, want_ldx, 4) <= 8);
    }
  });
}

TEST_CASE_TEMPLATE("softmax of masked, huge, infinite and undefined logits", T, float, double) {
  over_sizes([](std::size_t n) {
    const auto softmax_at = [n](std::size_t at, T value, T others) {
      std::vector<T> x(n, others), y(n);
      x[at % n] = value;
      kernels::softmax(x.data(), y.data(), 1, n);
      return y;
    };
    const auto all_nan = [](const std::vector<T>& y) {
      for (const T v : y) {
        if (!std::isnan(v)) return false;
      }
      return true;
    };
    for (const std::size_t at : {0, 6, 40}) {
      std::vector<T> y = softmax_at(at, T(2), -inf_of<T>);
      for (std::size_t i = 0; i < n; ++i) CHECK(y[i] == (i == at % n ? T(1) : T(0)));
      y = softmax_at(at, T(1e30), T(-1e30));
      for (std::size_t i = 0; i < n; ++i) CHECK(y[i] == (i == at % n ? T(1) : T(0)));
      y = softmax_at(at, -inf_of<T>, T(1e30));
      for (std::size_t i = 0; i < n && n > 1; ++i) {
        CHECK(y[i] == doctest::Approx(i == at % n ? 0 : 1.0 / static_cast<double>(n - 1)));
      }
      CHECK(all_nan(softmax_at(at, inf_of<T>, T(0))));
      CHECK(all_nan(softmax_at(at, nan_of<T>, T(0))));
      CHECK(all_nan(softmax_at(at, nan_of<T>, -inf_of<T>)));
      CHECK(all_nan(softmax_at(at, -inf_of<T>, -inf_of<T>)));
    }
  });
}

TEST_CASE_TEMPLATE("layer norm, forward and backward", T, float, double) {
  over_sizes([](std::size_t n) {
    for (const double mean_of_x : {0.0, 1e6}) {
      const std::size_t rows = 70;
      const double eps = 1e-5;
      CAPTURE(mean_of_x);
      std::vector<T> x = random<T>(rows * n, 3);
      for (T& v : x) v += static_cast<T>(mean_of_x);
      const std::vector<T> w = random<T>(n, 4), b = random<T>(n, 5), g = random<T>(rows * n, 6);
      std::vector<T> y(x.size()), bare(x.size()), dx(x.size()), mean(rows), rstd(rows), dw(n), db(n);
      kernels::layer_norm<T>(x.data(), nullptr, nullptr, eps, bare.data(), mean.data(), rstd.data(),
                             rows, n);
      kernels::layer_norm(x.data(), w.data(), b.data(), eps, y.data(), mean.data(), rstd.data(), rows,
                          n);
      kernels::layer_norm_vjp(x.data(), w.data(), mean.data(), rstd.data(), g.data(), dx.data(),
                              dw.data(), db.data(), rows, n);
      Row want_dw(n), want_db(n);
      const auto count = static_cast<Wide>(n);
      for (std::size_t r = 0; r < rows; ++r) {
        Row xr = row(x, r, n);
        for (Wide& v : xr) v -= static_cast<Wide>(mean_of_x);  // exact; long double is not so wide
        const Row gr = row(g, r, n);
        const Wide mu = sum(xr, [&](std::size_t i) { return xr[i]; }) / count;
        const Wide var = sum(xr, [&](std::size_t i) { return (xr[i] - mu) * (xr[i] - mu); }) / count;
        const Wide s = 1 / std::sqrt(var + static_cast<Wide>(eps));
        Row xh(n), want(n), want_dx(n);
        for (std::size_t i = 0; i < n; ++i) {
          xh[i] = (xr[i] - mu) * s;
          want[i] = xh[i] * w[i] + b[i];
          want_dw[i] += gr[i] * xh[i];
          want_db[i] += gr[i];
        }
        const Wide a = sum(xr, [&](std::size_t i) { return gr[i] * w[i]; }) / count;
        const Wide c = sum(xr, [&](std::size_t i) { return gr[i] * w[i] * xh[i]; }) / count;
        for (std::size_t i = 0; i < n; ++i) want_dx[i] = s * (gr[i] * w[i] - a - xh[i] * c);
        CHECK(worst(bare, r, xh) <= 8);
        CHECK(worst(y, r, want, 2) <= 8);
        CHECK(worst(dx, r, want_dx, 4 * s) <= 16);
        CHECK(error(mean[r], mu + static_cast<Wide>(mean_of_x)) <= 4);
        CHECK(error(rstd[r], s) <= 8);
      }
      CHECK(worst(dw, 0, want_dw, 8) <= 16);
      CHECK(worst(db, 0, want_db, 8) <= 16);
    }
  });
}

TEST_CASE_TEMPLATE("layer norm of constant rows gives b, and of nothing nothing", T, float, double) {
  over_sizes([](std::size_t n) {
    const std::vector<T> w = random<T>(n, 4), b = random<T>(n, 5);
    for (const double value : {0.1, -1e6, 12345.678}) {
      const std::vector<T> x(3 * n, static_cast<T>(value));
      std::vector<T> y(x.size()), mean(3), rstd(3);
      kernels::layer_norm(x.data(), w.data(), b.data(), 1e-5, y.data(), mean.data(), rstd.data(), 3,
                          n);
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == b[i % n]);
    }
    std::vector<T> dw(n, T(7)), db(n, T(7));
    kernels::layer_norm<T>(nullptr, w.data(), b.data(), 1e-5, nullptr, nullptr, nullptr, 0, n);
    kernels::layer_norm_vjp<T>(nullptr, w.data(), nullptr, nullptr, nullptr, nullptr, dw.data(),
                               db.data(), 0, n);
    for (std::size_t i = 0; i < n; ++i) CHECK((dw[i] == 0 && db[i] == 0));
    T mean[2], rstd[2];
    kernels::layer_norm<T>(nullptr, nullptr, nullptr, 1e-5, nullptr, mean, rstd, 2, 0);
  });
}

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
      for (std::size_t i = 0; i < g.size(); ++i) {
        CHECK(y[i] == g[i] + b[i % n]);
        want[i % n] += g[i];
        size[i % n] += std::abs(static_cast<Wide>(g[i]));
      }
      for (std::size_t j = 0; j < n; ++j) CHECK(error(db[j], want[j], size[j]) <= 8);
    }
  });
}

TEST_CASE_TEMPLATE("dropout draws Philox's words", T, float, double) {
  over_sizes([](std::size_t n) {
    const std::vector<T> x = random<T>(n, 11);
    const std::uint64_t key = 0x0123456789ABCDEFU;
    for (const double p : {0.0, 0.1, 0.5, 0.97, 1.0}) {
      std::vector<T> y(n);
      kernels::dropout(x.data(), y.data(), n, p, key);
      for (std::size_t i = 0; i < n; ++i) {
        const auto words = philox({static_cast<std::uint32_t>(i / 4), 0, 0, 0},
                                  {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)});
        const bool kept = words[i % 4] >= p * 4294967296.0;
        CHECK(y[i] == (kept ? x[i] * static_cast<T>(1 / (1 - p)) : T(0)));
      }
    }
  });
}

TEST_CASE_TEMPLATE("cross entropy with labels, probabilities and smoothing", T, float, double) {
  over_sizes([](std::size_t n) {
    const std::size_t rows = 4;
    const std::vector<T> x = random<T>(rows * n, 12, 3);
    std::vector<T> targets = random<T>(rows * n, 13);
    for (T& t : targets) t = std::abs(t);
    std::vector<std::size_t> labels;
    for (std::size_t r = 0; r < rows; ++r) labels.push_back(r * 37 % n);
    for (const double e : {0.0, 0.1}) {
      for (const bool soft : {false, true}) {
        std::vector<T> loss(rows), dx(x.size());
        if (soft) {
          kernels::cross_entropy(x.data(), targets.data(), e, loss.data(), dx.data(), rows, n);
        } else {
          kernels::cross_entropy(x.data(), labels.data(), e, loss.data(), dx.data(), rows, n);
        }
        for (std::size_t r = 0; r < rows; ++r) {
          const Row p = softmax_of(row(x, r, n));
          Row t(n), want(n);
          for (std::size_t i = 0; i < n; ++i) {
            const Wide target = soft ? static_cast<Wide>(targets[r * n + i]) : Wide(labels[r] == i);
            t[i] = (1 - static_cast<Wide>(e)) * target + static_cast<Wide>(e) / static_cast<Wide>(n);
          }
          const Wide total = sum(t, [&](std::size_t i) { return t[i]; });
          const Wide want_loss = -sum(t, [&](std::size_t i) { return t[i] * std::log(p[i]); });
          for (std::size_t i = 0; i < n; ++i) want[i] = p[i] * total - t[i];
          CHECK(error(loss[r], want_loss) <= 16);
          CHECK(worst(dx, r, want) <= 16);
        }
      }
    }
  });
}

TEST_CASE_TEMPLATE("cross entropy of masked and huge logits", T, float, double) {
  for_each_isa([](const std::string& isa) {
    CAPTURE(isa);
    const std::vector<T> x = {T(1e30), T(0), -inf_of<T>, T(1), -inf_of<T>, T(1)};
    const std::size_t labels[] = {0, 0};
    const std::vector<T> targets = {T(1), T(0), T(0), T(0.5), T(0), T(0.5)};
    std::vector<T> loss(2), dx(6);
    kernels::cross_entropy(x.data(), labels, 0, loss.data(), dx.data(), 2, 3);
    CHECK(loss[0] == 0);
    CHECK(loss[1] == doctest::Approx(std::log(2.0)));
    CHECK(dx[4] == 0);
    kernels::cross_entropy(x.data(), targets.data(), 0, loss.data(), dx.data(), 2, 3);
    CHECK(loss[1] == doctest::Approx(std::log(2.0)));
    const std::size_t masked[] = {1, 1};
    kernels::cross_entropy(x.data(), masked, 0, loss.data(), dx.data(), 2, 3);
    CHECK(loss[0] == doctest::Approx(1e30));
    CHECK(loss[1] == inf_of<T>);
    kernels::cross_entropy(x.data(), labels, 0.1, loss.data(), dx.data(), 2, 3);
    CHECK(loss[1] == inf_of<T>);
  });
}

TEST_CASE_TEMPLATE("AdamW and the sum of squares", T, float, double) {
  over_sizes([](std::size_t n) {
    std::vector<T> w = random<T>(n, 14), m(n), v(n);
    Row rw(w.begin(), w.end()), rm(n), rv(n);
    for (std::uint64_t t = 1; t <= 3; ++t) {
      const std::vector<T> g = random<T>(n, static_cast<unsigned>(15 + t));
      const kernels::AdamWStep s{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .decay = 0.1, .t = t};
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
