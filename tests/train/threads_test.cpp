// What multiplies and what comes from outside, while threads work.
//
// A training step on n threads computes on n threads, whatever library multiplies: oneDNN brings
// OpenMP, and OpenBLAS its own pool, and either would fight ours. Threads that exist and sleep do
// no harm, so it is the time on a processor that is counted, thread by thread, as Linux tells it.
//
// A signal in the middle of a product must not touch its matrices: see core/base/parallel.cpp.

#include "tests/expect.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/train/run/stop.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

using namespace vitruvian;

namespace {

// Nanoseconds that each thread of this process has run; empty where the system does not tell.
std::map<std::string, double> time_of_threads() {
  std::map<std::string, double> result;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) result[task.path().filename()] = nanoseconds;
  }
  return result;
}

struct Usage {
  std::size_t threads = 0;  // that ran a twentieth of the time of the busiest
  double processors = 0;    // time of all threads over time on the wall
};

// Of some training steps at the CIFAR shape's width; the first ones start what is to be started.
Usage usage(std::size_t n) {
  const ViTConfig c{.C = 3, .H = 32, .W = 32, .P = 4, .D = 128, .L = 2, .h = 4, .M = 512};
  const VisionTransformer model(c, Rng(1));
  std::vector<MicroBatch> parts;
  for (std::size_t i = 0; i < 4; ++i) {
    parts.push_back({random_normal({4, 3, 32, 32}, i), std::vector<std::size_t>(4, 1), Rng(i)});
  }
  // Micro-batches side by side, and a single one, whose products are shared out block by block.
  const std::vector<MicroBatch> one{
      {random_normal({8, 3, 32, 32}, 9), std::vector<std::size_t>(8, 1), Rng(9)}};
  set_threads(n);
  const auto steps = [&] {
    compute_gradients(model, parts, 0);
    compute_gradients(model, one, 0);
  };
  // What libraries start when they are first called spins for some hundredths of a second.
  using Clock = std::chrono::steady_clock;
  for (const auto started = Clock::now();
       Clock::now() - started < std::chrono::milliseconds(200);) {
    steps();
  }
  auto before = time_of_threads();
  const auto begin = Clock::now();
  // Time of processors, not of the clock: a busy machine makes the test longer, not wrong.
  const std::clock_t used = std::clock();
  while (std::clock() - used < CLOCKS_PER_SEC / 10) steps();
  const double wall = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();

  std::vector<double> spent;  // 0 before for a thread that is new
  for (const auto& [thread, time] : time_of_threads()) spent.push_back(time - before[thread]);
  const double most = *std::max_element(spent.begin(), spent.end());
  const double sum = std::accumulate(spent.begin(), spent.end(), 0.0);
  const auto busy =
      std::count_if(spent.begin(), spent.end(), [&](double time) { return time > most / 20; });
  return {static_cast<std::size_t>(busy), sum / wall};
}

volatile std::sig_atomic_t signals = 0;
extern "C" void count_signal(int) { signals = signals + 1; }

}  // namespace

TEST_CASE("a training step keeps as many threads busy as it was given, whoever multiplies") {
  if (time_of_threads().empty()) {
    MESSAGE("this system does not tell what its threads do");
    return;
  }
  using kernels::GemmBackend;
  const GemmBackend own = kernels::gemm_backend();
  for (const GemmBackend backend :
       {GemmBackend::onednn, GemmBackend::cblas, GemmBackend::packed, GemmBackend::fastest}) {
    if (!kernels::gemm_backend_available(backend)) continue;
    kernels::set_gemm_backend(backend);
    CAPTURE(kernels::gemm_description());
    for (const std::size_t n : {1, 2, 3}) {
      const Usage found = usage(n);
      if (threads() != n) break;  // a build without threads
      CAPTURE(n);
      MESSAGE(kernels::gemm_description() << ": " << n << " asked for, " << found.threads
                                          << " busy, " << found.processors << " processors");
      CHECK(found.threads == n);
      CHECK(found.processors <= 1.05 * static_cast<double>(n));
    }
  }
  kernels::set_gemm_backend(own);
}

