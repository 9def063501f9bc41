#include "vitruvian/train/seeds.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <sstream>
#include <system_error>

namespace vitruvian {
namespace {

constexpr std::size_t most = 1000;

}  // namespace

std::vector<std::uint64_t> numbers_in(const std::string& flag, const std::string& text) {
  std::vector<std::uint64_t> numbers;
  std::istringstream parts(text + ",");  // so that an empty last one is seen
  for (std::string part; std::getline(parts, part, ',');) {
    std::uint64_t number = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, number);
    if (error == std::errc::result_out_of_range) {
      fail(Exit::usage, "{}: {} is beyond the largest number, 18446744073709551615", flag, part);
    }
    if (error != std::errc() || rest != end) {
      fail(Exit::usage, "{}: '{}' is neither a whole number nor a list such as 1,2,3", flag, text);
    }
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end()) {
      fail(Exit::usage, "{} {}: {} is named twice", flag, text, number);
    }
    numbers.push_back(number);
    if (numbers.size() > most) fail(Exit::usage, "{}: more than {} numbers", flag, most);
  }
  return numbers;
}

std::vector<std::uint64_t> seeds_of(const std::string& flag, const std::string& text) {
  std::vector<std::uint64_t> seeds = numbers_in(flag, text);
  if (text.find(',') != std::string::npos) return seeds;
  const std::uint64_t count = seeds[0];
  if (count == 0 || count > most) {
    fail(Exit::usage, "{} {}: expected a number of seeds from 1 to {}", flag, text, most);
  }
  seeds.resize(count);
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{1});
  return seeds;
}

Spread spread_of(std::span<const double> numbers) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> known;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(known),
               [](double x) { return !std::isnan(x); });
  const auto n = static_cast<double>(known.size());
  if (known.empty()) return {0, unknown, unknown};
  const double mean = std::accumulate(known.begin(), known.end(), 0.0) / n;
  double squares = 0;
  for (const double x : known) squares += (x - mean) * (x - mean);
  return {known.size(), mean, known.size() < 2 ? unknown : std::sqrt(squares / (n - 1))};
}

std::string percent_text(const Spread& spread) {
  if (!std::isfinite(spread.mean)) return "-";
  if (!std::isfinite(spread.deviation)) return fmt::format("{:.2f} %", 100 * spread.mean);
  return fmt::format("{:.2f} % +- {:.2f}", 100 * spread.mean, 100 * spread.deviation);
}

}  // namespace vitruvian
