// Fused ops beside their twins, and what a node costs. FLOP are those of matrix products.
#include "bench/bench_ops.hpp"

#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/profile.hpp"
#include "vitruvian/train/run/run.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace bench::VITRUVIAN_PRECISION {
namespace {

using namespace vitruvian;
using benchmark::Counter;
using benchmark::State;
using Inputs = std::vector<Tensor>;

struct Op {
  std::string name;
  std::vector<Shape> shapes;
  Function fused, twin;
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
  const Tensor mask = dropout(Tensor(full(tokens, real{1})), 0.1, Rng(1));
  using In = const Inputs&;
  return {
      {"linear",
       {tokens, {3 * s.D, s.D}, {3 * s.D}},
       [](In x) { return linear(x[0], x[1], x[2]); },
       [](In x) { return composed::linear(x[0], x[1], x[2]); }},
      {"linear_gelu",
       {tokens, {s.M, s.D}, {s.M}},
       [](In x) { return linear_gelu(x[0], x[1], x[2]); },
       [](In x) { return composed::linear_gelu(x[0], x[1], x[2]); }},
      {"softmax",
       {scores},
       [](In x) { return softmax(x[0]); },
       [](In x) { return composed::softmax(x[0]); }},
      {"log_softmax",
       {scores},
       [](In x) { return log_softmax(x[0]); },
       [](In x) { return composed::log_softmax(x[0]); }},
      {"layer_norm",
       {tokens, features, features},
       [=](In x) { return layer_norm(x[0], features, x[1], x[2], 1e-6); },
       [=](In x) { return composed::layer_norm(x[0], features, x[1], x[2], 1e-6); }},
      {"batch_norm",
       {{s.B * s.T, s.D}, features, features},
       [](In x) { return batch_norm(x[0], x[1], x[2], 1e-5); },
       [](In x) { return composed::batch_norm(x[0], x[1], x[2], 1e-5); }},
      {"gelu",
       {hidden},
       [](In x) { return gelu(x[0]); },
       [](In x) { return composed::gelu(x[0]); }},
      {"gelu_tanh",
       {hidden},
       [](In x) { return gelu_tanh(x[0]); },
       [](In x) { return composed::gelu_tanh(x[0]); }},
      {"dropout",
       {tokens},
       [](In x) { return dropout(x[0], 0.1, Rng(1)); },
       [=](In x) { return x[0] * mask; }},  // of a mask that is there already
      {"conv2d",
       {{s.B, s.C, s.H, s.H}, {s.D, s.C, s.P, s.P}, features},
       [=](In x) { return conv2d(x[0], x[1], x[2], P); },
       [=](In x) { return composed::conv2d(x[0], x[1], x[2], P); }},
      {"attention",
       {heads, heads, heads},
       [](In x) { return attention(x[0], x[1], x[2]); },
       [](In x) { return composed::attention(x[0], x[1], x[2]).output; }},
      {"multi_head_attention",
       {tokens, tokens, tokens},
       [=](In x) { return multi_head_attention(x[0], x[1], x[2], h); },
       [=](In x) { return composed::multi_head_attention(x[0], x[1], x[2], h).output; }},
      {"self_attention",
       {{s.B, s.T, 3 * s.D}},
       [=](In x) { return self_attention(x[0], h); },
       [=](In x) { return composed::self_attention(x[0], h).output; }},
      {"cross_entropy",
       {{s.B, 10}},
       [=](In x) { return cross_entropy(x[0], labels); },
       [=](In x) { return composed::cross_entropy(x[0], labels); }},
  };
}

Inputs inputs(const Op& op) {
  Inputs result;
  for (const Shape& shape : op.shapes) {
    result.emplace_back(random_normal(shape, result.size()), true);
  }
  return result;
}

// Items are the elements of the value, bytes those of inputs and value.
template <class Body>
void run(State& state, const Inputs& xs, const Tensor& y, const Body& body) {
  set_threads(1);
  double flop = 0;
  {
    const Profile profile;
    body();
    for (const ProfileRow& row : profile.ops()) flop += static_cast<double>(row.flops);
  }
  for ([[maybe_unused]] auto iteration : state) body();
  std::size_t elements = y.size();
  for (const Tensor& x : xs) elements += x.size();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(y.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(elements * sizeof(real)));
  if (flop > 0) state.counters["FLOP"] = Counter(flop, Counter::kIsIterationInvariantRate);
}

void add(const Sizes& sizes, const Op& op, bool fused) {
  const std::string name =
      fmt::format("{}/{}/{}/{}", precision, op.name, sizes.name, fused ? "fused" : "composed");
  const Function& f = fused ? op.fused : op.twin;
  benchmark::RegisterBenchmark((name + "/forward").c_str(), [op, f](State& state) {
    const Inputs xs = inputs(op);
    run(state, xs, f(xs), [&] { benchmark::DoNotOptimize(f(xs).value().data()); });
  });
  benchmark::RegisterBenchmark((name + "/backward").c_str(), [op, f](State& state) {
    const Inputs xs = inputs(op);
    const Tensor y = f(xs);
    const Array g = random_normal(y.shape(), 9);
    run(state, xs, y, [&] { benchmark::DoNotOptimize(grad(y, xs, g, true).data()); });
  });
}

const bool registered = [] {
  benchmark::RegisterBenchmark(fmt::format("{}/node", precision).c_str(),
                               [](State& state) {
                                 for ([[maybe_unused]] auto iteration : state)
                                   state.SetIterationTime(seconds_a_node());
                               })
      ->UseManualTime()
      ->Iterations(50);  // each is the best of many
  for (const Sizes& sizes : all_sizes) {
    for (const Op& op : ops(sizes)) {
      add(sizes, op, true);
      add(sizes, op, false);
    }
  }
  return true;
}();

}  // namespace
}  // namespace bench::VITRUVIAN_PRECISION
