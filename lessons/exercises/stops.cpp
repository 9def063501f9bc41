#include "lessons/exercises/stops.hpp"

#include "vitruvian/core/base/console.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#ifdef VITRUVIAN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace vitruvian::lessons {
namespace {

// Read by handlers of signals, so nothing here takes memory.
char running[160] = "";
char seconds[8] = "";
char folder[4096] = "";  // the learner's, with the slash at its end

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

// --- which line ----------------------------------------------------------------------------------

// The calls that led to some moment, from the innermost on.
struct Calls {
  std::array<void*, 64> places{};
  int count = 0;

  void remember() { count = backtrace(places.data(), static_cast<int>(places.size())); }
};
Calls thrown;

// "Line 41 of softmax.cpp", the innermost that lies in the learner's folder, or `otherwise`.
const char* line_of([[maybe_unused]] const Calls& calls, const char* otherwise) {
#ifdef VITRUVIAN_ADDRESS_SANITIZER
  static char text[sizeof folder + 64];
  for (int i = 0; i < calls.count; ++i) {
    char place[sizeof folder + 16];  // "41:/home/me/exercises/softmax.cpp"
    void* const call = static_cast<char*>(calls.places[static_cast<std::size_t>(i)]) - 1;
    __sanitizer_symbolize_pc(call, "%l:%s", place, sizeof place);
    char* const colon = std::strchr(place, ':');
    const std::size_t length = std::strlen(folder);
    if (colon == nullptr || std::strncmp(colon + 1, folder, length) != 0 ||
        std::strchr(colon + 1 + length, '/') != nullptr) {
      continue;
    }
    *colon = '\0';
    std::snprintf(text, sizeof text, "Line %s of %s", place, colon + 1 + length);
    return text;
  }
#endif
  return otherwise;
}

// --- what ends it --------------------------------------------------------------------------------

[[noreturn]] void end() {
  if (*running != '\0') {
    say("It was working on: ");
    say(running);
    say("\n");
  }
  _exit(1);
}

const char* meaning(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      return " crashed: it reads or writes outside of an array, uses an empty Tensor, or calls "
             "itself too often.\n";
    case SIGFPE:
      return " crashed: it divides an integer by zero.\n";
    case SIGABRT:
      return " gave up (abort): something that was asserted does not hold (it is said above), or "
             "nobody caught what was thrown.\n";
    default:
      return " crashed: it came to an instruction that is none.\n";
  }
}

extern "C" void stopped(int signal) {
  if (signal == SIGALRM) {
    say("Your function did not end within ");
    say(seconds);
    say(" seconds. Is there a loop that never ends? (--seconds N waits longer.)\n");
  }
  // To find the line takes more than a handler may do: at the worst, a second alarm ends it.
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(3);
  Calls calls;
  calls.remember();
  if (signal != SIGALRM) {
    say(line_of(calls, "Your function"));
    say(meaning(signal));
  } else if (const char* const line = line_of(calls, nullptr)) {
    say(line);
    say(" was running.\n");
  }
  end();
}

void left() {
  if (running[0] == '\0') return;  // between two cases: the program's own end
  say("Your function left the program (exit): it has to return.\n");
  end();
}

void catch_signals() {
  static char stack[1024 * 1024];  // a stack overflow leaves no other
  const stack_t elsewhere = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&elsewhere, nullptr);
  struct sigaction action = {};
  action.sa_handler = stopped;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM}) {
    sigaction(signal, &action, nullptr);
  }
}

#ifdef VITRUVIAN_ADDRESS_SANITIZER

// What AddressSanitizer calls it, and what that means.
struct Kind {
  std::string_view name;
  const char* meaning;
};
constexpr Kind kinds[] = {
    {"use-after", " an array or a variable that is gone. What owned it has ended, a temporary "
                  "perhaps: keep that in a variable of its own.\n"},
    {"container-overflow", " an element behind the last one of a vector.\n"},
    {"overflow", " outside of an array: before its first entry or behind its last.\n"},
    {"underflow", " outside of an array: before its first entry.\n"},
};

void noticed(const char* /*report*/) {
  Calls calls;
  calls.remember();
  const std::string_view what = __asan_get_report_description();
  const auto has = [&](std::string_view part) { return what.find(part) != what.npos; };
  say(line_of(calls, "Your function"));
  if (has("memory") || has("allocation") || has("calloc") || has("rss")) {
    say(" asks for more memory than there should be need of: 2 GB.\n");
    end();
  }
  for (const Kind& kind : kinds) {
    if (!has(kind.name)) continue;
    say(__asan_get_report_access_type() == 1 ? " writes" : " reads");
    say(kind.meaning);
    end();
  }
  say(" uses memory as it may not be used. AddressSanitizer calls it ");
  say(__asan_get_report_description());
  say(".\n");
  end();
}

#endif

}  // namespace

void watch_over(const char* file, int limit) {
  const std::string_view path = file;
  std::snprintf(folder, sizeof folder, "%.*s", static_cast<int>(path.rfind('/') + 1), file);
  std::snprintf(seconds, sizeof seconds, "%d", limit);
  Calls().remember();  // the first time it loads a library
  catch_signals();
#ifdef VITRUVIAN_ADDRESS_SANITIZER
  __sanitizer_set_report_fd(reinterpret_cast<void*>(intptr_t{open("/dev/null", O_WRONLY)}));
  __asan_set_error_report_callback(noticed);
#elif !defined(__SANITIZE_THREAD__)
  const rlimit memory = {2'000'000'000, 2'000'000'000};  // an endless push_back ends in bad_alloc
  setrlimit(RLIMIT_AS, &memory);
#endif
  std::atexit(left);
  alarm(static_cast<unsigned>(limit));
}

void working_on(const std::string& label) {
  std::snprintf(running, sizeof running, "%s", console::visible(label).c_str());
}

std::string thrown_at() { return line_of(thrown, "Your code"); }

}  // namespace vitruvian::lessons

// --- what the C++ library and AddressSanitizer ask this program

#ifdef VITRUVIAN_ADDRESS_SANITIZER

// Everything that is thrown comes through here. (g++ knows this function, and with these types.)
extern "C" [[noreturn]] void __cxa_throw(void* thrown, void* type, void (*destroy)(void*)) {
  using Throw = void (*)(void*, void*, void (*)(void*));
  static const auto next = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  vitruvian::lessons::thrown.remember();
  next(thrown, type, destroy);
  std::abort();  // it never returns
}

// Signals are ours; what a learner leaves behind at the end of a program is no mistake.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_"
         "abort=0:"
         "soft_rss_limit_mb=2000:max_allocation_size_mb=2000:detect_stack_use_after_return=1";
}

#endif
