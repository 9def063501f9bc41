// How far the fused float ops are from the truth, beside their readable twins in float.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

using Outputs = std::vector<std::pair<std::string, std::vector<double>>>;

// Of accuracy_cases.cpp, in both precisions: value and gradients of every case as the fused op
// computes them, or as its twin does, from the same inputs, rounded to float.
namespace accuracy {
namespace f32 {
Outputs results(bool composed);
}
namespace f64 {
Outputs results(bool composed);
}
}  // namespace accuracy

using namespace accuracy;

namespace {

// Errors of one kind of output, each relative to the array that it is in, over all shapes.
struct Error {
  double rms = 0;
  double most = 0;

  void include(const std::vector<double>& got, const std::vector<double>& truth) {
    double squares = 0;
    double true_squares = 0;
    double largest = 0;
    double true_largest = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const double e = got.at(i) - truth[i];
      squares += e * e;
      true_squares += truth[i] * truth[i];
      largest = std::max(largest, std::isnan(e) ? INFINITY : std::abs(e));
      true_largest = std::max(true_largest, std::abs(truth[i]));
    }
    rms = std::max(rms, std::isnan(squares) ? INFINITY : std::sqrt(squares / true_squares));
    most = std::max(most, largest / true_largest);
  }
};

std::vector<double> rounded(std::vector<double> values) {
  for (double& v : values) v = static_cast<double>(static_cast<float>(v));
  return values;
}

}  // namespace

TEST_CASE("fused float ops err at most four times as much as their readable twins in float") {
  const Outputs truth = f64::results(true);
  const Outputs fused = f32::results(false);
  const Outputs twins = f32::results(true);
  std::map<std::string, std::pair<Error, Error>> errors;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    auto& [of_fused, of_twin] = errors[truth[i].first];
    of_fused.include(fused.at(i).second, truth[i].second);
    of_twin.include(twins.at(i).second, truth[i].second);
    // No float result is better than the true one rounded.
    of_twin.include(rounded(truth[i].second), truth[i].second);
  }
  CHECK(errors.size() == 11 + 21);  // ops, and the gradients of their inputs
  for (const auto& [name, both] : errors) {
    const auto& [of_fused, of_twin] = both;
    const std::string line = fmt::format(
        "{:<28} rms {:.1e} ({:.2f} of the twin's)  max {:.1e} ({:.2f})", name, of_fused.rms,
        of_fused.rms / of_twin.rms, of_fused.most, of_fused.most / of_twin.most);
    MESSAGE(line);
    CAPTURE(line);
    CHECK(of_fused.rms <= 4 * of_twin.rms);
    CHECK(of_fused.most <= 4 * of_twin.most);
  }
}

// In double the fused ops are the truth too: neither form is wrong in the same way as the other.
TEST_CASE("in double both forms agree far below float's rounding") {
  const Outputs truth = f64::results(true);
  const Outputs fused = f64::results(false);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    Error error;
    error.include(fused.at(i).second, truth[i].second);
    CAPTURE(truth[i].first);
    CHECK(error.most <= 1e-12);
  }
}
