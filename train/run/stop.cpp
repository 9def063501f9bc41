#include "vitruvian/train/run/stop.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace vitruvian {
namespace {

std::atomic<int> stop_signal = 0;  // set by a handler, read by any thread
static_assert(std::atomic<int>::is_always_lock_free);

// A terminal that closes says so twice, by the kernel and by the shell: that is no impatience.
extern "C" void remember_signal(int signal) {
  if (signal == SIGHUP && stop_signal != 0) return;
  if (stop_signal != 0 && stop_signal != SIGHUP) ::_exit(128 + signal);
  stop_signal = signal;
}

constexpr std::array<int, 3> stopping{SIGHUP, SIGINT, SIGTERM};
std::array<struct sigaction, stopping.size()> actions_before;
constexpr std::size_t stack_bytes = 65536;
stack_t stack_before;  // a sanitizer's, say

// On a stack of its own: within a product of oneDNN the thread's stack pointer is none. nohup has
// SIGHUP ignored, and so it stays.
void handle_signals() {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < stopping.size(); ++i) {
    ::sigaction(stopping[i], nullptr, &actions_before[i]);
    const bool ignored = actions_before[i].sa_handler == SIG_IGN;
    if (stopping[i] != SIGHUP || !ignored) ::sigaction(stopping[i], &action, nullptr);
  }
}

}  // namespace

StopSignals::StopSignals() : stack_(std::make_unique<std::byte[]>(stack_bytes)) {
  stop_signal = 0;
  stack_t stack{};
  stack.ss_sp = stack_.get();
  stack.ss_size = stack_bytes;
  ::sigaltstack(&stack, &stack_before);
  handle_signals();
}
StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < stopping.size(); ++i) {
    ::sigaction(stopping[i], &actions_before[i], nullptr);
  }
  ::sigaltstack(&stack_before, nullptr);
  stop_signal = 0;
}

int StopSignals::received() { return stop_signal; }

}  // namespace vitruvian
