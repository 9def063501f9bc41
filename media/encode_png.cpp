#include "vitruvian/media/encode_png.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <zlib.h>

#include <cstdint>
#include <string_view>

namespace vitruvian {
namespace {

// The names of the PNG specification (ISO/IEC 15948), sections 5 and 11.2.

void append_u32(std::string& bytes, std::size_t n) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>((n >> shift) & 0xFFU);
}

void append_chunk(std::string& png, std::string_view type, std::string_view data) {
  append_u32(png, data.size());
  const std::size_t begin = png.size();
  png.append(type).append(data);
  const auto* checked = reinterpret_cast<const Bytef*>(png.data() + begin);
  append_u32(png, crc32(0, checked, static_cast<uInt>(png.size() - begin)));
}

// Every row as its difference from the row above (filter 2, "Up"): zeros wherever a picture was
// enlarged by repeating pixels, as ours are.
std::string filtered_rows(const Image& image) {
  const std::size_t length = image.width * image.channels;
  std::string rows;
  rows.reserve(image.height * (length + 1));
  for (std::size_t y = 0; y < image.height; ++y) {
    rows += '\2';
    for (std::size_t i = y * length; i < (y + 1) * length; ++i) {
      const unsigned above = y == 0 ? 0U : image.pixels[i - length];
      rows += static_cast<char>(static_cast<std::uint8_t>(image.pixels[i] - above));
    }
  }
  return rows;
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()),
                               static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  if (status != Z_OK) fail("encode_png: zlib says {}", zError(status));
  result.resize(size);
  return result;
}

}  // namespace

std::string encode_png(const Image& image) {
  if (image.channels != 1 && image.channels != 3) {
    fail("encode_png: a picture of {} channels; PNG is written with 1 or 3", image.channels);
  }
  if (image.height == 0 || image.width == 0 || image.height > 65'535 || image.width > 65'535 ||
      std::uint64_t{image.height} * image.width > usual_max_pixels) {
    fail("encode_png: {} x {} pixels; expected at least one and at most {}", image.height,
         image.width, usual_max_pixels);
  }
  if (image.pixels.size() != image.height * image.width * image.channels) {
    fail("encode_png: {} bytes, but {} x {} x {} are expected", image.pixels.size(), image.height,
         image.width, image.channels);
  }
  std::string header;
  append_u32(header, image.width);
  append_u32(header, image.height);
  header += '\x08';                             // bits a channel
  header += image.channels == 1 ? '\0' : '\2';  // grey, or RGB
  header.append(3, '\0');                       // deflate, filters of type 0 to 4, not interlaced

  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", deflated(filtered_rows(image)));
  append_chunk(png, "IEND", {});
  return png;
}

void write_png(const std::string& path, const Image& image) {
  write_file_safely(path, encode_png(image));
}

}  // namespace vitruvian
