#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/train.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

Dataset about_of(const OwnDataset& s) {
  if (s.shape.size() != 3 || count(s.shape) == 0 || s.size == 0 || s.classes.empty() || !s.sample) {
    fail(
        Exit::data,
        "{}: {} samples of shape {} in {} classes: expected (C, H, W), at least one of each, and a "
        "function that makes them",
        s.name, s.size, to_string(s.shape), s.classes.size());
  }
  Dataset about;
  about.name = s.name;
  about.channels = s.shape[0], about.height = s.shape[1], about.width = s.shape[2];
  about.class_names = s.classes;
  about.classes = s.classes.size();
  about.mean.assign(about.channels, 0);  // they are numbers as they stand
  about.std.assign(about.channels, 1);
  return about;
}

class SampleImages : public Images {
 public:
  explicit SampleImages(OwnDataset s)
      : Images(about_of(s)), samples_(std::move(s)), labels_(samples_.size) {
    std::vector<std::uint32_t> sums(labels_.size());
    parallel_for(labels_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Sample one = sample(i);
        labels_[i] = one.label;
        sums[i] = crc32_of(one.image.data(), one.image.size() * sizeof(real),
                           crc32_of(&one.label, sizeof one.label));
      }
    });
    checksum_ = fmt::format("{:08x}", crc32_of(sums.data(), sums.size() * sizeof sums[0]));
  }

  [[nodiscard]] std::size_t size() const override { return labels_.size(); }
  [[nodiscard]] std::size_t label(std::size_t i) const override { return labels_.at(i); }
  [[nodiscard]] bool are_numbers() const override { return true; }
  void read_numbers(std::size_t i, double* out) const override {
    const Array image = sample(i).image;
    std::copy(image.begin(), image.end(), out);
  }
  void read(std::size_t, const ChooseBox&, std::uint8_t*) const override {
    fail("{}: its samples are numbers, not pixels", samples_.name);
  }
  [[nodiscard]] std::string checksum() const override { return checksum_; }

 private:
  [[nodiscard]] Sample sample(std::size_t i) const {
    Sample one = samples_.sample(i);
    if (one.image.shape() != samples_.shape) {
      fail(Exit::data, "{}: sample {} has the shape {}, not {}", samples_.name, i,
           to_string(one.image.shape()), to_string(samples_.shape));
    }
    if (one.label >= samples_.classes.size()) {
      fail(Exit::data, "{}: sample {} is of class {} among {}", samples_.name, i, one.label,
           samples_.classes.size());
    }
    if (!std::all_of(one.image.begin(), one.image.end(), [](real x) { return std::isfinite(x); })) {
      fail(Exit::data, "{}: sample {} has a number that is NaN or infinite", samples_.name, i);
    }
    return one;
  }

  OwnDataset samples_;
  std::vector<std::size_t> labels_;
  std::string checksum_;
};

}  // namespace

std::shared_ptr<const Images> images_of(OwnDataset data) {
  return std::make_shared<SampleImages>(std::move(data));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
