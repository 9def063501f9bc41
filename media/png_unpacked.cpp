#include "vitruvian/core/base/checksum.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/media/decode.hpp"
#include "vitruvian/media/image.hpp"

#include <cstdint>

// PNG where libpng is not, as in a browser: pictures are written, not packed, and not read.

namespace vitruvian {
namespace {

void append_u32(std::string& to, std::uint32_t x) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(x >> shift);
}

void append_chunk(std::string& png, std::string_view kind, std::string_view data) {
  append_u32(png, static_cast<std::uint32_t>(data.size()));
  const std::string counted = std::string(kind).append(data);
  png += counted;
  append_u32(png, crc32(counted));
}

// RFC 1950 and 1951: a zlib stream of blocks that are stored as they are.
std::string stored(std::string_view bytes) {
  std::string stream = "\x78\x01";
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  do {
    const std::string_view block = bytes.substr(0, 65535);
    bytes.remove_prefix(block.size());
    stream += static_cast<char>(bytes.empty());
    for (const std::size_t n : {block.size(), ~block.size()}) {
      stream += static_cast<char>(n);
      stream += static_cast<char>(n >> 8);
    }
    stream.append(block);
  } while (!bytes.empty());
  append_u32(stream, b << 16U | a);
  return stream;
}

}  // namespace

void decode_png(const Packed& packed, RowSink& /*sink*/) {
  packed.refuse("this program was built without libpng, and reads no PNG");
}

std::string encode_png(const Image& image) {
  if (image.channels != 1 && image.channels != 3) {
    fail("encode_png: a picture of {} channels; PNG is written with 1 or 3", image.channels);
  }
  check_whole(image);
  const std::size_t row = image.width * image.channels;
  std::string header;
  append_u32(header, static_cast<std::uint32_t>(image.width));
  append_u32(header, static_cast<std::uint32_t>(image.height));
  header += "\x08";  // bits
  header += image.channels == 1 ? '\0' : '\x02';
  header.append(3, '\0');
  std::string rows;
  for (std::size_t y = 0; y < image.height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(image.pixels.data()) + y * row, row);
  }
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", stored(rows));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace vitruvian
