#pragma once

#include "vitruvian/core/error.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

// What the tests of the data sets share.

using Classes = std::vector<std::uint32_t>;
using Bytes = std::vector<std::uint8_t>;
using Classes = std::vector<std::uint32_t>;

// The call must throw an Error with this exit code whose one line holds every one of the parts.
inline void check_error(vitruvian::Exit exit, const std::vector<std::string>& parts,
                        const std::function<void()>& call) {
  std::optional<vitruvian::Error> caught;
  try {
    call();
  } catch (const vitruvian::Error& error) {
    caught = error;
  }
  REQUIRE(caught.has_value());
  const std::string what = caught->what();
  CAPTURE(what);
  CHECK(caught->exit() == exit);
  CHECK(what.find('\n') == std::string::npos);
  for (const std::string& part : parts) {
    CAPTURE(part);
    CHECK(what.find(part) != std::string::npos);
  }
}

inline std::uint64_t sum(const Bytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

inline std::vector<std::size_t> histogram(const vitruvian::Dataset& data) {
  std::vector<std::size_t> counts(data.classes);
  for (const std::uint32_t label : data.labels) ++counts.at(label);
  return counts;
}
