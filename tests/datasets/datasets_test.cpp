#include "datasets_testing.hpp"
#include "vitruvian/core/error.hpp"
#include "vitruvian/core/parallel.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/datasets/formats/digits.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace vitruvian;

namespace {

std::uint64_t fnv(const Bytes& bytes) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const std::uint8_t b : bytes) h = (h ^ b) * 0x100000001b3U;
  return h;
}

}  // namespace

// --- the built-in digits -------------------------------------------------------------------------

TEST_CASE("digits: balanced, inked, of MNIST's shape and constants") {
  const Dataset data = digits(1000, 1, "train");
  CHECK(data.size() == 1000);
  CHECK(data.image_size() == 784);
  CHECK(data.mean == std::vector<double>{0.1307});
  CHECK(data.std == std::vector<double>{0.3081});
  CHECK(histogram(data) == std::vector<std::size_t>(10, 100));
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::span<const std::uint8_t> image = data.image(i);
    double mass = 0;
    double x = 0;
    double y = 0;
    for (std::size_t k = 0; k < image.size(); ++k) {
      mass += image[k];
      x += image[k] * (static_cast<double>(k % 28) + 0.5);
      y += image[k] * (static_cast<double>(k / 28) + 0.5);
    }
    CHECK(mass > 255 * 15);
    CHECK(mass < 255 * 392);
    // Centred by mass, to the pixel; the grain comes after.
    CHECK(std::abs(x / mass - 14) < 0.6);
    CHECK(std::abs(y / mass - 14) < 0.6);
  }
  // MNIST's mean is 0.1307: close enough that its constants normalise the digits too.
  CHECK(static_cast<double>(sum(data.pixels)) / (255.0 * 784 * 1000) ==
        doctest::Approx(0.13).epsilon(0.1));
}

TEST_CASE("digits: an image is a function of seed, part and index, for any number of threads") {
  const Dataset data = digits(700, 7, "train");
  CHECK(digits(700, 7, "train").pixels == data.pixels);
  CHECK(digits(170, 7, "train").pixels == data.head(170).pixels);
  CHECK(digits(700, 8, "train").pixels != data.pixels);
  CHECK(digits(700, 7, "test").pixels != data.pixels);
  const std::size_t before = threads();
  for (const std::size_t n : {1, 2, 3, 4}) {
    set_threads(n);
    CHECK(digits(700, 7, "train").pixels == data.pixels);
  }
  set_threads(before);
  // No two alike.
  std::set<Bytes> images;
  for (std::size_t i = 0; i < data.size(); ++i) {
    images.emplace(data.image(i).begin(), data.image(i).end());
  }
  CHECK(images.size() == data.size());
}

TEST_CASE("digits: the same bytes on every machine and compiler") {
  CHECK(fnv(digits(500, 1, "train").pixels) == 13805786633242088353U);
  CHECK(fnv(digits(500, 1, "test").pixels) == 11685636387410102440U);
}

TEST_CASE("digits: what cannot be drawn is refused") {
  check_error(Exit::usage, {"part", "'val'"}, [] { digits(10, 1, "val"); });
  check_error(Exit::usage, {"asked for 0"}, [] { digits(0, 1, "train"); });
  check_error(Exit::usage, {"20000000"}, [] { load({.train_size = 20'000'000}); });
}

TEST_CASE("load: sizes and seed of the digits") {
  const Split split = load({.seed = 3, .train_size = 30, .test_size = 20});
  CHECK(split.train.pixels == digits(30, 3, "train").pixels);
  CHECK(split.test.pixels == digits(20, 3, "test").pixels);
  CHECK(load_test({.seed = 3, .test_size = 20}).pixels == split.test.pixels);
}

// --- batches -------------------------------------------------------------------------------------

