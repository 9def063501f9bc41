// bench_train: how fast a ViT trains or infers here, in images a second, beside what the matrix
// product alone can do on this machine in the same minute.

#include "apps/command_line.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/memory.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/kept_weights.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#if VITRUVIAN_HAS_MPI
#include "vitruvian/mpi/mpi_ranks.hpp"
#endif
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace vitruvian;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string shape = "all";
  std::size_t batch = 0;  // 0: the shape's own
  std::size_t micro_batch = 0;
  double seconds = 5;
  std::size_t threads = 0;
  bool inference = false;
  bool composed = false;
  bool bfloat16 = false;
  std::size_t lanes = 8;  // as many as ranks, at least
  bool sums = false;
  std::size_t depth = 0, width = 0, image_size = 0;  // 0: the shape's own
};

struct Workload {
  std::string name;
  ViTConfig config;
  std::size_t batch, inference_batch;
};

std::vector<Workload> shapes() {
  const ViTConfig mnist{.C = 1, .H = 28, .W = 28, .P = 7, .D = 64, .L = 4, .h = 4, .M = 256};
  const ViTConfig cifar{.C = 3, .H = 32, .W = 32, .P = 4, .D = 128, .L = 6, .h = 4, .M = 512};
  const ViTConfig big{.C = 3, .H = 32, .W = 32, .P = 4, .D = 256, .L = 8, .h = 8, .M = 1024};
  const ViTConfig vit_b{
      .C = 3, .H = 224, .W = 224, .P = 16, .D = 768, .L = 12, .h = 12, .M = 3072, .K = 1000};
  return {{"mnist", mnist, 128, 256},
          {"cifar", cifar, 64, 256},
          {"cifar-big", big, 64, 256},
          {"vit-b", vit_b, 8, 1}};
}

double seconds_of(const auto& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The number behind `key` in /proc/self/status, in bytes; 0 where there is no such file.
double memory(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kilobytes = 0;
    if (word == key && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// What is resident once the allocators gave back to the system what earlier work left with them;
// and the peak counts anew.
double start_of_memory() {
  memory::trim();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
  return memory("VmRSS:");
}

// The best of a few 2048^3 products: what a step made of nothing but products would reach.
double product_flops() {
  constexpr std::size_t n = 2048;
  constexpr std::size_t apart = n + 16;  // rows a power of two apart share few lines of the cache
  const Array a = full({n, apart}, real{1});
  const Array b = full({n, apart}, real{1});
  Array c = empty({n, apart});
  kernels::Gemm<real> g{.m = n,
                        .n = n,
                        .k = n,
                        .a = a.data(),
                        .lda = apart,
                        .b = b.data(),
                        .ldb = apart,
                        .c = c.data(),
                        .ldc = apart};
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    best = std::max(best, 2.0 * n * n * n / seconds_of([&] { kernels::gemm(g); }));
  }
  return best;
}

MicroBatch random_images(const ViTConfig& c, std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> labels(n);
  for (std::size_t i = 0; i < n; ++i) labels[i] = i % c.K;
  return {random_normal({n, c.C, c.H, c.W}, seed), std::move(labels), Rng(seed)};
}

// Steps until the time is over, by rank 0's clock; the median of their seconds, after three that do
// not count.
double seconds_of_a_step(double budget, Ranks& ranks, const auto& step) {
  for (int i = 0; i < 3; ++i) step();
  std::vector<double> times;
  double total = 0;
  do {
    times.push_back(seconds_of(step));
    total += times.back();
  } while (all_of(ranks, total < budget || times.size() < 3 ? 1 : 0)[0] != 0);
  return median(times);
}

#if VITRUVIAN_HAS_MPI
// The sum over ranks in the order of lanes, and MPI's own, in turns.
void compare_sums(Ranks& ranks) {
  for (const std::size_t n : {30'000UL, 800'000UL, 1'200'000UL, 10'000'000UL, 86'000'000UL}) {
    std::vector<double> ours, theirs;
    std::vector<float> numbers(n, 1);
    const Tensor like(zeros({n}), true);
    const int rounds = n > 5'000'000 ? 9 : 101;
    for (int i = 0; i < rounds; ++i) {
      Array own = full({n}, 1);
      all_of(ranks, 0);  // all begin at once
      ours.push_back(seconds_of([&] {
        LaneSum sum(ranks.size(), {ranks.size(), &ranks});
        sum.expect({like});
        sum.add(0, std::move(own));
        sum.finish();
      }));
      all_of(ranks, 0);
      theirs.push_back(seconds_of([&] { sum_by_mpi(numbers); }));
    }
    if (ranks.rank() != 0) continue;
    fmt::print("{} ranks, {} numbers: in the lanes' order {:.3f} ms, MPI_Allreduce {:.3f} ms\n",
               ranks.size(), n, 1e3 * median(ours), 1e3 * median(theirs));
    std::fflush(stdout);
  }
}
#endif

// Logits of every part, each by one thread.
void infer(const VisionTransformer& model, const std::vector<MicroBatch>& parts) {
  const NoGrad no_grad;
  parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) model(parts[i].images);
  });
}

