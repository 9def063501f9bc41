// Kernels beside plain loops, and the matrix product of each back end.
#include "bench/bench_ops.hpp"

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/kernels/kernels.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace bench::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using benchmark::Counter;
using benchmark::State;
using kernels::GemmBackend;

// The hidden layer of the MLP, and what a kernel may want beside it.
struct Buffers {
  std::size_t rows, n;
  Array x, y, g;
  Array b;     // (n)
  Array ones;  // positive

  explicit Buffers(const Sizes& s)
      : rows(s.B * s.T),
        n(s.M),
        x(random_normal({rows, n}, 1)),
        y(random_normal({rows, n}, 2)),
        g(random_normal({rows, n}, 3)),
        b(random_normal({n}, 4)),
        ones(full({rows, n}, real{1})) {}
  [[nodiscard]] std::size_t size() const { return rows * n; }
};

using Body = void (*)(Buffers&);

// y = f(x)
template <class F>
void map(const Array& x, Array& y, const F& f) {
  std::transform(x.begin(), x.end(), y.begin(), f);
}

// y = f(y, x)
template <class F>
void zip(Array& y, const Array& x, const F& f) {
  std::transform(y.begin(), y.end(), x.begin(), y.begin(), f);
}

// f(element, column) everywhere
template <class F>
void over_rows(Buffers& s, const F& f) {
  for (std::size_t r = 0; r < s.rows; ++r) {
    for (std::size_t j = 0; j < s.n; ++j) f(r * s.n + j, j);
  }
}

void plain_bias_gelu(Buffers& s) {
  over_rows(s, [&](std::size_t i, std::size_t j) {
    const real u = s.g.data()[i] + s.b.data()[j];
    const real Phi = (1 + std::erf(u * real(0.7071067811865476))) / 2;
    s.x.data()[i] = u * Phi;
    s.y.data()[i] = Phi + u * std::exp(-u * u / 2) * real(0.3989422804014327);
  });
}

void plain_adamw(Buffers& s) {
  const auto lr = real(1e-3), beta1 = real(0.9), beta2 = real(0.999), eps = real(1e-8);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const real g = s.g.data()[i];
    real& m = s.y.data()[i];
    real& v = s.ones.data()[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    s.x.data()[i] -= lr * real(0.01) * s.x.data()[i] + lr * m / (std::sqrt(v) + eps);
  }
}

struct Kernel {
  const char* name;
  Body ours, loop;
};

using B = Buffers;

const Kernel all_kernels[] = {
    {"exp", [](B& s) { kernels::table<real>().exp(s.x.data(), s.y.data(), s.size()); },
     [](B& s) { map(s.x, s.y, [](real x) { return std::exp(x); }); }},
    {"log", [](B& s) { kernels::table<real>().log(s.ones.data(), s.y.data(), s.size()); },
     [](B& s) { map(s.ones, s.y, [](real x) { return std::log(x); }); }},
    {"erf", [](B& s) { kernels::table<real>().erf(s.x.data(), s.y.data(), s.size()); },
     [](B& s) { map(s.x, s.y, [](real x) { return std::erf(x); }); }},
    {"tanh", [](B& s) { kernels::tanh(s.x.data(), s.y.data(), s.size()); },
     [](B& s) { map(s.x, s.y, [](real x) { return std::tanh(x); }); }},
    {"multiply", [](B& s) { kernels::multiply(s.y.data(), s.ones.data(), s.size()); },
     [](B& s) { zip(s.y, s.ones, std::multiplies<>()); }},
    {"add", [](B& s) { kernels::add(s.y.data(), s.x.data(), s.y.data(), s.size()); },
     [](B& s) { zip(s.y, s.x, std::plus<>()); }},
    {"add_bias", [](B& s) { kernels::add_bias(s.y.data(), s.b.data(), s.rows, s.n); },
     [](B& s) {
       over_rows(s, [&](std::size_t i, std::size_t j) { s.y.data()[i] += s.b.data()[j]; });
     }},
    {"bias_gelu",
     [](B& s) {
       std::copy(s.g.begin(), s.g.end(), s.x.begin());  // it works in place
       kernels::bias_gelu(s.x.data(), s.b.data(), s.y.data(), s.rows, s.n);
     },
     plain_bias_gelu},
    {"sum_rows", [](B& s) { kernels::sum_rows(s.g.data(), s.b.data(), s.rows, s.n); },
     [](B& s) {
       std::fill(s.b.begin(), s.b.end(), real{0});
       over_rows(s, [&](std::size_t i, std::size_t j) { s.b.data()[j] += s.g.data()[i]; });
     }},
    {"sum_of_squares",
     [](B& s) { benchmark::DoNotOptimize(kernels::sum_of_squares(s.g.data(), s.size())); },
     [](B& s) {
       benchmark::DoNotOptimize(std::inner_product(s.g.begin(), s.g.end(), s.g.begin(), 0.0));
     }},
    {"adamw",
     [](B& s) {
       kernels::adamw(s.x.data(), s.g.data(), s.y.data(), s.ones.data(), s.size(),
                      {1e-3, 0.9, 0.999, 1e-8, 0.01, 100});
     },
     plain_adamw},
};

void add(const Sizes& sizes, const char* kernel, const char* which, Body body) {
  const std::string name = fmt::format("{}/{}/{}/{}", precision, kernel, sizes.name, which);
  benchmark::RegisterBenchmark(name.c_str(), [&sizes, body](State& state) {
    set_threads(1);
    Buffers buffers(sizes);
    for ([[maybe_unused]] auto iteration : state) {
      body(buffers);
      benchmark::ClobberMemory();
    }
    const auto items = state.iterations() * static_cast<std::int64_t>(buffers.size());
    state.SetItemsProcessed(items);
    state.SetBytesProcessed(items * static_cast<std::int64_t>(2 * sizeof(real)));
  });
}

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
  for (const Sizes& sizes : all_sizes) {
    for (const Kernel& kernel : all_kernels) {
      add(sizes, kernel.name, "kernel", kernel.ours);
      add(sizes, kernel.name, "loop", kernel.loop);
    }
  }
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
