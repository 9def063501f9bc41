#include "vitruvian/datasets/loader.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
Loader::Loader(std::shared_ptr<const Images> images, LoaderOptions options)
    : images_(std::move(images)), options_(std::move(options)) {
  const AugmentOptions& augment = options_.augment;
  augment.validate();
  if (images_->are_numbers() && (augment.crop_padding > 0 || augment.random_resized_crop ||
                                 augment.flip > 0 || augment.randaugment_ops > 0)) {
    fail(Exit::usage, "{}: its samples are numbers; crops, flips and RandAugment change pixels",
         images_->about().name);
  }
  const Dataset& about = images_->about();
  for (const std::size_t i : options_.subset) {
    if (i < images_->size()) continue;
    fail(Exit::usage, "{}: there is no image {} among {}", about.name, i, images_->size());
  }
  if (options_.mean.empty()) options_.mean = about.mean;
  if (options_.std.empty()) options_.std = about.std;
  if (options_.mean.size() != about.channels || options_.std.size() != about.channels) {
    fail(Exit::usage, "{}: {} as many means and standard deviations; found {} and {}", about.name,
         about.channels == 1 ? "1 channel needs" : fmt::format("{} channels need", about.channels),
         options_.mean.size(), options_.std.size());
  }
  for (std::size_t c = 0; c < about.channels; ++c) {
    if (std::isfinite(options_.mean[c]) && options_.std[c] > 0) continue;
    fail(Exit::usage, "{}: mean {} and standard deviation {} of channel {} normalise no pixels",
         about.name, options_.mean[c], options_.std[c], c);
  }
  // A pixel has 256 values: normalise each once.
  table_.resize(about.channels);
  for (std::size_t c = 0; c < about.channels; ++c) {
    for (std::size_t x = 0; x < 256; ++x) {
      table_[c][x] = (static_cast<double>(x) / 255.0 - options_.mean[c]) / options_.std[c];
    }
  }
}

Loader::Loader(Dataset data, LoaderOptions options)
    : Loader(std::make_shared<MemoryImages>(std::move(data)), std::move(options)) {}

std::size_t Loader::size() const {
  return options_.subset.empty() ? images_->size() : options_.subset.size();
}

std::size_t Loader::number(std::size_t i) const {
  if (i >= size()) {
    fail("{}: there is no image {} among {}", images_->about().name, i, size());
  }
  return options_.subset.empty() ? i : options_.subset[i];
}

std::size_t Loader::label(std::size_t i) const { return images_->label(number(i)); }

Rng Loader::stream(const char* purpose, std::uint64_t epoch, std::size_t number) const {
  return Rng(options_.seed).fork(purpose, {epoch, number});
}

void Loader::read(std::size_t number, const Rng& rng, std::vector<std::uint8_t>& out) const {
  thread_local std::vector<std::uint8_t> scratch;  // a thread's pictures share it
  const AugmentOptions& augment = options_.augment;
  ChooseBox choose;
  if (augment.random_resized_crop) {
    choose = [&](std::size_t height, std::size_t width) {
      return random_box(height, width, augment.crop_scale, rng.fork("resized crop"));
    };
  }
  const Dataset& about = images_->about();
  if (images_->are_numbers()) return;  // see `values`
  out.resize(about.image_size());
  images_->read(number, choose, out.data());
  vitruvian::augment(augment, rng, {about.channels, about.height, about.width, out.data()},
                     scratch);
}

template <class T>
void Loader::values(std::size_t number, const std::vector<std::uint8_t>& pixels, T* out) const {
  const Dataset& about = images_->about();
  if (images_->are_numbers()) {
    std::vector<double> numbers(about.image_size());
    images_->read_numbers(number, numbers.data());
    for (const double x : numbers) *out++ = static_cast<T>(x);
    return;
  }
  const std::uint8_t* pixel = pixels.data();
  const std::size_t plane = about.height * about.width;
  for (const auto& of_pixel : table_) {
    for (std::size_t i = 0; i < plane; ++i) *out++ = static_cast<T>(of_pixel[*pixel++]);
  }
}

template <class T>
void Loader::erase(const Rng& rng, T* out) const {
  const Dataset& about = images_->about();
  const Box box = random_erased(options_.augment, about.height, about.width, rng);
  const Rng noise = rng.fork("erasing noise");
  std::uint64_t drawn = 0;
  for (std::size_t c = 0; c < about.channels; ++c) {
    for (std::size_t y = box.top; y < box.top + box.height; ++y) {
      T* const row = out + (c * about.height + y) * about.width + box.left;
      for (std::size_t x = 0; x < box.width; ++x) {
        row[x] = options_.augment.erasing_noise ? static_cast<T>(noise.normal(drawn++)) : T(0);
      }
    }
  }
}

