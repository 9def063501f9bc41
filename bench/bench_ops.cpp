// bench_ops: every fused op beside its readable twin, every kernel (VITRUVIAN_SIMD=sse2 says what
// wider vectors buy), the matrix product of each back end, at the shapes of one micro-batch, and
// what a node costs. It is compiled once a precision, and each registers its own benchmarks before
// `main`. Everything runs on one thread, as a micro-batch does, but the products that say
// otherwise. FLOP are those of matrix products. `--benchmark_filter=float/gelu` picks.

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/train/run/run.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>

namespace bench::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using benchmark::Counter;
using benchmark::State;

const std::string precision = sizeof(real) == 4 ? "float" : "double";

// In the paper's symbols: 8 images of the CIFAR shape, 32 of the MNIST shape.
struct Sizes {
  std::string name;
  std::size_t B, C, H, P, T, D, h, M;
};
const Sizes all_sizes[] = {{"cifar", 8, 3, 32, 4, 65, 128, 4, 512},
                           {"mnist", 32, 1, 28, 7, 17, 64, 4, 256}};

template <class Body>
auto add(const std::string& name, const Body& body) {
  return benchmark::RegisterBenchmark((precision + "/" + name).c_str(), body);
}

void processed(State& state, std::size_t items, std::size_t elements) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements * sizeof(real)));
}

Counter rate_of(double flop) { return {flop, Counter::kIsIterationInvariantRate}; }

// --- fused ops -----------------------------------------------------------------------------------

using Inputs = std::vector<Tensor>;

struct Op {
  std::string name;
  std::vector<Shape> shapes;
  Function f;  // its own twin under `Composed`
};

std::vector<Op> ops(const Sizes& s) {
  const Shape features{s.D};
  const Shape tokens{s.B, s.T, s.D};
  const Shape hidden{s.B, s.T, s.M};
  const Shape scores{s.B, s.h, s.T, s.T};
  const Shape heads{s.B, s.h, s.T, s.D / s.h};
  const std::size_t h = s.h;
  const std::size_t P = s.P;
  std::vector<std::size_t> labels(s.B);
  for (std::size_t i = 0; i < s.B; ++i) labels[i] = i % 10;
  using In = const Inputs&;
  return {
      {"linear",
       {tokens, {3 * s.D, s.D}, {3 * s.D}},
       [](In x) { return linear(x[0], x[1], x[2]); }},
      {"linear_gelu",
       {tokens, {s.M, s.D}, {s.M}},
       [](In x) { return linear_gelu(x[0], x[1], x[2]); }},
      {"softmax", {scores}, [](In x) { return softmax(x[0]); }},
      {"log_softmax", {scores}, [](In x) { return log_softmax(x[0]); }},
      {"layer_norm",
       {tokens, features, features},
       [=](In x) { return layer_norm(x[0], features, x[1], x[2], 1e-6); }},
      {"batch_norm",
       {{s.B * s.T, s.D}, features, features},
       [](In x) { return batch_norm(x[0], x[1], x[2], 1e-5); }},
      {"gelu", {hidden}, [](In x) { return gelu(x[0]); }},
      {"gelu_tanh", {hidden}, [](In x) { return gelu_tanh(x[0]); }},
      {"conv2d",
       {{s.B, s.C, s.H, s.H}, {s.D, s.C, s.P, s.P}, features},
       [=](In x) { return conv2d(x[0], x[1], x[2], P); }},
      {"attention", {heads, heads, heads}, [](In x) { return attention(x[0], x[1], x[2]); }},
      {"multi_head_attention",
       {tokens, tokens, tokens},
       [=](In x) { return multi_head_attention(x[0], x[1], x[2], h); }},
      {"self_attention", {{s.B, s.T, 3 * s.D}}, [=](In x) { return self_attention(x[0], h); }},
      {"cross_entropy", {{s.B, 10}}, [=](In x) { return cross_entropy(x[0], labels); }},
  };
}

// Items are the elements of the value, bytes those of inputs and value.
void run(State& state, const Op& op, bool fused, bool backward) {
  set_threads(1);
  const Composed form(!fused);
  Inputs xs;
  for (const Shape& shape : op.shapes) xs.emplace_back(random_normal(shape, xs.size()), true);
  const Tensor y = op.f(xs);
  const Array g = random_normal(y.shape(), 9);
  const auto body = [&] {
    if (backward) {
      benchmark::DoNotOptimize(grad(y, xs, g, true).data());
    } else {
      benchmark::DoNotOptimize(op.f(xs).value().data());
    }
  };
  double flop = 0;
  {
    const Profile profile;
    body();
    for (const ProfileRow& row : profile.ops()) flop += static_cast<double>(row.flops);
  }
  for ([[maybe_unused]] auto iteration : state) body();
  std::size_t elements = y.size();
  for (const Tensor& x : xs) elements += x.size();
  processed(state, y.size(), elements);
  if (flop > 0) state.counters["FLOP"] = rate_of(flop);
}

