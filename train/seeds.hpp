#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Results that hang on a seed, and what several of them say together.

namespace vitruvian {

/// The whole numbers of a flag's text: "5", "1,5,10". Throws (Exit::usage), naming the flag, for
/// anything else, a number that is named twice, and more than 1000.
std::vector<std::uint64_t> numbers_in(const std::string& flag, const std::string& text);

/// The seeds that a flag's text names: "3" are 1, 2 and 3; "4,7" are these. Throws as
/// numbers_in does.
std::vector<std::uint64_t> seeds_of(const std::string& flag, const std::string& text);

/// How numbers lie around their mean. Of those that are NaN nothing is known: they are left out.
struct Spread {
  std::size_t count = 0;
  double mean = 0;       ///< NaN of none
  double deviation = 0;  ///< the standard deviation of a sample, by n - 1; NaN of fewer than two
};
Spread spread_of(std::span<const double> numbers);

/// "97.70 % +- 0.12"; of one number "97.70 %", of none "-".
std::string percent_text(const Spread& spread);

}  // namespace vitruvian
