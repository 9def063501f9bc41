// Mixup and cutmix: pictures and classes by the same shares, which follow the Beta distribution.

#include "tests/datasets/augment_testing.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace vitruvian {
namespace {

TEST_CASE("mixup averages two pictures, and their classes by the same share") {
  const Dataset data = plain(20, 1, 4, 4);
  const std::vector<double> pure = load_all(Loader(data), 1);
  std::size_t mixed = 0;
  for (std::uint64_t epoch = 1; epoch <= 10; ++epoch) {
    Labels labels;
    const std::vector<double> out =
        load_all(Loader(data, {.augment = {.mixup = 1, .mix_probability = 0.75}}), epoch, &labels);
    for (std::size_t i = 0; i < 20; ++i) {
      CHECK(labels.classes[i] == i);
      double sum = 0;
      double expected = 0;
      for (std::size_t k = 0; k < 20; ++k) {
        const double share = labels.targets[20 * i + k];
        sum += share;
        expected += share * pure[16 * k];
      }
      CHECK(std::abs(sum - 1) < 1e-12);
      if (labels.targets[20 * i + i] < 1) ++mixed;
      for (std::size_t p = 0; p < 16; ++p) CHECK(std::abs(out[16 * i + p] - expected) < 1e-12);
    }
  }
  CHECK(mixed > 120);  // 0.75 of 200, less those whose partner is themselves; deviation 6
  CHECK(mixed < 168);
}

TEST_CASE("cutmix pastes a box, and its area is the other class's share") {
  const Dataset data = plain(20, 2, 8, 6);
  const std::vector<double> pure = load_all(Loader(data), 1);
  std::size_t pasted = 0;
  for (std::uint64_t epoch = 1; epoch <= 10; ++epoch) {
    Labels labels;
    const std::vector<double> out =
        load_all(Loader(data, {.augment = {.cutmix = 1}}), epoch, &labels);
    for (std::size_t i = 0; i < 20; ++i) {
      std::vector<double> count(20);
      for (std::size_t p = 0; p < 96; ++p) {
        std::size_t k = 0;
        while (k < 20 && pure[96 * k] != out[96 * i + p]) ++k;
        REQUIRE(k < 20);
        count[k] += 1.0 / 96;
      }
      for (std::size_t k = 0; k < 20; ++k) {
        CHECK(std::abs(count[k] - labels.targets[20 * i + k]) < 1e-12);
      }
      if (count[i] < 0.999) ++pasted;
    }
  }
  CHECK(pasted > 130);
}

TEST_CASE("the shares of mixup follow the Beta distribution") {
  for (const double alpha : {0.1, 0.4, 1.0, 3.0}) {
    CAPTURE(alpha);
    constexpr int n = 4000;
    double sum = 0;
    double squares = 0;
    double fourth = 0;
    for (int i = 0; i < n; ++i) {
      const double x =
          symmetric_beta(alpha, Rng(9).fork("test", {static_cast<std::uint64_t>(i)})) - 0.5;
      CHECK(std::abs(x) <= 0.5);
      sum += x / n;
      squares += x * x / n;
      fourth += x * x * x * x / n;
    }
    CHECK(std::abs(sum) < 0.03);
    CHECK(std::abs(squares * 4 * (2 * alpha + 1) - 1) < 0.06);
    const double expected = 3 / (16 * (2 * alpha + 1) * (2 * alpha + 3));
    CHECK(std::abs(fourth / expected - 1) < 0.12);
  }
}

}  // namespace
}  // namespace vitruvian
