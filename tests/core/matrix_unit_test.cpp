// Products of float32s by the processor's matrix unit, each the sum of three bfloat16s: against a
// plain loop that knows no instruction, to the last bit, and against exact arithmetic.
#include "kernel_cases.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <bit>

using namespace vitruvian;
using kernels::Gemm;
using Product = kernel_cases::Product<float>;

namespace {

constexpr float inf = kernel_cases::inf_of<float>;

// A float as the sum of three bfloat16s, each the nearest to what is left, ties away from zero.
std::array<float, 3> pieces_of(float x) {
  std::array<float, 3> pieces{};
  for (float& piece : pieces) {
    if (x == 0) break;
    int exponent = 0;
    const double fraction = std::frexp(static_cast<double>(x), &exponent);
    piece = static_cast<float>(std::ldexp(std::round(fraction * 256), exponent - 8));
    x -= piece;
  }
  CHECK(x == 0);
  return pieces;
}

// What the matrix unit makes of float32s: the products of pieces one after the other, each as
// above.
std::vector<float> expected_of_pieces(const Product& one) {
  constexpr std::size_t block = 320, depth = 32;
  constexpr std::array<std::size_t, 2> pairs[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {0, 2}};
  std::vector<float> result = one.c;
  std::vector<std::array<float, 3>> a(one.m * one.k), b(one.k * one.n);
  for (std::size_t p = 0; p < one.k; ++p) {
    for (std::size_t i = 0; i < one.m; ++i) a[i * one.k + p] = pieces_of(one.a_at(i, p));
    for (std::size_t j = 0; j < one.n; ++j) b[j * one.k + p] = pieces_of(one.b_at(p, j));
  }
  for (std::size_t i = 0; i < one.m; ++i) {
    for (std::size_t j = 0; j < one.n; ++j) {
      float& out = result[i * one.ldc + j];
      for (std::size_t first = 0; first < one.k; first += block) {
        const std::size_t last = std::min(one.k, first + block);
        float sum = 0;
        for (std::size_t tile = first; tile < last; tile += depth) {
          for (const auto& pair : pairs) {
            float halves[2] = {0, 0};
            for (std::size_t p = tile; p < std::min(last, tile + depth); ++p) {
              float& half = halves[p % 2];
              half = std::fma(a[i * one.k + p][pair[0]], b[j * one.k + p][pair[1]], half);
            }
            sum += halves[0] + halves[1];
          }
        }
        const float old = first > 0 ? out : one.beta == 0 ? 0 : one.beta * out;
        out = one.alpha * sum + old;
      }
    }
  }
  return result;
}

bool no_matrix_unit() {
  if (kernels::matrix_unit_available()) return false;
  MESSAGE("this processor has no matrix unit");
  return true;
}

std::vector<float> by_matrix_unit(const Product& one) {
  std::vector<float> c = one.c;
  kernels::matrix_unit_product(one.into(c));
  return c;
}

float product_of(float x, float y) {
  Product one{1, 1, 1};
  one.a = {x};
  one.b = {y};
  return by_matrix_unit(one)[0];
}

}  // namespace

TEST_CASE("the matrix unit multiplies float32s as sums of three bfloat16s, to the bit") {
  if (no_matrix_unit()) return;
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1},
                                {3, 5, 2},
                                {16, 16, 32},
                                {17, 15, 33},
                                {33, 17, 65},
                                {8, 40, 31},
                                {130, 33, 100},
                                {260, 20, 40},
                                {20, 530, 64},
                                {15, 19, 320},
                                {31, 48, 321},
                                {20, 40, 700}}) {
    for (int variant = 0; variant < 4; ++variant) {
      const Product one = Product::of_variant(m, n, k, variant, variant == 0 ? 0 : 5);
      INFO("m ", one.m, ", n ", one.n, ", k ", one.k, ", variant ", variant);
      CHECK(by_matrix_unit(one) == expected_of_pieces(one));  // but for the sign of a zero
    }
  }
}

TEST_CASE("the matrix unit keeps every bit of a float32") {
  if (no_matrix_unit()) return;
  for (int variant = 0; variant < 4; ++variant) {
    CAPTURE(variant);
    Product one{50, 50, 50, (variant & 1) != 0, (variant & 2) != 0};
    std::vector<float> of_one(one.b.size());
    for (std::size_t i = 0; i < 50; ++i) of_one[i * 50 + i] = 1;
    const auto transposed = [](const std::vector<float>& x, bool really) {
      std::vector<float> y = x;
      for (std::size_t i = 0; really && i < 2500; ++i) y[i] = x[i % 50 * 50 + i / 50];
      return y;
    };
    Product of_a = one, of_b = one;
    of_a.b = of_one;
    of_b.a = of_one;
    CHECK(by_matrix_unit(of_a) == transposed(one.a, one.trans_a));
    CHECK(by_matrix_unit(of_b) == transposed(one.b, one.trans_b));
  }
  const auto square = [](float x) { return product_of(x, x); };
  CHECK(square(1 + 0x1p-11F) == 1 + 0x1p-10F + 0x1p-22F);
  CHECK(square(3) == 9);
  CHECK(square(0x1p-50F) == 0x1p-100F);
}

