// Attention of every instruction set against plain loops in long double, and the kernels' bits
// under 1 to 4 threads.
#include "kernel_cases.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/kernels/table.hpp"

using namespace vitruvian;
using namespace kernel_cases;
using kernels::AttentionShape;
using kernels::Heads;

namespace {

// Arrays (B, h, rows, width) with the heads of a token side by side: (B, rows, h, width).
template <class T>
Heads<T> side_by_side(std::vector<std::remove_const_t<T>>& x, const AttentionShape& s,
                      std::size_t rows, std::size_t width) {
  return {x.data(), rows * s.h * width, width, s.h * width};
}

template <class T>
T& at(const Heads<T>& x, std::size_t b, std::size_t i, std::size_t t, std::size_t d) {
  return x.data[b * x.batch + i * x.head + t * x.token + d];
}

template <class T>
struct Arrays {
  std::vector<T> q, k, v, go, bias, o, probs, dq, dk, dv, ds;
  explicit Arrays(const AttentionShape& s)
      : q(s.B * s.h * s.T * s.E),
        k(s.B * s.h * s.S * s.E),
        v(s.B * s.h * s.S * s.F),
        go(s.B * s.h * s.T * s.F),
        bias(s.h * s.T * s.S),
        o(go.size()),
        probs(s.B * s.h * s.T * s.S),
        dq(q.size()),
        dk(k.size()),
        dv(v.size()),
        ds(probs.size()) {}
};

// P (B, h, T, S) of its transpose, as the kernel saves it.
template <class T>
std::vector<T> rows_of(const AttentionShape& s, const std::vector<T>& saved) {
  const std::size_t row = kernels::attention_row<T>(s);
  std::vector<T> probs(s.B * s.h * s.T * s.S);
  for (std::size_t i = 0; i < probs.size(); ++i) {
    const std::size_t head = i / (s.T * s.S), t = i / s.S % s.T, c = i % s.S;
    probs[i] = saved[(head * s.S + c) * row + t];
  }
  return probs;
}

// Everything from the definition, one (image, head) and one element at a time.
template <class T>
Arrays<Wide> reference(const AttentionShape& s, Arrays<T>& x, bool with_bias,
                       const std::vector<T>& mask) {
  Arrays<Wide> y(s);
  const auto q = side_by_side<T>(x.q, s, s.T, s.E), k = side_by_side<T>(x.k, s, s.S, s.E),
             v = side_by_side<T>(x.v, s, s.S, s.F), go = side_by_side<T>(x.go, s, s.T, s.F);
  const auto o = side_by_side<Wide>(y.o, s, s.T, s.F), dq = side_by_side<Wide>(y.dq, s, s.T, s.E),
             dk = side_by_side<Wide>(y.dk, s, s.S, s.E), dv = side_by_side<Wide>(y.dv, s, s.S, s.F);
  const Wide scale = 1 / std::sqrt(static_cast<Wide>(s.E));
  for (std::size_t b = 0; b < s.B; ++b) {
    for (std::size_t i = 0; i < s.h; ++i) {
      for (std::size_t t = 0; t < s.T; ++t) {
        const std::size_t base = ((b * s.h + i) * s.T + t) * s.S;
        Wide* p = y.probs.data() + base;
        Wide total = 0;
        for (std::size_t c = 0; c < s.S; ++c) {
          p[c] = with_bias ? x.bias[(i * s.T + t) * s.S + c] : T(0);
          for (std::size_t d = 0; d < s.E; ++d) {
            p[c] += scale * static_cast<Wide>(at(q, b, i, t, d)) * at(k, b, i, c, d);
          }
          total += p[c] = std::exp(p[c]);
        }
        Wide dot = 0;
        std::vector<Wide> dp(s.S);
        for (std::size_t c = 0; c < s.S; ++c) {
          p[c] /= total;
          for (std::size_t f = 0; f < s.F; ++f) {
            at(o, b, i, t, f) += p[c] * mask[base + c] * at(v, b, i, c, f);
            at(dv, b, i, c, f) += p[c] * mask[base + c] * at(go, b, i, t, f);
            dp[c] += static_cast<Wide>(mask[base + c]) * at(go, b, i, t, f) * at(v, b, i, c, f);
          }
          dot += dp[c] * p[c];
        }
        for (std::size_t c = 0; c < s.S; ++c) {
          const Wide ds = y.ds[base + c] = p[c] * (dp[c] - dot);
          for (std::size_t d = 0; d < s.E; ++d) {
            at(dq, b, i, t, d) += scale * ds * at(k, b, i, c, d);
            at(dk, b, i, c, d) += scale * ds * at(q, b, i, t, d);
          }
        }
      }
    }
  }
  return y;
}

template <class T>
Arrays<T> random_arrays(const AttentionShape& s) {
  Arrays<T> x(s);
  unsigned seed = 0;
  for (auto* const input : {&x.q, &x.k, &x.v, &x.go, &x.bias}) {
    *input = random<T>(input->size(), ++seed);
  }
  x.probs.resize(s.B * s.h * s.S * kernels::attention_row<T>(s));
  return x;
}

float most_apart(const std::vector<float>& x, const std::vector<float>& y) {
  float most = x.size() == y.size() ? 0 : inf_of<float>;
  for (std::size_t i = 0; most < inf_of<float> && i < x.size(); ++i) {
    if (!(std::abs(x[i] - y[i]) <= most)) most = std::abs(x[i] - y[i]);
  }
  return most;
}

constexpr std::uint64_t key = 99;

template <class T>
void run(const AttentionShape& s, Arrays<T>& x, bool with_bias, double p, bool with_ds) {
  const auto q = side_by_side<const T>(x.q, s, s.T, s.E),
             k = side_by_side<const T>(x.k, s, s.S, s.E),
             v = side_by_side<const T>(x.v, s, s.S, s.F),
             go = side_by_side<const T>(x.go, s, s.T, s.F);
  // One bias for all images: a batch stride of 0.
  kernels::attention<T>(s, q, k, v, {with_bias ? x.bias.data() : nullptr, 0, s.T * s.S}, p, key,
                        side_by_side<T>(x.o, s, s.T, s.F), x.probs.data());
  kernels::attention_vjp<T>(s, q, k, v, x.probs.data(), p, key, go,
                            side_by_side<T>(x.dq, s, s.T, s.E), side_by_side<T>(x.dk, s, s.S, s.E),
                            side_by_side<T>(x.dv, s, s.S, s.F), with_ds ? x.ds.data() : nullptr);
}

}  // namespace

