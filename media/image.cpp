#include "vitruvian/media/image.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/media/decode.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitruvian {
namespace {

// Keeps a picture as it comes.
class Collector : public RowSink {
 public:
  void start(std::size_t height, std::size_t width, std::size_t channels) override {
    image_ = {height, width, channels, {}};
    image_.pixels.reserve(height * width * channels);  // takes memory only as rows come
  }
  void row(const std::uint8_t* pixels) override {
    image_.pixels.insert(image_.pixels.end(), pixels, pixels + image_.width * image_.channels);
  }
  Image take() { return std::move(image_); }

 private:
  Image image_;
};

// What becomes of one axis: `resized` pixels, of which [begin, begin + the fit's side) are kept.
struct Axis {
  std::size_t resized, begin;
};

// Python's round(): halves to the even neighbour.
std::size_t rounded(double x) { return static_cast<std::size_t>(std::nearbyint(x)); }

std::pair<Axis, Axis> axes(const Fit& fit, std::size_t height, std::size_t width) {
  if (!fit.crop || fit.part) return {{fit.height, 0}, {fit.width, 0}};
  // The shorter side exactly, the longer in proportion, cut to a whole number.
  const std::size_t shorter = fit.shorter_side();
  const bool upright = height > width;
  const std::size_t longer = upright ? shorter * height / width : shorter * width / height;
  const std::size_t h = std::max(upright ? longer : shorter, fit.height);
  const std::size_t w = std::max(upright ? shorter : longer, fit.width);
  return {{h, rounded(static_cast<double>(h - fit.height) / 2)},
          {w, rounded(static_cast<double>(w - fit.width) / 2)}};
}

Box checked(const Box& box, std::size_t height, std::size_t width) {
  if (box.height == 0 || box.width == 0 || box.top + box.height > height ||
      box.left + box.width > width) {
    fail("a part of {} x {} at ({}, {}) is not in a picture of {} x {}", box.height, box.width,
         box.top, box.left, height, width);
  }
  return box;
}

std::uint8_t to_byte(double x) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(x + 0.5), 0.0, 255.0));
}

// Resizes a picture as its rows come: each is resized to the new width, rounded to bytes (as Pillow
// does between the axes), and added to those rows of the result that it belongs to.
class Fitter : public RowSink {
 public:
  explicit Fitter(const Fit& fit) : fit_(fit) {}

  void start(std::size_t height, std::size_t width, std::size_t channels) override {
    width_ = width;
    channels_ = channels;
    const Box whole{0, 0, height, width};
    const auto [vertical, horizontal] = axes(fit_, height, width);
    const Box box = fit_.part ? checked(fit_.part(height, width), height, width) : whole;
    rows_ = antialiased(fit_.filter, box.height, vertical.resized, vertical.begin, fit_.height);
    columns_ =
        antialiased(fit_.filter, box.width, horizontal.resized, horizontal.begin, fit_.width);
    for (Taps& taps : rows_) taps.first += box.top;
    for (Taps& taps : columns_) taps.first += box.left;
    sums_.assign(fit_.height * fit_.width * fit_.channels, 0);
    converted_.resize(width * fit_.channels);
    resized_.resize(fit_.width * fit_.channels);
  }

  void row(const std::uint8_t* pixels) override {
    const std::size_t y = y_++;
    bool wanted = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Taps& taps = rows_[i];
      if (y < taps.first || y >= taps.first + taps.weights.size()) continue;
      if (!std::exchange(wanted, true)) resize(pixels);
      const double w = taps.weights[y - taps.first];
      double* const sum = sums_.data() + i * resized_.size();
      for (std::size_t k = 0; k < resized_.size(); ++k) sum[k] += w * resized_[k];
    }
  }

  Image take() {
    Image image{fit_.height, fit_.width, fit_.channels, {}};
    for (const double sum : sums_) image.pixels.push_back(to_byte(sum));
    return image;
  }

 private:
  void resize(const std::uint8_t* pixels) {
    const std::uint8_t* const row = convert(pixels);
    for (std::size_t x = 0; x < fit_.width; ++x) {
      const Taps& taps = columns_[x];
      for (std::size_t c = 0; c < fit_.channels; ++c) {
        double sum = 0;
        const std::uint8_t* from = row + taps.first * fit_.channels + c;
        for (const double w : taps.weights) {
          sum += w * *from;
          from += fit_.channels;
        }
        resized_[x * fit_.channels + c] = to_byte(sum);
      }
    }
  }

  // The row with as many channels as are wanted.
  const std::uint8_t* convert(const std::uint8_t* pixels) {
    if (channels_ == fit_.channels) return pixels;
    for (std::size_t x = 0; x < width_; ++x) {
      if (channels_ == 1) {
        std::fill_n(converted_.begin() + static_cast<std::ptrdiff_t>(3 * x), 3, pixels[x]);
      } else {  // .299 R + .587 G + .114 B in 16 bits, as Pillow has it
        const std::uint8_t* const rgb = pixels + 3 * x;
        const unsigned grey = 19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 0x8000U;
        converted_[x] = static_cast<std::uint8_t>(grey >> 16U);
      }
    }
    return converted_.data();
  }

  Fit fit_;
  std::size_t width_ = 0, channels_ = 0, y_ = 0;
  std::vector<Taps> rows_, columns_;
  std::vector<double> sums_;
  std::vector<std::uint8_t> converted_, resized_;
};

}  // namespace

