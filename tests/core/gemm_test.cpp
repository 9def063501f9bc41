// The product under every back end and instruction set, against a plain loop in long double.
#include "vitruvian/core/kernels/gemm.hpp"

#include "kernel_cases.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/kernels/table.hpp"

using namespace vitruvian;
using kernel_cases::Backend;
using kernel_cases::Product;
using kernels::Gemm;
using kernels::GemmBackend;

namespace {

// A product, and what it is to become.
template <class T>
struct Case : kernel_cases::Product<T> {
  using Product = kernel_cases::Product<T>;
  using Product::m, Product::n, Product::k, Product::c, Product::ldc;

  [[nodiscard]] Gemm<T> product() { return this->into(c); }

  // What an element of C is to become, and the sum of the sizes of its terms.
  struct Sum {
    long double value, size;
  };
  [[nodiscard]] std::vector<Sum> sums() const {
    std::vector<Sum> all(m * n);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        long double sum =
            this->beta == 0 ? 0 : static_cast<long double>(this->beta) * c[i * ldc + j];
        long double size = std::abs(sum);
        for (std::size_t p = 0; p < k; ++p) {
          const long double term =
              static_cast<long double>(this->alpha) * this->a_at(i, p) * this->b_at(p, j);
          sum += term;
          size += std::abs(term);
        }
        all[i * n + j] = {sum, size};
      }
    }
    return all;
  }

  // The largest error of an element in units of eps sum |a b|; infinite where one beside C changed.
  [[nodiscard]] double error(const std::vector<T>& before, const std::vector<Sum>& wanted) const {
    double worst = 0;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < ldc; ++j) {
        const T got = c[i * ldc + j];
        if (j >= n) {
          if (std::memcmp(&got, &before[i * ldc + j], sizeof got) != 0) return HUGE_VAL;
          continue;
        }
        const auto& [value, size] = wanted[i * n + j];
        const long double unit = std::numeric_limits<T>::epsilon() * size;
        const long double off = std::abs(value - got);
        if (!(off <= worst * unit)) worst = static_cast<double>(unit > 0 ? off / unit : HUGE_VALL);
      }
    }
    return worst;
  }
};

template <class Body>
void for_each_way(const Body& body) {
  for (const GemmBackend backend :
       {GemmBackend::onednn, GemmBackend::cblas, GemmBackend::fastest}) {
    if (!kernels::gemm_backend_available(backend)) continue;
    const Backend who(backend);
    CAPTURE(kernels::gemm_description());
    body();
  }
  const Backend ours(GemmBackend::packed);
  kernel_cases::for_each_isa(body);
}

// The product, whoever computes it: no element is further off than so many units.
template <class T>
void check_every_way(const Case<T>& one, double most) {
  const auto wanted = one.sums();
  for_each_way([&] {
    Case<T> g = one;
    kernels::gemm(g.product());
    CHECK(g.error(one.c, wanted) <= most);
  });
}

}  // namespace

