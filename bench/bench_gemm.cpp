// The matrix product of each back end.
#include "bench/bench_ops.hpp"

#include "vitruvian/core/gradcheck.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/parallel.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace bench::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using benchmark::Counter;
using benchmark::State;
using kernels::GemmBackend;

struct Product {
  std::size_t m, n, k;
  bool trans_a = false, trans_b = false;
  std::size_t batch = 1;
};

constexpr Product products[] = {
    {2048, 2048, 2048},                 // what a machine can do
    {4160, 384, 128},                   // 64 CIFAR images: qkv
    {4160, 128, 512},                   // and fc2
    {520, 384, 128},                    // a micro-batch of them: qkv
    {520, 512, 128},                    // fc1
    {520, 128, 512},                    // fc2
    {384, 128, 520, true},              // the gradient of qkv's weight
    {544, 192, 64},                     // an MNIST micro-batch: qkv
    {65, 65, 32, false, true, 8 * 4},   // the scores of every head
    {65, 32, 65, false, false, 8 * 4},  // and what they weigh
};

struct Choice {
  GemmBackend backend;
  const char* name;
};
constexpr Choice choices[] = {{GemmBackend::onednn, "onednn"},
                              {GemmBackend::packed, "packed"},
                              {GemmBackend::cblas, "cblas"}};

void run(State& state, const Product& p, GemmBackend backend, std::size_t workers) {
  const GemmBackend own = kernels::gemm_backend();
  const std::size_t before = threads();
  kernels::set_gemm_backend(backend);
  set_threads(workers);
  const Array a = random_normal({p.batch, p.m, p.k}, 1);
  const Array b = random_normal({p.batch, p.k, p.n}, 2);
  Array c = empty({p.batch, p.m, p.n});
  const kernels::Gemm<real> g{.m = p.m,
                              .n = p.n,
                              .k = p.k,
                              .a = a.data(),
                              .lda = p.trans_a ? p.m : p.k,
                              .trans_a = p.trans_a,
                              .b = b.data(),
                              .ldb = p.trans_b ? p.k : p.n,
                              .trans_b = p.trans_b,
                              .c = c.data(),
                              .ldc = p.n};
  for ([[maybe_unused]] auto iteration : state) {
    kernels::gemm_batch(g, p.batch, p.m * p.k, p.k * p.n, p.m * p.n);
  }
  const double flop = 2.0 * static_cast<double>(p.batch * p.m * p.n * p.k);
  state.counters["FLOP"] = Counter(flop, Counter::kIsIterationInvariantRate);
  set_threads(before);
  kernels::set_gemm_backend(own);
}

void add(const Product& p, const Choice& choice, std::size_t workers) {
  const std::string name = fmt::format("{}/gemm/{}x{}x{}{}{}/{}/threads:{}", precision, p.m, p.n,
                                       p.k, p.trans_a ? "/transposed" : "",
                                       p.batch == 1 ? "" : "/heads", choice.name, workers);
  benchmark::RegisterBenchmark(name.c_str(), [&p, &choice, workers](State& state) {
    run(state, p, choice.backend, workers);
  })->UseRealTime();
}

const bool registered = [] {
  for (const Choice& choice : choices) {
    const bool ours = choice.backend == GemmBackend::onednn && sizeof(real) == 8;
    if (ours || !kernels::gemm_backend_available(choice.backend)) continue;
    for (const Product& p : products) {
      add(p, choice, 1);
      if (threads() > 1 && p.m > 1000) add(p, choice, threads());
    }
  }
  return true;
}();

}  // namespace
}  // namespace bench::VITRUVIAN_PRECISION
