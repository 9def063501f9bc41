// Products of factors rounded to bfloat16: the instructions, the readable twin, and a plain loop
// that knows none of them, to the last bit. And of float32s, each the sum of three bfloat16s.
#include "kernel_cases.hpp"
#include "vitruvian/core/kernels/table.hpp"

#include <bit>

using namespace vitruvian;
using kernels::Bfloat16Body;
using kernels::Gemm;
using kernels::GemmPrecision;
using Product = kernel_cases::Product<float>;

namespace {

constexpr float inf = kernel_cases::inf_of<float>;

// The nearest number of 8 significant bits, by arithmetic; of normal, finite numbers.
float nearest(float x) {
  if (x == 0) return x;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(x), &exponent);  // in [0.5, 1)
  return static_cast<float>(std::ldexp(std::nearbyint(fraction * 256), exponent - 8));
}

// The definition. By default sums in float32, in the order of k, begun anew every 384 steps, or
// half-way where that is nearer than 384; by the matrix unit 32 steps at a time, even and odd
// ones apart, begun anew every 640.
std::vector<float> expected_of(const Product& one, Bfloat16Body body) {
  const std::size_t k = one.k;
  const std::size_t block = body == Bfloat16Body::amx ? 640
                            : k > 384 && k < 2 * 384  ? (k + 1) / 2
                                                      : 384;
  std::vector<float> result = one.c;
  for (std::size_t i = 0; i < one.m; ++i) {
    for (std::size_t j = 0; j < one.n; ++j) {
      const auto add = [&](std::size_t p, float& sum) {
        sum = std::fma(nearest(one.a_at(i, p)), nearest(one.b_at(p, j)), sum);
      };
      float& out = result[i * one.ldc + j];
      for (std::size_t first = 0; first < k; first += block) {
        const std::size_t last = std::min(k, first + block);
        float sum = 0;
        if (body == Bfloat16Body::amx) {
          for (std::size_t tile = first; tile < last; tile += 32) {
            float even = 0, odd = 0;
            for (std::size_t p = tile; p < std::min(last, tile + 32); ++p) {
              add(p, p % 2 == 0 ? even : odd);
            }
            sum += even + odd;
          }
        } else {
          for (std::size_t p = first; p < last; ++p) add(p, sum);
        }
        const float old = first > 0 ? out : one.beta == 0 ? 0 : one.beta * out;
        out = one.alpha * sum + old;
      }
    }
  }
  return result;
}

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

void check(const Product& one) {
  INFO("one.m ", one.m, ", one.n ", one.n, ", one.k ", one.k, ", one.trans_a ", one.trans_a,
       ", one.trans_b ", one.trans_b);
  std::vector<float> expected;
  for (const Bfloat16Body body : {Bfloat16Body::twin, Bfloat16Body::avx512, Bfloat16Body::amx}) {
    if (!kernels::bfloat16_available(body)) continue;
    CAPTURE(static_cast<int>(body));
    // The twin and AVX-512 have one definition.
    if (body != Bfloat16Body::avx512) expected = expected_of(one, body);
    kernel_cases::for_each_isa([&] {
      std::vector<float> c = one.c;
      kernels::bfloat16_product(one.into(c), body);
      CHECK(c == expected);  // to the bit, but for the sign of a zero
    });
  }
}

float product_of(float x, float y) {
  float c = 0;
  kernels::bfloat16_product(
      {.m = 1, .n = 1, .k = 1, .a = &x, .lda = 1, .b = &y, .ldb = 1, .c = &c, .ldc = 1});
  return c;
}

}  // namespace

TEST_CASE("bfloat16: every size and transpose, by every instruction and by the twin, to the bit") {
  for (const std::size_t m : {1, 2, 3, 7, 13, 14, 17, 33, 65}) {
    for (const std::size_t n : {1, 2, 3, 7, 15, 16, 17, 32, 33, 65}) {
      for (const std::size_t k : {1, 2, 3, 16, 31, 32, 33, 65}) {
        for (int variant = 0; variant < 4; ++variant) {
          check(Product::of_variant(m, n, k, variant, variant == 0 ? 0 : 5));
        }
      }
    }
  }
}

TEST_CASE("bfloat16: sizes beyond a block, and all transposes") {
  for (int variant = 0; variant < 4; ++variant) {
    for (const auto& [m, n, k] : {std::array<std::size_t, 3>{450, 40, 30},
                                  {40, 50, 700},
                                  {30, 1100, 40},
                                  {215, 90, 257},
                                  {1, 700, 300},
                                  {20, 35, 1300},
                                  {30, 33, 384},
                                  {14, 40, 385},
                                  {40, 17, 767},
                                  {13, 65, 768},
                                  {27, 32, 769},
                                  {300, 1, 513}}) {
      check(Product::of_variant(m, n, k, variant, 3));
    }
  }
}