Mixing Loader::mixing(std::uint64_t epoch, std::size_t number) const {
  const Dataset& about = images_->about();
  return random_mixing(options_.augment, about.height, about.width, stream("mix", epoch, number));
}

std::size_t Loader::partner(std::uint64_t epoch, std::size_t number) const {
  return this->number(static_cast<std::size_t>(stream("partner", epoch, number).below(size(), 0)));
}

void Loader::prepare(std::size_t i, std::uint64_t epoch, Prepared& prepared) const {
  const std::size_t own = number(i);
  read(own, stream("augment", epoch, own), prepared.own);
  if (mixing(epoch, own).lambda >= 1) return;
  read(partner(epoch, own), stream("augment partner", epoch, own), prepared.partner);
}

void Loader::announce(std::span<const std::size_t> order, std::uint64_t epoch, std::size_t bound) {
  prefetcher_.reset();
  if (!images_->slow()) return;
  announced_epoch_ = epoch;
  prefetcher_ = std::make_unique<Prefetcher>(
      [this, epoch](std::size_t i, Prepared& prepared) { prepare(i, epoch, prepared); },
      std::vector<std::size_t>(order.begin(), order.end()), bound, threads());
}

template <class T>
void Loader::load_one(std::size_t i, std::uint64_t epoch, T* out, double* targets) const {
  thread_local Prepared prepared;
  const bool was_prefetched =
      prefetcher_ && epoch == announced_epoch_ && prefetcher_->take(i, prepared);
  if (!was_prefetched) prepare(i, epoch, prepared);

  const Dataset& about = images_->about();
  const std::size_t own = number(i);
  values(own, prepared.own, out);
  erase(stream("augment", epoch, own), out);
  if (targets == nullptr) return;
  const Mixing mixed = mixing(epoch, own);
  targets[images_->label(own)] += mixed.lambda;
  if (mixed.lambda >= 1) return;
  targets[images_->label(partner(epoch, own))] += 1 - mixed.lambda;
  std::vector<T> other(about.image_size());
  values(partner(epoch, own), prepared.partner, other.data());
  erase(stream("augment partner", epoch, own), other.data());
  const Box& box = mixed.box;
  if (box.height == 0) {
    const T share = static_cast<T>(mixed.lambda);
    for (std::size_t k = 0; k < other.size(); ++k) {
      out[k] = share * out[k] + (1 - share) * other[k];
    }
    return;
  }
  for (std::size_t c = 0; c < about.channels; ++c) {
    for (std::size_t y = box.top; y < box.top + box.height; ++y) {
      const std::size_t row = (c * about.height + y) * about.width + box.left;
      std::copy_n(other.data() + row, box.width, out + row);
    }
  }
}

template <class T>
Labels Loader::load(std::span<const std::size_t> indices, std::uint64_t epoch, T* out) const {
  const Dataset& about = images_->about();
  Labels labels;
  if (mixes()) labels.targets.assign(indices.size() * about.classes, 0);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    load_one(indices[k], epoch, out + k * about.image_size(),
             mixes() ? labels.targets.data() + k * about.classes : nullptr);
    labels.classes.push_back(label(indices[k]));
  }
  return labels;
}

Image Loader::picture(std::size_t i) const {
  const Dataset& about = images_->about();
  std::vector<std::uint8_t> pixels(about.image_size());
  if (images_->are_numbers()) {  // from the smallest, black, to the largest
    std::vector<double> x(pixels.size());
    images_->read_numbers(number(i), x.data());
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    const double scale = *high > *low ? 255 / (*high - *low) : 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      pixels[k] = static_cast<std::uint8_t>(std::lround((x[k] - *low) * scale));
    }
  } else {
    images_->read(number(i), {}, pixels.data());
  }
  return from_planes(pixels.data(), about.channels == 3 ? 3 : 1, about.height, about.width);
}

template <class T>
std::vector<std::size_t> Loader::load_plain(std::span<const std::size_t> indices, T* out) const {
  const std::size_t n = images_->about().image_size();
  std::vector<std::uint8_t> pixels(n);
  std::vector<std::size_t> classes;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::size_t own = number(indices[k]);
    if (!images_->are_numbers()) images_->read(own, {}, pixels.data());
    values(own, pixels, out + k * n);
    classes.push_back(label(indices[k]));
  }
  return classes;
}

template Labels Loader::load(std::span<const std::size_t>, std::uint64_t, float*) const;
template Labels Loader::load(std::span<const std::size_t>, std::uint64_t, double*) const;
template std::vector<std::size_t> Loader::load_plain(std::span<const std::size_t>, float*) const;
template std::vector<std::size_t> Loader::load_plain(std::span<const std::size_t>, double*) const;

}  // namespace vitruvian
