// Kernels beside plain loops.
#include "bench/bench_ops.hpp"

#include "vitruvian/core/gradcheck.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/parallel.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bench::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using benchmark::State;

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
void map(Buffers& s, const F& f) {
  for (std::size_t i = 0; i < s.size(); ++i) s.y.data()[i] = f(s.x.data()[i]);
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
    {"exp", [](B& s) { kernels::exp(s.x.data(), s.y.data(), s.size()); },
     [](B& s) { map(s, [](real x) { return std::exp(x); }); }},
    {"log", [](B& s) { kernels::log(s.ones.data(), s.y.data(), s.size()); },
     [](B& s) {
       over_rows(s,
                 [&](std::size_t i, std::size_t) { s.y.data()[i] = std::log(s.ones.data()[i]); });
     }},
    {"erf", [](B& s) { kernels::erf(s.x.data(), s.y.data(), s.size()); },
     [](B& s) { map(s, [](real x) { return std::erf(x); }); }},
    {"tanh", [](B& s) { kernels::tanh(s.x.data(), s.y.data(), s.size()); },
     [](B& s) { map(s, [](real x) { return std::tanh(x); }); }},
    {"multiply", [](B& s) { kernels::multiply(s.y.data(), s.ones.data(), s.size()); },
     [](B& s) {
       over_rows(s, [&](std::size_t i, std::size_t) { s.y.data()[i] *= s.ones.data()[i]; });
     }},
    {"accumulate", [](B& s) { kernels::accumulate(s.y.data(), s.x.data(), s.size()); },
     [](B& s) {
       over_rows(s, [&](std::size_t i, std::size_t) { s.y.data()[i] += s.x.data()[i]; });
     }},
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

const bool registered = [] {
  for (const Sizes& sizes : all_sizes) {
    for (const Kernel& kernel : all_kernels) {
      add(sizes, kernel.name, "kernel", kernel.ours);
      add(sizes, kernel.name, "loop", kernel.loop);
    }
  }
  return true;
}();

}  // namespace
}  // namespace bench::VITRUVIAN_PRECISION