TEST_CASE_TEMPLATE("every size, transpose, scale and stride", T, float, double) {
  for (const std::size_t m : {1, 2, 3, 7, 16, 17, 33, 65, 100}) {
    for (const std::size_t n : {1, 2, 3, 7, 16, 17, 33, 65, 100}) {
      for (const std::size_t k : {1, 3, 16, 65}) {
        for (int variant = 0; variant < 4; ++variant) {
          INFO("m ", m, ", n ", n, ", k ", k, ", variant ", variant);
          check_every_way<T>({Product<T>::of_variant(m, n, k, variant, variant == 0 ? 0 : 5)}, 4);
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("sizes beyond a block, and all transposes", T, float, double) {
  for (int variant = 0; variant < 4; ++variant) {
    for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1000, 40, 30},
                                  {40, 50, 1500},
                                  {30, 1100, 40},
                                  {70, 90, 600},
                                  {1, 700, 300},
                                  {300, 1, 700}}) {
      const T beta = variant == 3 ? T(0) : T(2);
      check_every_way<T>({{m, n, k, (variant & 1) != 0, (variant & 2) != 0, T(0.5), beta, 3}}, 8);
    }
  }
}

// By the instructions that round once for a multiplication and an addition: what a sum's bits are
// is written here, so that no way of packing or of reading changes them.
TEST_CASE("our own product of floats adds in the order of k, in blocks of at most 384 steps") {
  const Backend ours(GemmBackend::packed);
  for (const std::size_t k : {1, 64, 255, 384, 385, 520, 767, 768, 1000}) {
    const std::size_t block = k > 384 && k < 768 ? (k + 1) / 2 : 384;
    for (const auto& size : {std::array<std::size_t, 2>{3, 5}, {27, 33}, {17, 64}, {215, 19}}) {
      const std::size_t m = size[0], n = size[1];
      for (int variant = 0; variant < 4; ++variant) {
        INFO("k ", k, ", m ", m, ", n ", n, ", variant ", variant);
        const Case<float> one{{m, n, k, (variant & 1) != 0, (variant & 2) != 0, 1,
                               variant == 3 ? 1.0F : 0, std::size_t(variant)}};
        std::vector<float> wanted = one.c;
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            float all = variant == 3 ? one.c[i * one.ldc + j] : 0;
            for (std::size_t first = 0; first < k; first += block) {
              float sum = 0;
              for (std::size_t p = first; p < std::min(k, first + block); ++p) {
                sum = std::fma(one.a_at(i, p), one.b_at(p, j), sum);
              }
              all = sum + all;
            }
            wanted[i * one.ldc + j] = all;
          }
        }
        kernel_cases::for_each_isa([&] {
          if (kernels::isa() == kernels::Isa::baseline) return;
          Case<float> g = one;
          parallel_for(2, 1, [&](std::size_t begin, std::size_t) {  // in one piece
            if (begin == 0) kernels::gemm(g.product());
          });
          CHECK(g.c == wanted);
        });
      }
    }
  }
}

TEST_CASE_TEMPLATE("with beta 0, C is not read", T, float, double) {
  for (const std::size_t n : {3, 100, 300}) {
    Case<T> one{{n, n, n, false, true, 1, 0, 1}};
    for (T& x : one.c) x = std::numeric_limits<T>::quiet_NaN();
    check_every_way(one, 4);
  }
  for_each_way([] {
    Case<T> none{{3, 4, 0}};
    none.c.assign(12, std::numeric_limits<T>::quiet_NaN());
    kernels::gemm(none.product());
    CHECK(none.c == std::vector<T>(12, T(0)));
  });
}

TEST_CASE_TEMPLATE("sizes of 0", T, float, double) {
  for (const auto& [m, n, k] :
       {std::array<std::size_t, 3>{0, 4, 5}, {4, 0, 5}, {4, 5, 0}, {0, 0, 0}}) {
    Case<T> g{{m, n, k, false, false, 1, 3, 2}};
    check_every_way(g, 1);
    for_each_way([&] { kernels::gemm_batch(g.product(), 0, 0, 0, 0); });
  }
}

TEST_CASE_TEMPLATE("NaN and Inf of the factors arrive", T, float, double) {
  for_each_way([] {
    Case<T> g{{17, 35, 20}};
    g.a[2 * 20 + 3] = std::numeric_limits<T>::quiet_NaN();
    g.b[5 * 35 + 30] = std::numeric_limits<T>::infinity();
    kernels::gemm(g.product());
    CHECK(std::isnan(g.c[2 * 35 + 7]));
    CHECK(std::isinf(g.c[16 * 35 + 30]));
    CHECK(std::isfinite(g.c[16 * 35 + 31]));
  });
}

TEST_CASE_TEMPLATE("a batch is its products, one after the other", T, float, double) {
  for_each_way([] {
    for (const std::size_t size : {5, 33, 130}) {
      constexpr std::size_t batch = 7;
      Case<T> g{{size, size + 1, batch * (size + 2), false, true, 1, 1}};
      g.c = Product<T>{size * batch, size + 1, 1}.c;
      std::vector<T> one_by_one = g.c;
      Gemm<T> first = g.product();
      first.k = size + 2;  // each product takes its own columns of A; B is shared
      kernels::gemm_batch(first, batch, size + 2, 0, size * (size + 1));
      for (std::size_t i = 0; i < batch; ++i) {
        Gemm<T> single = first;
        single.a += i * (size + 2);
        single.c = one_by_one.data() + i * size * (size + 1);
        kernels::gemm(single);
      }
      double most = 0;
      for (std::size_t i = 0; i < g.c.size(); ++i) {
        const double off = std::abs(static_cast<double>(g.c[i]) - one_by_one[i]);
        if (!(off <= most)) most = off;
      }
      CHECK(most <= 100 * std::numeric_limits<T>::epsilon());
    }
  });
}

