#pragma once

// What every test reads: doctest, and what of the standard library most of them use.

#include "vitruvian/core/base/parallel.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// The message of what `body` throws; "" and a failed check when it throws nothing.
template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  FAIL_CHECK("nothing was thrown");
  return "";
}

/// Whether a text has this part.
inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How many times it has.
inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Whether a is b, but for this share of it. doctest's Approx adds 1 to the scale, which makes it
/// blind to small numbers.
inline bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::abs(b);
}

/// Checks that `body` throws an error whose message contains `part`.
#define CHECK_FAILS_WITH(body, part)                               \
  do {                                                             \
    const std::string message = message_of([&] { (void)(body); }); \
    CHECK_MESSAGE(says(message, part), message);                   \
  } while (false)

/// Checks that `body` throws an error that says just this.
#define CHECK_SAYS(body, expected) CHECK(message_of([&] { (void)(body); }) == (expected))

/// Whether this program runs under a sanitizer, whose memory and stack are no measure of ours.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Gives the number of threads back that was there before, within a case: its end does, too.
struct Threads {
  explicit Threads(std::size_t n) { vitruvian::set_threads(n); }
  ~Threads() { vitruvian::set_threads(before); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  std::size_t before = vitruvian::threads();
};

/// Says that the case that is running cannot be tried here, and why. The program ends with 77 when
/// nothing failed, which ctest reports as skipped: give the case an entry of its own in ctest
/// (MAY_SKIP in tests/CMakeLists.txt), so that the others of its program are seen to pass.
void skip(const std::string& why);
