// doctest's runner, with three rules more: a filter that matches nothing is a failure, where a case
// could not be tried the exit code is 77, and each case begins with as many threads as the first.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/expect.hpp"

#include <cstdio>

namespace {

unsigned tests_run = 0;
int skips = 0;

struct Counter : doctest::IReporter {
  explicit Counter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override { ++tests_run; }
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    tests_run = stats.numTestCasesPassingFilters;
  }
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {
    vitruvian::set_threads(threads);
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
  std::size_t threads = vitruvian::threads();
};

}  // namespace

REGISTER_LISTENER("counter", 1, Counter);

void skip(const std::string& why) {
  ++skips;
  MESSAGE("skipped: " << why);
}

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (context.shouldExit()) return failed;
  if (tests_run == 0) {
    std::fputs("no test case matches the filter\n", stderr);
    return 1;
  }
  return failed == 0 && skips > 0 ? 77 : failed;
}