TEST_CASE_TEMPLATE("the same bits for 1, 2, 3 and 4 threads", T, float, double) {
  for_each_way([] {
    for (const auto& [m, n, k, ta] : {std::array<std::size_t, 4>{1040, 96, 32, 0},
                                      {96, 128, 2080, 1},
                                      {64, 10, 64, 0},
                                      {300, 300, 300, 0}}) {
      std::vector<T> expected;
      for (const std::size_t threads : {1, 2, 3, 4}) {
        set_threads(threads);
        Case<T> g{{m, n, k, ta != 0, false, 1, T(0.5)}};
        kernels::gemm(g.product());
        if (threads == 1) expected = g.c;
        CHECK(kernel_cases::same_bits(expected, g.c));
      }
    }
  });
}

TEST_CASE_TEMPLATE("inside a parallel loop a product is one piece, whoever runs it", T, float,
                   double) {
  for (const auto& [m, n, k, gap] : {std::array<std::size_t, 4>{600, 128, 64, 0},
                                     {272, 64, 100, 3},
                                     {257, 66, 61, 5},
                                     {300, 40, 300, 0}}) {
    for (int variant = 0; variant < 4; ++variant) {
      const Case<T> one{{m, n, k, (variant & 1) != 0, (variant & 2) != 0, 2, T(0.5), gap}};
      INFO("one.m ", one.m, ", variant ", variant);
      const auto wanted = one.sums();
      for_each_way([&] {
        std::vector<Case<T>> cases(4, one);
        for (const std::size_t threads : {1, 4}) {
          set_threads(threads);
          parallel_for(2, 1, [&](std::size_t begin, std::size_t) {
            kernels::gemm(cases[begin + (threads == 1 ? 0 : 2)].product());
          });
        }
        CHECK(cases[0].error(one.c, wanted) <= 8);
        for (const Case<T>& other : cases) CHECK(other.c == cases[0].c);
      });
    }
  }
}

TEST_CASE("the fastest back end gives the matrix unit's bits, and without it oneDNN's") {
  if (!kernels::gemm_backend_available(GemmBackend::onednn)) return;
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{272, 64, 64},
                                {272, 192, 64},
                                {64, 256, 272},
                                {520, 128, 384},
                                {128, 128, 520},
                                {520, 31, 384},
                                {520, 128, 31},
                                {100, 70, 1000}}) {
    for (int variant = 0; variant < 4; ++variant) {
      const Case<float> one{
          {m, n, k, (variant & 1) != 0, (variant & 2) != 0, 1, variant == 2 ? 1.0F : 0, 2}};
      INFO("m ", one.m, ", n ", one.n, ", k ", one.k, ", variant ", variant);
      kernel_cases::for_each_isa([&] {
        const auto product = [&](GemmBackend backend) {
          const Backend restore(backend);
          Case<float> g = one;
          parallel_for(2, 1, [&](std::size_t begin, std::size_t) {  // in one piece
            if (begin == 0) kernels::gemm(g.product());
          });
          return g.c;
        };
        Case<float> wanted = one;
        if (one.n >= 32 && one.k >= 32 && kernels::matrix_unit_available()) {
          kernels::matrix_unit_product(wanted.product());
        } else {
          wanted.c = product(GemmBackend::onednn);
        }
        CHECK(kernel_cases::same_bits(product(GemmBackend::fastest), wanted.c));
      });
    }
  }
}

TEST_CASE("back ends have names") {
  CHECK(kernels::gemm_backend_named("packed") == GemmBackend::packed);
  CHECK(kernels::gemm_backend_named("onednn") == GemmBackend::onednn);
  CHECK(kernels::gemm_backend_named("cblas") == GemmBackend::cblas);
  CHECK(kernels::gemm_backend_named("fastest") == GemmBackend::fastest);
  CHECK_FAILS_WITH(kernels::gemm_backend_named("mkl"), "there is no VITRUVIAN_GEMM 'mkl'");
  CHECK(kernels::gemm_backend_available(GemmBackend::packed));
  for (const GemmBackend backend : {GemmBackend::onednn, GemmBackend::cblas}) {
    if (!kernels::gemm_backend_available(backend)) {
      CHECK_THROWS_AS(kernels::set_gemm_backend(backend), Error);
    }
  }
}