TEST_CASE("bfloat16: to the nearest, ties to even; infinities, NaN, zeros and subnormals") {
  const auto bits = [](std::uint32_t x) { return std::bit_cast<float>(x); };
  kernel_cases::for_each_isa([&] {
    for (const auto& row : std::vector<std::array<float, 2>>{
             {1, 1},
             {1 + 0x1p-8F, 1},                       // a tie, to the even one below
             {1 + 0x1p-8F + 0x1p-23F, 1 + 0x1p-7F},  // just above it
             {1 + 0x3p-8F, 1 + 0x1p-6F},             // a tie, to the even one above
             {-(1 + 0x3p-8F), -(1 + 0x1p-6F)},
             {1.9999999F, 2},                 // the carry reaches the exponent
             {3.3895314e38F, 3.3895314e38F},  // the largest bfloat16
             {3.4028235e38F, inf},            // the largest float
             {-3.4028235e38F, -inf},
             {0x1p-126F, 0x1p-126F},
             {bits(0x007FFFFF), 0},  // the largest subnormal
             {bits(0x807FFFFF), -0.0F},
             {bits(1), 0},
             {inf, inf},
             {-inf, -inf}}) {
      const float x = row[0], rounded = row[1];
      CAPTURE(x);
      CHECK(std::bit_cast<std::uint32_t>(kernels::round_to_bfloat16(x)) ==
            std::bit_cast<std::uint32_t>(rounded));
      std::vector<float> many(37, x);  // whole vectors, and some that are left over
      kernels::table<float>().round_to_bfloat16(many.data(), many.data(), many.size());
      CHECK(std::all_of(many.begin(), many.end(), [&](float z) {
        return std::bit_cast<std::uint32_t>(z) == std::bit_cast<std::uint32_t>(rounded);
      }));
      CHECK(product_of(x, 1) == rounded);
      CHECK(product_of(1, x) == rounded);
    }
    for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU, 0xFF80FFFFU}) {
      CHECK(std::isnan(kernels::round_to_bfloat16(bits(nan))));
      CHECK(std::isnan(product_of(bits(nan), 1)));
    }
    CHECK(product_of(0x1p100F, 0x1p100F) == inf);  // a product beyond float32
    CHECK(std::isnan(product_of(0, inf)));
  });
}

TEST_CASE("bfloat16: gemm rounds floats where it is asked to, and doubles never") {
  const float x = 1.001F;
  const double y = 1.001;
  float c = 0;
  double d = 0;
  const Gemm<float> single{
      .m = 1, .n = 1, .k = 1, .a = &x, .lda = 1, .b = &x, .ldb = 1, .c = &c, .ldc = 1};
  const Gemm<double> wide{
      .m = 1, .n = 1, .k = 1, .a = &y, .lda = 1, .b = &y, .ldb = 1, .c = &d, .ldc = 1};
  {
    const kernels::GemmPrecisionScope scope(GemmPrecision::bfloat16);
    kernels::gemm(single);
    kernels::gemm(wide);
    CHECK(kernels::gemm_description().find("bfloat16") == 0);
  }
  CHECK(c == 1);
  CHECK(d == y * y);
  kernels::gemm(single);
  CHECK(c == x * x);
  CHECK(kernels::gemm_precision() == GemmPrecision::float32);
}

TEST_CASE("bfloat16: the same bits for any number of threads") {
  const kernels::GemmPrecisionScope scope(GemmPrecision::bfloat16);
  for (int variant = 0; variant < 4; ++variant) {
    for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1040, 96, 32}, {96, 128, 2080}}) {
      const Product one = Product::of_variant(m, n, k, variant, 0);
      std::vector<float> expected;
      for (const std::size_t count : {1, 2, 3, 8}) {
        set_threads(count);
        std::vector<float> c = one.c;
        kernels::gemm(one.into(c));
        if (count == 1) expected = c;
        CHECK(kernel_cases::same_bits(c, expected));
      }
    }
  }
}

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
  const auto square = [](float x) {
    Product one{1, 1, 1};
    one.a = one.b = {x};
    return by_matrix_unit(one)[0];
  };
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
  const auto product = [](float x, float y) {
    Product one{1, 1, 1};
    one.a = {x};
    one.b = {y};
    return by_matrix_unit(one)[0];
  };
  CHECK(product(0x1p-126F, 1) == 0x1p-126F);
  CHECK(product(0x1p-127F, 0x1p20F) == 0);         // a factor
  CHECK(product(0x1p-70F, 0x1p-60F) == 0);         // a sum
  CHECK(product(0x1.0001p-126F, 1) == 0x1p-126F);  // a part of one
  CHECK(product(0x1.0001p-100F, 1) == 0x1.0001p-100F);
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
  const auto product = [](float x, float y) {
    Product one{1, 1, 1};
    one.a = {x};
    one.b = {y};
    return by_matrix_unit(one)[0];
  };
  CHECK(std::isnan(product(inf, 0)));
  CHECK(std::isnan(product(std::bit_cast<float>(0xFFFFFFFFU), 1)));
  // The pieces of 1.998 are 2 - 2^-9 + ..: Inf - Inf, were they multiplied.
  CHECK(product(1.998F * 0x1p100F, 0x1p100F) == inf);
  CHECK(product(0x1p100F, -1.998F * 0x1p100F) == -inf);
  CHECK(product(1.998F * 0x1p63F, 0x1p64F) == 1.998F * 0x1p127F);
  CHECK(product(3.4028235e38F, 0x1p-100F) == 3.4028235e38F * 0x1p-100F);
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