TEST_CASE("head: the first n, and none beyond") {
  const Dataset data = digits(20, 1, "train");
  CHECK(data.head(20).pixels == data.pixels);
  const Dataset three = data.head(3);
  CHECK(three.size() == 3);
  CHECK(three.pixels.size() == 3 * 784);
  CHECK(three.name == "digits");
  check_error(Exit::usage, {"1 to 20", "for 21"}, [&] { (void)data.head(21); });
  check_error(Exit::usage, {"1 to 20", "for 0"}, [&] { (void)data.head(0); });
  check_error(Exit::failure, {"no image 20 among 20"}, [&] { (void)data.image(20); });
}

TEST_CASE("an epoch visits every example once, in an order of its own") {
  const Rng rng(5);
  const std::vector<std::size_t> first = epoch_order(1000, rng, 0);
  CHECK(std::set<std::size_t>(first.begin(), first.end()).size() == 1000);
  CHECK(*std::max_element(first.begin(), first.end()) == 999);
  CHECK(epoch_order(1000, rng, 0) == first);
  CHECK(epoch_order(1000, rng, 1) != first);
  CHECK(epoch_order(1000, Rng(6), 0) != first);
  CHECK(first != natural_order(1000));
}

TEST_CASE("batches run in order and keep the last, smaller one") {
  const std::vector<std::size_t> order = epoch_order(10, Rng(1), 0);
  const auto parts = batches(order, 4);
  REQUIRE(parts.size() == 3);
  CHECK(parts[2].size() == 2);
  std::vector<std::size_t> joined;
  for (const auto& part : parts) joined.insert(joined.end(), part.begin(), part.end());
  CHECK(joined == order);
  CHECK(batches(order, 100).size() == 1);
  CHECK(batches({}, 4).empty());
  const auto thirds = shares(order, 3);  // 10 in 4 + 3 + 3
  REQUIRE(thirds.size() == 3);
  CHECK(thirds[0].size() == 4);
  CHECK(thirds[2].size() == 3);
  CHECK(thirds[1].data() == order.data() + 4);
  CHECK(thirds[2].data() == order.data() + 7);
  CHECK(shares(order, 0).empty());
  check_error(Exit::usage, {"batch of 0"}, [&] { batches(order, 0); });
}

TEST_CASE_TEMPLATE("a batch is normalised per channel, in the order asked for", T, float, double) {
  Dataset data;
  data.name = "two";
  data.channels = 2;
  data.height = 1;
  data.width = 2;
  data.classes = 10;
  data.pixels = {0, 255, 51, 102, 10, 20, 30, 40};
  data.labels = {4, 9};
  data.mean = {0.5, 0.2};
  data.std = {0.25, 0.1};
  const std::vector<std::size_t> indices = {1, 0, 1};
  std::array<T, 12> out{};
  normalised_images(data, indices, out.data());
  const std::array<double, 12> expected = {(10 / 255.0 - 0.5) / 0.25,
                                           (20 / 255.0 - 0.5) / 0.25,
                                           (30 / 255.0 - 0.2) / 0.1,
                                           (40 / 255.0 - 0.2) / 0.1,
                                           -2,
                                           2,
                                           0,
                                           2,
                                           (10 / 255.0 - 0.5) / 0.25,
                                           (20 / 255.0 - 0.5) / 0.25,
                                           (30 / 255.0 - 0.2) / 0.1,
                                           (40 / 255.0 - 0.2) / 0.1};
  for (std::size_t i = 0; i < out.size(); ++i) {
    CHECK(std::abs(static_cast<double>(out[i]) - expected[i]) < (sizeof(T) == 4 ? 3e-7 : 1e-15));
  }
  CHECK(batch_labels(data, indices) == std::vector<std::size_t>{9, 4, 9});
  const std::vector<std::size_t> beyond = {2};
  check_error(Exit::failure, {"no image 2 among 2"},
              [&] { normalised_images(data, beyond, out.data()); });
  check_error(Exit::failure, {"no image 2 among 2"}, [&] { batch_labels(data, beyond); });
}