TEST_CASE("signals do not disturb products") {
  const Threads restore(2);
  {
    const StopSignals stop;
    struct sigaction action {};  // its handler, but one that does not end the program
    REQUIRE(::sigaction(SIGINT, nullptr, &action) == 0);
    action.sa_handler = count_signal;
    REQUIRE(::sigaction(SIGINT, &action, nullptr) == 0);

    constexpr std::size_t n = 384, copies = 8;
    const std::vector<float> a(n * n, 1), b(n * n, 2);
    std::vector<float> c(copies * n * n);
    const kernels::Gemm<float> product{
        .m = n, .n = n, .k = n, .a = a.data(), .lda = n, .b = b.data(), .ldb = n, .ldc = n};
    std::atomic<bool> done = false;
    const std::thread::id here = std::this_thread::get_id();
    std::thread sender([&] {
      while (!done) ::kill(::getpid(), SIGINT), ::usleep(200);
    });
    std::size_t wrong = 0;
    std::atomic<std::size_t> elsewhere = 0, unguarded = 0;
    using kernels::GemmBackend;
    const GemmBackend own = kernels::gemm_backend();
    for (int round = 0; round < 40; ++round) {  // oneDNN and our own, or the matrix unit
      const bool library = round % 2 == 0 && kernels::gemm_backend_available(GemmBackend::onednn);
      kernels::set_gemm_backend(library ? GemmBackend::onednn : GemmBackend::fastest);
      parallel_for(copies, 1, [&](std::size_t begin, std::size_t end) {
        if (std::this_thread::get_id() != here) {
          sigset_t blocked;
          ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
          ++elsewhere;
          unguarded += ::sigismember(&blocked, SIGINT) == 1 ? 0 : 1;
        }
        for (std::size_t i = begin; i < end; ++i) {
          kernels::Gemm<float> one = product;
          one.c = c.data() + i * n * n;
          kernels::gemm(one);
        }
      });
      for (const float x : c) wrong += x == 2 * n ? 0 : 1;
    }
    kernels::set_gemm_backend(own);
    done = true;
    sender.join();
    CHECK(signals > 0);
    CAPTURE(elsewhere.load());
    CHECK(unguarded == 0);
    for (const float x : a) wrong += x == 1 ? 0 : 1;
    for (const float x : b) wrong += x == 2 ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("a closed terminal asks a run to stop, unless its owner said that it shall not") {
  const auto handler_of = [](int signal) {
    struct sigaction action {};
    REQUIRE(::sigaction(signal, nullptr, &action) == 0);
    return action.sa_handler;
  };
  const std::vector<int> all{SIGHUP, SIGINT, SIGTERM};
  std::vector<void (*)(int)> before;  // doctest has handlers too
  for (const int signal : all) before.push_back(handler_of(signal));
  {
    const StopSignals stop;
    std::raise(SIGHUP);
    CHECK(StopSignals::received() == SIGHUP);
    std::raise(SIGHUP);  // of the kernel and of the shell
    CHECK(StopSignals::received() == SIGHUP);
    std::raise(SIGTERM);
    CHECK(StopSignals::received() == SIGTERM);
    std::raise(SIGHUP);
    CHECK(StopSignals::received() == SIGTERM);
  }
  for (std::size_t i = 0; i < all.size(); ++i) CHECK((handler_of(all[i]) == before[i]));
  std::signal(SIGHUP, SIG_IGN);  // as nohup does
  {
    const StopSignals stop;
    std::raise(SIGHUP);
    CHECK(StopSignals::received() == 0);
  }
  CHECK((handler_of(SIGHUP) == SIG_IGN));
  std::signal(SIGHUP, SIG_DFL);
}
