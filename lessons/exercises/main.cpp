// exercise_checks NAME FILE.so SECONDS: loads what a learner's file was compiled to, and judges it.
// `lesson check` runs it. Exit code 0 when everything agrees, else 1.

#include "lessons/exercises/judge.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace {

using namespace vitruvian;
using namespace vitruvian::lessons;

char seconds[8] = "10";

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

// Only what is allowed in a signal handler.
extern "C" void stopped(int signal) {
  if (signal == SIGALRM) {
    say("Your function did not end within ");
    say(seconds);
    say(" seconds. Is there a loop that never ends? (--seconds N waits longer.)\n");
  } else {
    say(signal == SIGSEGV || signal == SIGBUS ? "Your function crashed: it reads or writes outside "
                                                "of an array, uses an empty Tensor, "
                                                "or calls itself too often.\n"
        : signal == SIGFPE ? "Your function crashed: it divides an integer by zero.\n"
                           : "Your function crashed: it gave up (abort).\n");
  }
  say("It was working on: ");
  say(running_case());
  say("\n");
  _exit(1);
}

void guard(int limit) {
  static char stack[64 * 1024];  // a stack overflow leaves no other
  const stack_t elsewhere = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&elsewhere, nullptr);
  struct sigaction action = {};
  action.sa_handler = stopped;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM}) {
    sigaction(signal, &action, nullptr);
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit memory = {2'000'000'000, 2'000'000'000};  // an endless push_back ends in bad_alloc
  setrlimit(RLIMIT_AS, &memory);
#endif
  alarm(static_cast<unsigned>(limit));
}

Check check_of(const std::string& name) {
  for (const auto& list : {tape_checks(), layer_checks(), vit_checks(), training_checks()}) {
    for (const NamedCheck& named : list) {
      if (named.name == name) return named.check;
    }
  }
  fail("there is no check for the exercise '{}'", name);
}

Submission submission_of(const char* file) {
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail("your file cannot be loaded: {}", dlerror());
  void* const handed_in = dlsym(library, "vitruvian_submission");
  if (handed_in == nullptr) {
    fail("your file hands nothing in: its line EXERCISE(...), behind the function, is missing");
  }
  return reinterpret_cast<Submission (*)()>(handed_in)();
}

}  // namespace

int main(int argc, char** argv) {
  return console::run("", [argc, argv] {
    if (argc != 4) fail(Exit::usage, "usage: exercise_checks NAME FILE.so SECONDS");
    std::snprintf(seconds, sizeof seconds, "%s", argv[3]);
    const Check check = check_of(argv[1]);
    guard(std::atoi(seconds));
    Judge judge(submission_of(argv[2]));
    check(judge);
    return judge.report() ? 0 : 1;
  });
}
