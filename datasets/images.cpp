#include "vitruvian/datasets/images.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/checksum.hpp"

#include <algorithm>

namespace vitruvian {
namespace {

Dataset without_pixels(const Dataset& data) {
  return {data.name, data.channels,    data.height, data.width, data.classes, {},
          {},        data.class_names, data.mean,   data.std};
}

}  // namespace

void Images::read_numbers(std::size_t /*i*/, double* /*out*/) const {
  fail("{}: its pictures are pixels, not numbers", about_.name);
}

MemoryImages::MemoryImages(Dataset data) : Images(without_pixels(data)), data_(std::move(data)) {
  if (data_.pixels.size() != data_.size() * data_.image_size()) {
    fail(Exit::data, "{}: {} bytes of pixels are not {} images of {} x {} x {}", data_.name,
         data_.pixels.size(), data_.size(), data_.channels, data_.height, data_.width);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (data_.labels[i] < data_.classes) continue;
    fail(Exit::data, "{}: image {} is of class {} among {}", data_.name, i, data_.labels[i],
         data_.classes);
  }
}

std::size_t MemoryImages::label(std::size_t i) const {
  if (i >= size()) fail("{}: there is no image {} among {}", data_.name, i, size());
  return data_.labels[i];
}

void MemoryImages::read(std::size_t i, const ChooseBox& choose, std::uint8_t* out) const {
  const auto image = data_.image(i);
  if (!choose) {
    std::copy(image.begin(), image.end(), out);
    return;
  }
  const Planes to{data_.channels, data_.height, data_.width, out};
  resized_crop(image.data(), to.height, to.width, choose(to.height, to.width), to);
}

std::string MemoryImages::checksum() const {
  if (!Checksum::available()) return "";
  Checksum checksum;
  checksum.update(fmt::format("{} {} {} {} {}\n", size(), data_.channels, data_.height, data_.width,
                              data_.classes));
  checksum.update(std::span(reinterpret_cast<const std::uint8_t*>(data_.labels.data()),
                            data_.labels.size() * sizeof data_.labels[0]));
  checksum.update(data_.pixels);
  return checksum.hex();
}

}  // namespace vitruvian
