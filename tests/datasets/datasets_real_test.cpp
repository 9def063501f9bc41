#include "datasets_testing.hpp"
#include "tests/skip.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace vitruvian;

namespace {

// The folder of the real data sets: VITRUVIAN_DATA, or shared/datasets beside the source tree.
std::optional<fs::path> real_data(const std::string& child) {
  const char* const given = std::getenv("VITRUVIAN_DATA");
  const fs::path place = given != nullptr
                             ? fs::path(given)
                             : fs::path(VITRUVIAN_TEST_DATA) / ".." / ".." / "shared" / "datasets";
  if (fs::is_directory(place / child)) return place / child;
  skip("no folder " + child + " in " + place.string() + " (set VITRUVIAN_DATA)");
  return std::nullopt;
}

}  // namespace

TEST_CASE("real MNIST") {
  const std::optional<fs::path> place = real_data("mnist");
  if (!place) return;
  const Split split = load({.name = "mnist", .directory = place->string()});
  CHECK(split.train.size() == 60'000);
  CHECK(split.test.size() == 10'000);
  CHECK(split.test.height == 28);
  CHECK(split.test.labels[0] == 7);
  CHECK(split.train.labels[0] == 5);
  // Sums by `zcat FILE | tail -c +17 | od -An -v -tu1 -w1 | awk '{s += $1} END {print s}'`.
  CHECK(sum(split.train.pixels) == 1'567'298'545);
  CHECK(sum(split.test.pixels) == 264'923'200);
  CHECK(histogram(split.test) ==
        std::vector<std::size_t>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
}

TEST_CASE("real CIFAR-10") {
  const std::optional<fs::path> place = real_data("cifar-10-batches-bin");
  if (!place) return;
  const Split split = load({.name = "cifar10", .directory = place->parent_path().string()});
  CHECK(split.train.size() == 50'000);
  CHECK(split.test.size() == 10'000);
  CHECK(histogram(split.train) == std::vector<std::size_t>(10, 5000));
  CHECK(histogram(split.test) == std::vector<std::size_t>(10, 1000));
  // The published mean and standard deviation of each channel of the training images.
  for (std::size_t c = 0; c < 3; ++c) {
    double s = 0;
    double s2 = 0;
    for (std::size_t i = 0; i < split.train.size(); ++i) {
      for (const std::uint8_t x : split.train.image(i).subspan(c * 1024, 1024)) {
        s += x / 255.0;
        s2 += x / 255.0 * (x / 255.0);
      }
    }
    const double n = 50'000 * 1024.0;
    CHECK(s / n == doctest::Approx(split.train.mean[c]).epsilon(1e-5));
    CHECK(std::sqrt(s2 / n - s / n * (s / n)) == doctest::Approx(split.train.std[c]).epsilon(1e-5));
  }
  CHECK(load_test({.name = "cifar10", .directory = place->string()}).labels == split.test.labels);
}