void run(const Workload& shape, const Options& options, Ranks& ranks) {
  const ViTConfig& config = shape.config;
  config.validate();
  const std::size_t own = options.inference ? shape.inference_batch : shape.batch;
  const std::size_t batch = options.batch == 0 ? own : options.batch;
  const VisionTransformer model(config, Rng(1));
  std::vector<MicroBatch> parts;
  const std::size_t count = options.micro_batch == 0
                                ? micro_batches_of(config.T(), batch)
                                : (batch + options.micro_batch - 1) / options.micro_batch;
  const Sharing sharing{std::max(options.lanes, ranks.size()), &ranks};
  for (std::size_t i = 0; i < count; ++i) {
    parts.push_back(random_images(config, batch / count + (i < batch % count ? 1 : 0), i));
  }
  AdamW optimizer(named_parameters(model), {});
  const double product = product_flops();
  const double before = start_of_memory();
  double waited = ranks.waited();
  std::size_t steps = 0;
  const KeptWeights kept(options.inference);
  const double seconds = seconds_of_a_step(options.seconds, ranks, [&] {
    if (++steps == 4) waited = ranks.waited();
    const Composed composed(options.composed);
    if (options.inference) {
      infer(model, parts);
    } else {
      compute_gradients(model, parts, 0, sharing);
      clip_grad_norm(optimizer.parameters(), 1);
      optimizer.step(1e-3);
    }
  });
  const std::vector<double> peaks = all_of(ranks, memory("VmHWM:") - before);
  const double peak = *std::max_element(peaks.begin(), peaks.end());
  if (ranks.rank() != 0) return;
  const std::string shared =
      ranks.size() == 1
          ? ""
          : fmt::format(", {} ranks of {} lanes, {:.1f} % waiting", ranks.size(), sharing.lanes,
                        100 * (ranks.waited() - waited) /
                            (seconds * static_cast<double>(std::max<std::size_t>(steps, 4) - 3)));
  const double images = static_cast<double>(batch) / seconds;
  const double flops =
      images * static_cast<double>(config.macs()) * (options.inference ? 2.0 : 6.0);
  fmt::print(
      "{} {}{} batch {} threads {}: {:.1f} img/s, {:.1f} GFLOP/s, {:.2f} of the product's {:.1f} "
      "GFLOP/s, peak memory {:.1f} MB{}\n",
      shape.name, options.inference ? "infer" : "train", options.bfloat16 ? " bfloat16" : "", batch,
      threads(), images, flops / 1e9, flops / product, product / 1e9, peak / 1e6, shared);
  std::fflush(stdout);
}

void run(const Options& options, Ranks& ranks) {
#if VITRUVIAN_HAS_MPI
  if (options.sums && ranks.size() == 1) {
    fail(Exit::usage, "--sums compares the sums of several ranks: mpirun -n 2 bench_train --sums");
  }
  if (options.sums) return compare_sums(ranks);
#endif
  if (options.threads != 0) set_threads(options.threads);
  if (options.bfloat16) kernels::set_gemm_precision(kernels::GemmPrecision::bfloat16);
  std::vector<std::string> names = names_in(shapes());
  names.emplace_back("all");
  index_of(options.shape, names, "shape");  // or it throws
  for (Workload shape : shapes()) {
    if (options.shape == "all" ? shape.name == "vit-b" : options.shape != shape.name) continue;
    ViTConfig& c = shape.config;
    if (options.depth != 0) c.L = options.depth;
    if (options.width != 0) c.D = options.width, c.M = 4 * c.D, c.h = c.D / 32;
    if (options.image_size != 0) c.H = c.W = options.image_size;
    run(shape, options, ranks);
  }
}

int run(int argc, char** argv) {
  Options options;
  const Parser app("Measures training steps (forward, backward, clipping, AdamW) of a ViT.",
                   "bench_train");
  app.add_value("--shape", "NAME", options.shape,
                "mnist, cifar, cifar-big, vit-b, or all but the last");
  app.add_count("--batch", options.batch, "Images of a step");
  app.add_count("--micro-batch", options.micro_batch, "Images that a thread carries at once");
  app.add_value("--seconds", "X", options.seconds, "Of measuring, a shape");
  app.add_count("--threads", options.threads, "0 means one for each processor");
  app.add_flag("--inference", options.inference, "Forward passes only");
  app.add_flag("--composed", options.composed, "By the readable twins of the fused ops");
  app.add_flag("--bfloat16", options.bfloat16, "Factors of products rounded, as --precision says");
  app.add_count("--depth", options.depth, "Blocks L instead of the shape's");
  app.add_count("--width", options.width, "Width D instead of the shape's; M = 4 D, h = D / 32");
  app.add_count("--image-size", options.image_size, "Image side instead of the shape's");
  app.add_count("--lanes", options.lanes, "Of the sum; as many as mpirun started ranks, at least");
#if VITRUVIAN_HAS_MPI
  app.add_flag("--sums", options.sums, "Under mpirun: the sum over lanes against MPI_Allreduce");
#endif
  run_command_line(app, argc, argv, [&] {
#if VITRUVIAN_HAS_MPI
    with_mpi_ranks(
        "bench_train", [] {}, [&](Ranks& ranks) { run(options, ranks); });
#else
    run(options, one_rank());
#endif
  });
  return static_cast<int>(Exit::ok);
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("bench_train", [&] { return run(argc, argv); });
}
