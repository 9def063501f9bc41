#include "tests/datasets/datasets_testing.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/datasets/formats/digits.hpp"

#include <span>

using namespace vitruvian;
namespace fs = std::filesystem;

namespace {

std::uint64_t sum(const ByteVector& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

std::vector<std::size_t> histogram(const Dataset& data) {
  std::vector<std::size_t> counts(data.classes);
  for (const std::uint32_t label : data.labels) ++counts.at(label);
  return counts;
}

std::uint64_t fnv(const ByteVector& bytes) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const std::uint8_t b : bytes) h = (h ^ b) * 0x100000001b3U;
  return h;
}

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
  for (const std::size_t n : {1, 2, 3, 4}) {
    set_threads(n);
    CHECK(digits(700, 7, "train").pixels == data.pixels);
  }
  // No two alike.
  std::set<ByteVector> images;
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
  const Dataset data{"two",  2,  1,          2,          10, {0, 255, 51, 102, 10, 20, 30, 40},
                     {4, 9}, {}, {0.5, 0.2}, {0.25, 0.1}};
  const std::vector<std::size_t> indices = {1, 0, 1};
  std::array<T, 12> out{};
  normalised_images(data, indices, out.data());
  const auto first = [](double pixel) { return (pixel / 255 - 0.5) / 0.25; };
  const auto second = [](double pixel) { return (pixel / 255 - 0.2) / 0.1; };
  const std::array<double, 4> of_1 = {first(10), first(20), second(30), second(40)};
  const std::array<double, 4> of_0 = {-2, 2, 0, 2};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double expected = (i / 4 == 1 ? of_0 : of_1)[i % 4];
    CHECK(std::abs(static_cast<double>(out[i]) - expected) < (sizeof(T) == 4 ? 3e-7 : 1e-15));
  }
  CHECK(batch_labels(data, indices) == std::vector<std::size_t>{9, 4, 9});
  const std::vector<std::size_t> beyond = {2};
  check_error(Exit::failure, {"no image 2 among 2"},
              [&] { normalised_images(data, beyond, out.data()); });
  check_error(Exit::failure, {"no image 2 among 2"}, [&] { batch_labels(data, beyond); });
}

// --- real data, where they are -------------------------------------------------------------------

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
