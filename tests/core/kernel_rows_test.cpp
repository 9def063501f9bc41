// The row kernels (softmax, layer norm, cross entropy) of every instruction set against plain loops
// in long double.
#include "kernel_cases.hpp"
#include "vitruvian/core/kernels/kernels.hpp"

using namespace vitruvian;
using namespace kernel_cases;

namespace {

Row softmax_of(const Row& x) {
  Wide most = x[0];
  for (const Wide v : x) most = std::max(most, v);
  Row y(x.size());
  const Wide total = sum(x, [&](std::size_t i) { return y[i] = std::exp(x[i] - most); });
  for (Wide& v : y) v /= total;
  return y;
}

// x to half of its digits.
template <class T>
T half_as_long(T x) {
  constexpr int half = std::numeric_limits<T>::digits / 2;
  int exponent = 0;
  const T digits = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(digits, half)), exponent - half);
}

// The sum of n terms in the order that the kernels promise: whole vectors' terms in their lanes,
// those left over in lane 0, then the lanes from the first to the last.
template <class Sum, class Term>
Sum in_lanes(std::size_t lanes, std::size_t n, const Term& term) {
  std::vector<Sum> lane(lanes);
  for (std::size_t i = 0; i < n; ++i) lane[i < n / lanes * lanes ? i % lanes : 0] += term(i);
  Sum sum = 0;
  for (const Sum x : lane) sum += x;
  return sum;
}

}  // namespace

// Bit by bit, whoever compiled it: what makes a page in a browser show a terminal's numbers. The
// factors are half as long as a T, so that a product is the same rounded or fused with the sum.
TEST_CASE_TEMPLATE("sums run in lanes, in an order that no compiler chooses", T, float, double) {
  over_sizes([](std::size_t n) {
    const std::size_t lanes = kernels::table<T>().attention_row(1);
    const std::vector<T> x = random<T>(n, 20);
    std::vector<T> y(n), dx(n), a = x, b = random<T>(n, 21);
    T mean = 0, rstd = 0;
    kernels::layer_norm<T>(x.data(), nullptr, nullptr, 1e-5, y.data(), &mean, &rstd, 1, n);
    CHECK(mean == in_lanes<T>(lanes, n, [&](std::size_t i) { return x[i]; }) / static_cast<T>(n));

    for (T& v : a) v = half_as_long(v);
    for (T& v : b) v = half_as_long(v);
    kernels::softmax_vjp(a.data(), b.data(), dx.data(), 1, n);
    const T dot = in_lanes<T>(lanes, n, [&](std::size_t i) { return a[i] * b[i]; });
    for (std::size_t i = 0; i < n; ++i) CHECK(dx[i] == a[i] * (b[i] - dot));

    const std::vector<T>& s = std::is_same_v<T, float> ? x : a;
    const double squares = in_lanes<double>(lanes, n, [&](std::size_t i) {
      return static_cast<double>(s[i]) * static_cast<double>(s[i]);
    });
    CHECK(kernels::sum_of_squares(s.data(), n) == squares);
  });
}

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
      const Row p = softmax_of(row(x, r, n)), gr = row(g, r, n);
      // The backward is a function of the y it is given, rounded as that is.
      const Row yr = row(y, r, n), lr = row(ly, r, n);
      const Wide dot = sum(p, [&](std::size_t i) { return yr[i] * gr[i]; });
      const Wide size = sum(p, [&](std::size_t i) { return std::abs(yr[i] * gr[i]); });
      const Wide total = sum(p, [&](std::size_t i) { return gr[i]; });
      const Wide total_size = sum(p, [&](std::size_t i) { return std::abs(gr[i]); });
      CHECK(worst(y, r, p, 0) <= 12);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = r * n + i;
        CHECK(error(ly[at], std::log(p[i])) <= 4);
        CHECK(error(dx[at], yr[i] * (gr[i] - dot), yr[i] * (std::abs(gr[i]) + size)) <= 4);
        const Wide e = std::exp(lr[i]);
        CHECK(error(ldx[at], gr[i] - e * total, std::abs(gr[i]) + e * total_size) <= 4);
      }
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
      return std::all_of(y.begin(), y.end(), [](T v) { return std::isnan(v); });
    };
    for (const std::size_t at : {0, 6, 40}) {
      for (const std::vector<T>& y :
           {softmax_at(at, T(2), -inf_of<T>), softmax_at(at, T(1e30), T(-1e30))}) {
        for (std::size_t i = 0; i < n; ++i) CHECK(y[i] == (i == at % n ? T(1) : T(0)));
      }
      const std::vector<T> y = softmax_at(at, -inf_of<T>, T(1e30));
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
      std::vector<T> y(x.size()), bare(x.size()), dx(x.size()), mean(rows), rstd(rows), dw(n),
          db(n);
      kernels::layer_norm<T>(x.data(), nullptr, nullptr, eps, bare.data(), mean.data(), rstd.data(),
                             rows, n);
      kernels::layer_norm(x.data(), w.data(), b.data(), eps, y.data(), mean.data(), rstd.data(),
                          rows, n);
      kernels::layer_norm_vjp(x.data(), w.data(), mean.data(), rstd.data(), g.data(), dx.data(),
                              dw.data(), db.data(), rows, n);
      Row want_dw(n), want_db(n);
      const auto count = static_cast<Wide>(n);
      for (std::size_t r = 0; r < rows; ++r) {
        Row xr = row(x, r, n);
        for (Wide& v : xr) v -= static_cast<Wide>(mean_of_x);  // exact; long double is not so wide
        const Row gr = row(g, r, n);
        const Wide mu = sum(xr, [&](std::size_t i) { return xr[i]; }) / count;
        const Wide var =
            sum(xr, [&](std::size_t i) { return (xr[i] - mu) * (xr[i] - mu); }) / count;
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
        // Of 193 numbers a lane adds twelve, one after the other, and each sum rounds.
        CHECK(error(mean[r], mu + static_cast<Wide>(mean_of_x)) <= (n <= 100 ? 4 : 7));
        CHECK(error(rstd[r], s) <= 8);
      }
      CHECK(worst(dw, 0, want_dw, 8) <= 16);
      CHECK(worst(db, 0, want_db, 8) <= 16);
    }
  });
}

TEST_CASE_TEMPLATE("layer norm of constant rows gives b, and of nothing nothing", T, float,
                   double) {
  over_sizes([](std::size_t size) {
    const std::size_t n = size == 100 ? 769 : size;  // long enough for a sum to round
    const std::vector<T> w = random<T>(n, 4), b = random<T>(n, 5);
    for (const double value : {0.1, -1e6, 12345.678}) {
      const std::vector<T> x(3 * n, static_cast<T>(value));
      std::vector<T> y(x.size()), mean(3), rstd(3);
      kernels::layer_norm(x.data(), w.data(), b.data(), 1e-5, y.data(), mean.data(), rstd.data(), 3,
                          n);
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == b[i % n]);
      kernels::layer_norm<T>(x.data(), nullptr, nullptr, 1e-5, y.data(), mean.data(), rstd.data(),
                             3, n);
      CHECK(y == std::vector<T>(y.size(), T(0)));
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
            t[i] =
                (1 - static_cast<Wide>(e)) * target + static_cast<Wide>(e) / static_cast<Wide>(n);
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
  for_each_isa([] {
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
