// Augmentation: the operations against torchvision's, to the byte, and the settings.

#include "vitruvian/datasets/augment.hpp"
#include "tests/datasets/datasets_testing.hpp"
#include "tests/json.hpp"
#include "vitruvian/core/base/rng.hpp"

namespace vitruvian {
namespace {

const JsonValue& golden() {
  static const JsonValue document =
      JsonValue::read(VITRUVIAN_TEST_DATA "/golden/pictures.json")["augment"];
  return document;
}

ByteVector bytes(const JsonValue& base64) {
  const std::string text = from_base64(base64);
  return {text.begin(), text.end()};
}

AugmentOp op_named(const std::string& name) {
  for (std::size_t i = 0; i < augment_ops; ++i) {
    if (name_of(static_cast<AugmentOp>(i)) == name) return static_cast<AugmentOp>(i);
  }
  FAIL(name);
  return AugmentOp::identity;
}

TEST_CASE("the elementary functions agree with libm's") {
  for (int i = -600; i <= 600; ++i) {
    const double x = 0.731 * i;
    CHECK(std::abs(portable_exp(x) / std::exp(x) - 1) < 4e-15);
    const double y = std::exp(x / 2);
    CHECK(std::abs(portable_log(y) - std::log(y)) <= 1e-15 * std::max(1.0, std::abs(std::log(y))));
    const double angle = 3.14159 * i / 600;
    CHECK(std::abs(portable_sine_cosine(angle).sine - std::sin(angle)) < 2e-15);
    CHECK(std::abs(portable_sine_cosine(angle).cosine - std::cos(angle)) < 2e-15);
  }
  CHECK(portable_exp(0) == 1);
}

TEST_CASE("every operation computes torchvision's bytes") {
  std::vector<std::uint8_t> scratch;
  std::set<std::string> seen;
  for (const auto& row : golden()["ops"]) {
    const auto& picture = golden()["pictures"][row["picture"].get<std::size_t>()];
    const std::string name = row["op"];
    CAPTURE(name);
    CAPTURE(row["magnitude"].get<double>());
    CAPTURE(row["picture"].get<int>());
    ByteVector pixels = bytes(picture["pixels"]);
    apply(op_named(name), row["magnitude"],
          {picture["channels"], picture["height"], picture["width"], pixels.data()}, scratch);
    CHECK(pixels == bytes(row["pixels"]));
    seen.insert(name);
  }
  CHECK(seen.size() == augment_ops);
}

TEST_CASE("the magnitudes are torchvision's") {
  for (const auto& row : golden()["magnitudes"]) {
    for (const auto& magnitude : row["values"].items()) {
      const std::string& name = magnitude.first;  // clang 14 cannot capture a structured binding
      const JsonValue& value = magnitude.second;
      CAPTURE(name);
      const double bin = row["bin"];
      CAPTURE(bin);
      const double ours = magnitude_of(op_named(name), bin, row["height"], row["width"], false);
      CHECK(std::abs(ours - value.get<double>()) <= 1e-5 * std::max(1.0, std::abs(ours)));
      const double other = magnitude_of(op_named(name), bin, row["height"], row["width"], true);
      const bool turns = std::set<std::string>{"posterize", "solarize"}.count(name) == 0;
      CHECK(other == (turns ? -ours : ours));
    }
  }
}

TEST_CASE("a resized crop is Pillow's") {
  for (const auto& row : golden()["crops"]) {
    const auto& picture = golden()["pictures"][row["picture"].get<std::size_t>()];
    const ByteVector from = bytes(picture["pixels"]);
    const ByteVector expected = bytes(row["pixels"]);
    ByteVector pixels(expected.size());
    const auto& box = row["box"];
    resized_crop(from.data(), picture["height"], picture["width"], {box[0], box[1], box[2], box[3]},
                 {picture["channels"], row["size"][0], row["size"][1], pixels.data()});
    int worst = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      worst = std::max(worst, std::abs(int{pixels[i]} - int{expected[i]}));
    }
    CHECK(worst <= 1);
  }
}

TEST_CASE("settings that cannot be are named") {
  const auto refused = [](AugmentOptions options, const char* what) {
    check_error(Exit::usage, {what}, [&] { options.validate(); });
  };
  refused({.crop_padding = 2000}, "--crop-padding 2000");
  refused({.crop_scale = 0}, "--crop-scale 0");
  refused({.flip = 1.5}, "--flip 1.5");
  refused({.flip = std::nan("")}, "--flip nan");
  refused({.randaugment_magnitude = 31}, "--randaugment-magnitude 31");
  refused({.erasing = -1}, "--erasing -1");
  refused({.mixup = -1}, "--mixup -1");
  refused({.cutmix = 1e-9}, "--cutmix 1e-09");
  CHECK(!AugmentOptions{}.any());
  CHECK(AugmentOptions{.cutmix = 1}.any());
}

}  // namespace
}  // namespace vitruvian
