// A signal in the middle of a product must not touch its matrices: see core/base/parallel.cpp.
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/kernels/gemm.hpp"
#include "vitruvian/train/run/stop.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace vitruvian {
namespace {

volatile std::sig_atomic_t signals = 0;
extern "C" void count_signal(int) { signals = signals + 1; }

TEST_CASE("signals do not disturb products") {
  const std::size_t before = threads();
  set_threads(2);
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
    for (int round = 0; round < 40; ++round) {
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
    done = true;
    sender.join();
    CHECK(signals > 0);
    CAPTURE(elsewhere.load());
    CHECK(unguarded == 0);
    for (const float x : a) wrong += x == 1 ? 0 : 1;
    for (const float x : b) wrong += x == 2 ? 0 : 1;
    CHECK(wrong == 0);
  }
  set_threads(before);
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

}  // namespace
}  // namespace vitruvian