TEST_CASE_TEMPLATE("attention and its backward", T, float, double) {
  for_each_isa([] {
    for (const AttentionShape& s : {AttentionShape{2, 3, 5, 5, 4, 4},
                                    {1, 2, 7, 3, 5, 2},
                                    {3, 1, 1, 17, 8, 16},
                                    {1, 2, 65, 65, 32, 32},
                                    {2, 2, 33, 20, 1, 3},
                                    {1, 1, 1024, 3, 2, 2}}) {  // rows of a page, but for their pad
      for (const bool with_bias : {false, true}) {
        for (const double p : {0.0, 0.3}) {
          INFO("s.T ", s.T, ", with_bias ", with_bias, ", p ", p);
          Arrays<T> x = random_arrays<T>(s);
          std::vector<T> mask(x.ds.size(), T(1));
          kernels::dropout(mask.data(), mask.data(), s.B * s.h, s.T * s.S, p, key);
          run(s, x, with_bias, p, true);
          const Arrays<Wide> want = reference(s, x, with_bias, mask);
          CHECK(worst(rows_of(s, x.probs), 0, want.probs) <= 8);
          CHECK(worst(x.o, 0, want.o) <= 16);
          CHECK(worst(x.ds, 0, want.ds) <= 32);
          CHECK(worst(x.dq, 0, want.dq) <= 64);
          CHECK(worst(x.dk, 0, want.dk) <= 64);
          CHECK(worst(x.dv, 0, want.dv) <= 64);
          const Arrays<T> with_ds = x;
          run(s, x, with_bias, p, false);
          CHECK(x.dq == with_ds.dq);
        }
      }
    }
  });
}

