#pragma once

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/resample.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Pictures from files that users bring: PNG, JPEG, PGM and PPM, told apart by their first bytes.

namespace vitruvian {

/// A picture of unsigned bytes, row by row, the channels of a pixel side by side: (H, W, C), grey
/// (one channel) or RGB (three).
struct Image {
  std::size_t height = 0, width = 0, channels = 0;
  std::vector<std::uint8_t> pixels;
};

/// A picture with more pixels is refused before anything of its size is allocated; an interlaced
/// PNG or a progressive JPEG, which cannot be read row by row, at a quarter of it. Neither side may
/// be above 65,535, which is JPEG's own limit.
inline constexpr std::uint64_t usual_max_pixels = 100'000'000;

/// A part of a picture: rows [top, top + height), columns [left, left + width).
struct Box {
  std::size_t top = 0, left = 0, height = 0, width = 0;
};

/// A data set's picture, its channels one after the other (C, H, W), as an image.
Image from_planes(const std::uint8_t* planes, std::size_t channels, std::size_t height,
                  std::size_t width);
/// The way back: writes (C, H, W) bytes.
void to_planes(const Image& image, std::uint8_t* planes);

/// A grey picture as RGB; one in RGB as it is.
Image in_rgb(const Image& image);
/// Every pixel repeated to scale x scale.
Image enlarged(const Image& image, std::size_t scale);
/// RGB pictures of one size in rows of `columns`, with grey lines one pixel wide between them.
/// Throws where there are none, or their sizes differ.
Image tiled(const std::vector<Image>& pictures, std::size_t columns);

/// Chooses a part of a picture of this size.
using ChooseBox = std::function<Box(std::size_t height, std::size_t width)>;

/// How a picture becomes one of height x width pixels. Both ways first resize, with antialias, as
/// Pillow does it (to one grey level).
struct Fit {
  std::size_t height = 224, width = 224;
  std::size_t channels = 3;  ///< 1 or 3; colours become grey by ITU-R 601, grey is repeated
  Filter filter = Filter::bilinear;
  /// torchvision's reference transforms: the shorter side becomes 256/224 of the shorter side asked
  /// for, and the centre is cut out. Without: the whole picture is stretched.
  bool crop = true;
  /// Where it is given: the part of the picture that is stretched, whatever `crop` says.
  ChooseBox part{};

  /// What the shorter side of a picture becomes where the middle is cut out.
  [[nodiscard]] std::size_t shorter_side() const;
};

/// Reads a picture. Alpha is left out, as Pillow's convert("RGB") does; 16 bits are scaled to 8;
/// palettes and less than 8 bits are expanded. The orientation that a camera notes is not applied.
/// Throws (Exit::data), in one line that names the file, where it is no such picture, is cut short
/// or damaged, or too large, and where the build has no library for it.
Image read_image(const ByteSource& source, std::uint64_t max_pixels = usual_max_pixels);
Image read_image(const std::string& path, std::uint64_t max_pixels = usual_max_pixels);
/// The same and fitted, row by row: a large picture is never in memory.
Image read_image(const std::string& path, const Fit& fit,
                 std::uint64_t max_pixels = usual_max_pixels);
/// Throws where the bytes of a picture are not height * width * channels, or there are none: as all
/// that take one do.
void check_whole(const Image& image);
/// A picture that is in memory, fitted.
Image fitted(const Image& image, const Fit& fit);
/// The picture, in proportion, at most so wide and so high; one that is small enough as it is.
Image shrunk(const Image& image, std::size_t width, std::size_t height);

/// The bytes of a PNG file that holds the picture, 8 bits a channel, grey or RGB. Throws where the
/// picture is empty, has other than 1 or 3 channels, or not height * width * channels bytes.
std::string encode_png(const Image& image);

/// Writes them to a file, safely: see write_file_safely, whose errors it throws.
void write_png(const std::string& path, const Image& image);

}  // namespace vitruvian
