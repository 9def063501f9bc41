// Products of factors rounded to bfloat16: the instructions, the readable twin, and a plain loop
// that knows none of them, to the last bit.
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
