// Which of two products runs: by the clock only where the bits cannot tell.
#include "vitruvian/core/kernels/faster.hpp"

#include "kernel_cases.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace vitruvian;
using kernels::FasterProduct;
using kernels::Gemm;

namespace {

std::atomic<int> calls = 0;
std::atomic<bool> at_lines = true;  // whether all matrices began at a cache line's start

void plain(const Gemm<float>& g) {
  ++calls;
  for (const float* const x : {g.a, g.b, static_cast<const float*>(g.c)}) {
    if (reinterpret_cast<std::uintptr_t>(x) % 64 != 0) at_lines = false;
  }
  for (std::size_t i = 0; i < g.m; ++i) {
    for (std::size_t j = 0; j < g.n; ++j) {
      float sum = 0;
      for (std::size_t p = 0; p < g.k; ++p) {
        sum += g.a[g.trans_a ? p * g.lda + i : i * g.lda + p] *
               g.b[g.trans_b ? j * g.ldb + p : p * g.ldb + j];
      }
      float& out = g.c[i * g.ldc + j];
      out = g.alpha * sum + (g.beta == 0 ? 0 : g.beta * out);
    }
  }
}
void slow(const Gemm<float>& g) {
  plain(g);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
// The last element of the result is one unit in the last place off.
void otherwise(const Gemm<float>& g) {
  plain(g);
  float& last = g.c[(g.m - 1) * g.ldc + g.n - 1];
  last = std::nextafter(last, kernel_cases::inf_of<float>);
}
void slow_otherwise(const Gemm<float>& g) {
  otherwise(g);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

const std::vector<float> zeros(4096);
std::vector<float> result(4096);

Gemm<float> product(std::size_t m, std::size_t n, std::size_t k, bool ta = false, bool tb = false) {
  return {m,
          n,
          k,
          zeros.data(),
          (ta ? m : k) + 1,
          ta,
          zeros.data(),
          (tb ? k : n) + 2,
          tb,
          result.data(),
          n + 3};
}

}  // namespace

TEST_CASE("the faster of two products of the same bits, measured where arrays begin") {
  at_lines = true;
  for (int variant = 0; variant < 4; ++variant) {
    const Gemm<float> g = product(5, 7, 9, (variant & 1) != 0, (variant & 2) != 0);
    CHECK((FasterProduct(slow, plain)(g) == plain));
    CHECK((FasterProduct(plain, slow)(g) == plain));
  }
  Gemm<float> added = product(5, 7, 9);
  added.beta = 1;
  CHECK((FasterProduct(slow, plain)(added) == plain));
  CHECK(at_lines);
}

TEST_CASE(
    "the usual product, however slow, where a bit differs: the caller's zeros do not hide it") {
  CHECK((FasterProduct(slow, otherwise)(product(5, 7, 9)) == slow));
  CHECK((FasterProduct(slow_otherwise, plain)(product(1, 1, 1)) == slow_otherwise));
}

TEST_CASE("what no layer asks for is not measured") {
  calls = 0;
  FasterProduct faster(slow, plain);
  Gemm<float> g = product(5, 7, 9);
  g.alpha = 2;
  CHECK((faster(g) == slow));
  g.alpha = 1;
  g.beta = 0.5F;
  CHECK((faster(g) == slow));
  CHECK(calls == 0);
}

TEST_CASE("each size and stride is measured once, whoever asks, and C stays as it is") {
  result.assign(result.size(), 7);
  FasterProduct faster(slow, plain);
  const auto measured = [&](const Gemm<float>& g) {
    calls = 0;
    faster(g);
    return calls > 0;
  };
  Gemm<float> g = product(5, 7, 9);
  CHECK(measured(g));
  CHECK(!measured(g));
  for (const Gemm<float>& other :
       {product(6, 7, 9), product(5, 8, 9), product(5, 7, 8), product(5, 7, 9, true)}) {
    CHECK(measured(other));
  }
  for (std::size_t Gemm<float>::*const stride :
       {&Gemm<float>::lda, &Gemm<float>::ldb, &Gemm<float>::ldc}) {
    g = product(5, 7, 9);
    g.*stride += 4;
    CHECK(measured(g));
  }
  set_threads(4);
  g = product(6, 6, 6);
  calls = 0;
  FasterProduct alone(plain, plain);
  alone(g);
  const int once = calls;
  calls = 0;
  FasterProduct shared(plain, plain);
  std::vector<FasterProduct::Body> chosen(8);
  parallel_for(8, 1, [&](std::size_t begin, std::size_t) { chosen[begin] = shared(g); });
  CHECK(calls == once);
  for (const FasterProduct::Body body : chosen) CHECK((body == plain));
  CHECK(result == std::vector<float>(result.size(), 7));
}