TEST_CASE_TEMPLATE("attention without images, heads, queries or keys", T, float, double) {
  for (const AttentionShape& s : {AttentionShape{0, 3, 5, 5, 4, 4},
                                  {2, 0, 5, 5, 4, 4},
                                  {2, 3, 0, 5, 4, 4},
                                  {2, 3, 5, 0, 4, 4},
                                  {2, 3, 5, 5, 4, 0}}) {
    Arrays<T> x = random_arrays<T>(s);
    run(s, x, true, 0.5, true);
    for (const T v : x.o) CHECK(v == 0);
  }
}

// Equal numbers round the same way again and again: the sum of 5000 of them, one by one, is off by
// hundreds of units in its last place.
TEST_CASE_TEMPLATE("the weights of thousands of keys sum to 1", T, float, double) {
  for_each_isa([] {
    const AttentionShape s{1, 1, 1, 5000, 1, 1};
    Arrays<T> x = random_arrays<T>(s);
    for (std::size_t c = 0; c < s.S; ++c) x.bias[c] = c == 0 ? T(1) : T(0);
    for (T& q : x.q) q = 0;
    for (T& v : x.v) v = T(1.1);  // so that dP is the same for each key, and dS 0
    run(s, x, true, 0, true);
    const std::vector<T> mask(s.S, T(1));
    const Arrays<Wide> want = reference(s, x, true, mask);
    CHECK(worst(rows_of(s, x.probs), 0, want.probs, 1 / static_cast<Wide>(s.S)) <= 32);
    CHECK(worst(x.ds, 0, want.ds, 1 / static_cast<Wide>(s.S)) <= 32);
  });
}

TEST_CASE_TEMPLATE("a masked key has no weight, a query without keys is undefined", T, float,
                   double) {
  const AttentionShape s{1, 1, 2, 20, 4, 4};
  Arrays<T> x = random_arrays<T>(s);
  for (std::size_t c = 0; c < s.S; ++c) {
    x.bias[c] = c == 3 ? T(0) : -std::numeric_limits<T>::infinity();
    x.bias[s.S + c] = -std::numeric_limits<T>::infinity();
  }
  run(s, x, true, 0, false);
  const std::vector<T> probs = rows_of(s, x.probs);
  for (std::size_t c = 0; c < s.S; ++c) {
    CHECK(probs[c] == (c == 3 ? T(1) : T(0)));
    CHECK(std::isnan(probs[s.S + c]));
  }
  for (std::size_t f = 0; f < s.F; ++f) CHECK(x.o[f] == x.v[3 * s.F + f]);
}

TEST_CASE_TEMPLATE("the kernels' bits do not depend on the number of threads", T, float, double) {
  const std::size_t rows = 1500, n = 65;
  const std::vector<T> x = random<T>(rows * n, 1), g = random<T>(rows * n, 2), w = random<T>(n, 3);
  const AttentionShape s{3, 4, 33, 33, 16, 16};
  std::vector<std::vector<T>> expected;
  for (const std::size_t count : {1, 2, 3, 4}) {
    set_threads(count);
    Arrays<T> a = random_arrays<T>(s);
    run(s, a, true, 0.2, true);
    std::vector<T> y(x.size()), dx(x.size()), mean(rows), rstd(rows), dw(n), db(n), d(x.size()),
        sums(n);
    kernels::layer_norm(x.data(), w.data(), w.data(), 1e-5, y.data(), mean.data(), rstd.data(),
                        rows, n);
    kernels::layer_norm_vjp(x.data(), w.data(), mean.data(), rstd.data(), g.data(), dx.data(),
                            dw.data(), db.data(), rows, n);
    kernels::dropout(x.data(), d.data(), 3, x.size() / 3, 0.4, key);
    kernels::sum_rows(x.data(), sums.data(), rows, n);
    sums.push_back(static_cast<T>(kernels::sum_of_squares(x.data(), x.size())));
    const std::vector<std::vector<T>> got = {a.o, a.dq, a.dk, a.dv, a.ds, y, dx, dw, db, d, sums};
    if (count == 1) expected = got;
    CHECK(got == expected);
  }
}

