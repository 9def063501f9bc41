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

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignals::StopSignals() {
  stop_signal = 0;
  handle(remember_signal);
}
StopSignals::~StopSignals() { handle(SIG_DFL); }

int StopSignals::received() { return stop_signal; }

}  // namespace vitruvian