std::size_t Fit::shorter_side() const {
  return rounded(static_cast<double>(std::min(height, width)) * 256 / 224);
}

Image read_image(const ByteSource& source, std::uint64_t max_pixels) {
  Collector collector;
  decode(source, max_pixels, collector);
  return collector.take();
}

Image read_image(const std::string& path, std::uint64_t max_pixels) {
  return read_image(RegularFile(path, Exit::data), max_pixels);
}

Image read_image(const std::string& path, const Fit& fit, std::uint64_t max_pixels) {
  Fitter fitter(fit);
  decode(RegularFile(path, Exit::data), max_pixels, fitter);
  return fitter.take();
}

void check_whole(const Image& image) {
  if (image.pixels.empty() || image.pixels.size() != image.height * image.width * image.channels) {
    fail("{} bytes are no picture of {} x {} x {}", image.pixels.size(), image.height, image.width,
         image.channels);
  }
}

void write_png(const std::string& path, const Image& image) {
  write_file_safely(path, encode_png(image));
}

Image fitted(const Image& image, const Fit& fit) {
  check_whole(image);
  Fitter fitter(fit);
  fitter.start(image.height, image.width, image.channels);
  for (std::size_t y = 0; y < image.height; ++y) {
    fitter.row(image.pixels.data() + y * image.width * image.channels);
  }
  return fitter.take();
}

Image shrunk(const Image& image, std::size_t width, std::size_t height) {
  check_whole(image);
  const auto part = [](std::size_t n, std::size_t most) {
    return static_cast<double>(most) / static_cast<double>(n);
  };
  const double scale = std::min(part(image.width, width), part(image.height, height));
  if (scale >= 1) return image;
  const auto scaled = [scale](std::size_t n) {
    return static_cast<std::size_t>(
        std::max(1.0, std::floor(static_cast<double>(n) * scale + 1e-9)));
  };
  return fitted(
      image, {scaled(image.height), scaled(image.width), image.channels, Filter::bilinear, false});
}

Image from_planes(const std::uint8_t* planes, std::size_t channels, std::size_t height,
                  std::size_t width) {
  const std::size_t plane = height * width;
  Image image{height, width, channels, std::vector<std::uint8_t>(channels * plane)};
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) image.pixels[i * channels + c] = *planes++;
  }
  return image;
}

void to_planes(const Image& image, std::uint8_t* planes) {
  check_whole(image);
  const std::size_t plane = image.height * image.width;
  for (std::size_t c = 0; c < image.channels; ++c) {
    for (std::size_t i = 0; i < plane; ++i) *planes++ = image.pixels[i * image.channels + c];
  }
}

Image in_rgb(const Image& image) {
  check_whole(image);
  if (image.channels == 3) return image;
  Image rgb{image.height, image.width, 3, {}};
  rgb.pixels.reserve(3 * image.pixels.size());
  for (const std::uint8_t p : image.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, p);
  return rgb;
}

Image enlarged(const Image& image, std::size_t scale) {
  check_whole(image);
  Image large{image.height * scale, image.width * scale, image.channels, {}};
  large.pixels.reserve(image.pixels.size() * scale * scale);
  for (std::size_t i = 0; i < large.height * large.width; ++i) {
    const std::size_t from = i / large.width / scale * image.width + i % large.width / scale;
    for (std::size_t c = 0; c < image.channels; ++c) {
      large.pixels.push_back(image.pixels[from * image.channels + c]);
    }
  }
  return large;
}

Image tiled(const std::vector<Image>& pictures, std::size_t columns) {
  if (pictures.empty() || columns == 0) fail("tiled: no pictures, or no columns");
  const std::size_t height = pictures[0].height + 1;  // with a line
  const std::size_t width = pictures[0].width + 1;
  columns = std::min(columns, pictures.size());
  const std::size_t rows = (pictures.size() + columns - 1) / columns;
  Image sheet{rows * height - 1, columns * width - 1, 3, {}};
  sheet.pixels.assign(sheet.height * sheet.width * 3, 128);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Image rgb = in_rgb(pictures[i]);
    if (rgb.height + 1 != height || rgb.width + 1 != width) {
      fail("tiled: a picture of {} x {} pixels among others of {} x {}", rgb.height, rgb.width,
           height - 1, width - 1);
    }
    const std::size_t corner = i / columns * height * sheet.width + i % columns * width;
    for (std::size_t y = 0; y < rgb.height; ++y) {
      const auto row = rgb.pixels.begin() + static_cast<std::ptrdiff_t>(3 * y * rgb.width);
      std::copy_n(
          row, 3 * rgb.width,
          sheet.pixels.begin() + static_cast<std::ptrdiff_t>(3 * (corner + y * sheet.width)));
    }
  }
  return sheet;
}

}  // namespace vitruvian