// Rounding once more changes nothing: under bfloat16 attention must give the bits of plain products
// of factors that were rounded before, where sums have the order of k.
TEST_CASE("attention under bfloat16 rounds the factors of larger heads, and none of smaller ones") {
  const auto rounded = [](std::vector<float> x) {
    for (float& value : x) value = kernels::round_to_bfloat16(value);
    return x;
  };
  // (rows, columns) of one head's rounded factors: a^T b.
  const auto product = [](const std::vector<float>& a, const std::vector<float>& b, std::size_t k,
                          std::size_t m, std::size_t n) {
    std::vector<float> c(m * n);
    kernels::table<float>().product(
        {m, n, k, a.data(), m, true, b.data(), n, false, c.data(), n},
        std::vector<float>(kernels::table<float>().product_workspace + 16).data());
    return c;
  };
  for_each_isa([&] {
    const bool amx = kernels::bfloat16_body() == kernels::Bfloat16Body::amx;
    const float near = amx ? 0.02F : 0;  // the matrix unit has an order of its own
    for (const AttentionShape& s :
         {AttentionShape{1, 1, 65, 65, 32, 32}, {1, 1, 40, 70, 24, 33}, {1, 1, 17, 17, 16, 16}}) {
      CAPTURE(s.T);
      const bool large = s.T * s.S * std::min(s.E, s.F) >= 65536;
      Arrays<float> plain = random_arrays<float>(s);
      Arrays<float> x = plain;
      run(s, plain, false, 0, true);
      {
        const kernels::GemmPrecisionScope scope(kernels::GemmPrecision::bfloat16);
        run(s, x, false, 0, true);
      }
      if (!large) {
        CHECK(x.o == plain.o);
        CHECK(x.dk == plain.dk);
        continue;
      }
      Arrays<float> before = random_arrays<float>(s);
      before.q = rounded(before.q);
      before.k = rounded(before.k);
      run(s, before, false, 0, true);
      CHECK(most_apart(rows_of(s, x.probs), rows_of(s, before.probs)) <= near);
      // P^T (S, T) and the rest by plain products.
      const std::vector<float> p = rounded(rows_of(s, x.probs));
      std::vector<float> p_t(p.size());
      for (std::size_t i = 0; i < p.size(); ++i) p_t[i % s.S * s.T + i / s.S] = p[i];
      CHECK(most_apart(x.o, product(p_t, rounded(x.v), s.S, s.T, s.F)) <= near);
      CHECK(most_apart(x.dv, product(p, rounded(x.go), s.T, s.S, s.F)) <= near);
      const std::vector<float> ds = rounded(x.ds);
      const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.E)));
      std::vector<float> dk = product(ds, rounded(x.q), s.T, s.S, s.E);
      for (float& value : dk) value *= scale;
      CHECK(most_apart(x.dk, dk) <= near);
      // dS itself: near that of float32, not at it.
      CHECK(most_apart(x.ds, plain.ds) > 0);
      CHECK(most_apart(x.ds, plain.ds) < 0.05F);
      CHECK(most_apart(x.dq, plain.dq) > 0);
      CHECK(most_apart(x.dq, plain.dq) < 0.05F);
    }
  });
}