// --- kernels -------------------------------------------------------------------------------------

// The hidden layer of the MLP, and what a kernel may want beside it.
struct Buffers {
  std::size_t rows, n, size = rows * n;
  Array x = random_normal({rows, n}, 1), y = random_normal({rows, n}, 2);
  Array g = random_normal({rows, n}, 3), b = random_normal({n}, 4);
  Array positive = full({rows, n}, real{1});
};
using B = Buffers;

struct Kernel {
  const char* name;
  void (*body)(B&);
};
const Kernel all_kernels[] = {
    {"exp", [](B& s) { kernels::table<real>().exp(s.x.data(), s.y.data(), s.size); }},
    {"log", [](B& s) { kernels::table<real>().log(s.positive.data(), s.y.data(), s.size); }},
    {"erf", [](B& s) { kernels::table<real>().erf(s.x.data(), s.y.data(), s.size); }},
    {"tanh", [](B& s) { kernels::tanh(s.x.data(), s.y.data(), s.size); }},
    {"multiply", [](B& s) { kernels::multiply(s.y.data(), s.positive.data(), s.size); }},
    {"add", [](B& s) { kernels::add(s.y.data(), s.x.data(), s.y.data(), s.size); }},
    {"add_bias", [](B& s) { kernels::add_bias(s.y.data(), s.b.data(), s.rows, s.n); }},
    {"dropout", [](B& s) { kernels::dropout(s.x.data(), s.y.data(), 1, s.size, 0.1, 1); }},
    {"bias_gelu",
     [](B& s) {
       std::copy(s.g.begin(), s.g.end(), s.x.begin());  // it works in place
       kernels::bias_gelu(s.x.data(), s.b.data(), s.y.data(), s.rows, s.n);
     }},
    {"sum_rows", [](B& s) { kernels::sum_rows(s.g.data(), s.b.data(), s.rows, s.n); }},
    {"sum_of_squares",
     [](B& s) { benchmark::DoNotOptimize(kernels::sum_of_squares(s.g.data(), s.size)); }},
    {"adamw",
     [](B& s) {
       kernels::adamw(s.x.data(), s.g.data(), s.y.data(), s.positive.data(), s.size,
                      {1e-3, 0.9, 0.999, 1e-8, 0.01, 100});
     }},
};

void run(State& state, const Sizes& sizes, const Kernel& kernel) {
  set_threads(1);
  Buffers buffers{sizes.B * sizes.T, sizes.M};
  for ([[maybe_unused]] auto iteration : state) {
    kernel.body(buffers);
    benchmark::ClobberMemory();
  }
  processed(state, buffers.size, 2 * buffers.size);
}

// --- the matrix product --------------------------------------------------------------------------

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

void run(State& state, const Product& p, kernels::GemmBackend backend, std::size_t workers) {
  const kernels::GemmBackend own = kernels::gemm_backend();
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
  state.counters["FLOP"] = rate_of(2.0 * static_cast<double>(p.batch * p.m * p.n * p.k));
  set_threads(before);
  kernels::set_gemm_backend(own);
}

const bool registered = [] {
  add("node",
      [](State& state) {
        for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(seconds_a_node());
      })
      ->UseManualTime()
      ->Iterations(50);  // each is the best of many
  for (const Sizes& sizes : all_sizes) {
    for (const Op& op : ops(sizes)) {
      for (const bool fused : {true, false}) {
        for (const bool backward : {false, true}) {
          add(fmt::format("{}/{}/{}/{}", op.name, sizes.name, fused ? "fused" : "composed",
                          backward ? "backward" : "forward"),
              [=](State& state) { run(state, op, fused, backward); });
        }
      }
    }
    for (const Kernel& kernel : all_kernels) {
      add(fmt::format("{}/{}", kernel.name, sizes.name),
          [&](State& state) { run(state, sizes, kernel); });
    }
  }
  for (const char* name : {"fastest", "onednn", "packed", "cblas"}) {
    const kernels::GemmBackend backend = kernels::gemm_backend_named(name);
    const bool library = std::string_view(name) == "fastest" || std::string_view(name) == "onednn";
    const bool ours = library && sizeof(real) == 8;
    if (ours || !kernels::gemm_backend_available(backend)) continue;
    for (const Product& p : products) {
      for (const std::size_t workers : {std::size_t{1}, threads()}) {
        if (workers > 1 && p.m <= 1000) continue;
        add(fmt::format("gemm/{}x{}x{}{}{}/{}/threads:{}", p.m, p.n, p.k,
                        p.trans_a ? "/transposed" : "", p.batch == 1 ? "" : "/heads", name,
                        workers),
            [&p, backend, workers](State& state) { run(state, p, backend, workers); })
            ->UseRealTime();
        if (threads() == 1) break;
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace bench::VITRUVIAN_PRECISION