TEST_CASE("sums of many terms are more exact by the matrix unit than by our own product") {
  if (no_matrix_unit()) return;
  const auto error_of = [](const Product& one, const std::vector<float>& c) {
    double squares = 0;
    for (std::size_t i = 0; i < one.m; ++i) {
      for (std::size_t j = 0; j < one.n; ++j) {
        double exact = 0;
        for (std::size_t p = 0; p < one.k; ++p) {
          exact += static_cast<double>(one.a_at(i, p)) * static_cast<double>(one.b_at(p, j));
        }
        squares += std::pow(static_cast<double>(c[i * one.ldc + j]) - exact, 2);
      }
    }
    return std::sqrt(squares / static_cast<double>(one.m * one.n));
  };
  for (const std::size_t k : {32, 64, 128, 512, 1000}) {
    CAPTURE(k);
    const Product one{96, 128, k};
    const kernel_cases::Backend ours(kernels::GemmBackend::packed);
    std::vector<float> c = one.c;
    kernels::gemm(one.into(c));
    CHECK(error_of(one, by_matrix_unit(one)) < error_of(one, c));
  }
}

TEST_CASE("a single product by the matrix unit is at most two and a half units off") {
  if (no_matrix_unit()) return;
  const Product one{200, 200, 1};
  const std::vector<float> c = by_matrix_unit(one);
  double worst = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double exact = static_cast<double>(one.a[i / 200]) * static_cast<double>(one.b[i % 200]);
    worst = std::max(worst, std::abs(static_cast<double>(c[i]) / exact - 1));
  }
  CHECK(worst <= 2.5 * 0x1p-24);
}

TEST_CASE("the matrix unit takes for zeros what is below 2^-126") {
  if (no_matrix_unit()) return;
  CHECK(product_of(0x1p-126F, 1) == 0x1p-126F);
  CHECK(product_of(0x1p-127F, 0x1p20F) == 0);         // a factor
  CHECK(product_of(0x1p-70F, 0x1p-60F) == 0);         // a sum
  CHECK(product_of(0x1.0001p-126F, 1) == 0x1p-126F);  // a part of one
  CHECK(product_of(0x1.0001p-100F, 1) == 0x1.0001p-100F);
}

TEST_CASE("the matrix unit leaves what may be beyond float32 to our own product") {
  if (no_matrix_unit()) return;
  const std::size_t m = 300, n = 600, k = 400;
  for (const float strange : {inf, -inf, kernel_cases::nan_of<float>, 3.4028235e38F}) {
    CAPTURE(strange);
    for (const bool in_a : {true, false}) {
      CAPTURE(in_a);
      Product one{m, n, k};
      for (float& x : one.a) x = 0.5F;
      for (float& x : one.b) x = 0x1p-10F;
      const float usual = 0x1p-11F * 400;
      (in_a ? one.a[200 * k + 350] : one.b[350 * n + 550]) = strange;
      const std::vector<float> c = by_matrix_unit(one);
      const float there = (in_a ? 0x1p-10F : 0.5F) * strange;  // the others are lost beside it
      bool right = true;
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const bool here = in_a ? i == 200 : j == 550;
          const float wanted = here ? there : usual;
          const float got = c[i * n + j];
          right = right && (got == wanted || (std::isnan(got) && std::isnan(wanted)));
        }
      }
      CHECK(right);
    }
  }
  CHECK(std::isnan(product_of(inf, 0)));
  CHECK(std::isnan(product_of(std::bit_cast<float>(0xFFFFFFFFU), 1)));
  // The pieces of 1.998 are 2 - 2^-9 + ..: Inf - Inf, were they multiplied.
  CHECK(product_of(1.998F * 0x1p100F, 0x1p100F) == inf);
  CHECK(product_of(0x1p100F, -1.998F * 0x1p100F) == -inf);
  CHECK(product_of(1.998F * 0x1p63F, 0x1p64F) == 1.998F * 0x1p127F);
  CHECK(product_of(3.4028235e38F, 0x1p-100F) == 3.4028235e38F * 0x1p-100F);
  Product large{1, 1, 2};  // of a sum
  large.a = {1.998F * 0x1p62F, 1.998F * 0x1p62F};
  large.b = {0x1p64F, 0x1p64F};
  CHECK(by_matrix_unit(large)[0] == 1.998F * 0x1p127F);
}

TEST_CASE("by the matrix unit an image has the same bits alone and among others") {
  if (no_matrix_unit()) return;
  const kernel_cases::Backend fastest(kernels::GemmBackend::fastest);
  const Product all{520, 384, 128, false, true};
  std::vector<float> together = all.c;
  kernels::gemm(all.into(together));
  for (const std::size_t m : {1, 7, 65}) {
    CAPTURE(m);
    Gemm<float> few = all.into(together);
    std::vector<float> alone(m * 384);
    few.m = m;
    few.c = alone.data();
    kernels::gemm(few);
    CHECK(std::equal(alone.begin(), alone.end(), together.begin()));
  }
}
