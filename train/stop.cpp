#include "train/stop.hpp"

#include <unistd.h>

#include <csignal>

namespace vitruvian {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

extern "C" void remember_signal(int signal) {
  if (stop_signal != 0) ::_exit(128 + signal);
  stop_signal = signal;
}

constexpr std::size_t stack_bytes = 65536;
stack_t stack_before;  // a sanitizer's, say

// On a stack of its own: within a product of oneDNN the thread's stack pointer is none.
void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() : stack_(std::make_unique<std::byte[]>(stack_bytes)) {
  stop_signal = 0;
  stack_t stack{};
  stack.ss_sp = stack_.get();
  stack.ss_size = stack_bytes;
  ::sigaltstack(&stack, &stack_before);
  handle(remember_signal);
}
StopSignals::~StopSignals() {
  handle(SIG_DFL);
  ::sigaltstack(&stack_before, nullptr);
}

int StopSignals::received() { return stop_signal; }

}  // namespace vitruvian
