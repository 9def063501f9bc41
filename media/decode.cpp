#include "vitruvian/media/decode.hpp"

#include <array>
#include <string_view>

namespace vitruvian {
namespace {

constexpr std::uint64_t longest_side = 65'535;

}  // namespace

void Packed::check_size(std::uint64_t width, std::uint64_t height, bool whole) const {
  if (width == 0 || height == 0) refuse("a picture of {} x {} pixels", width, height);
  if (width > longest_side || height > longest_side) {
    refuse("{} x {} pixels: sides above {} are not read", width, height, longest_side);
  }
  const std::uint64_t limit = whole ? max_pixels / 4 : max_pixels;
  if (width * height > limit) {
    refuse("{} x {} pixels are more than {}{}; --max-pixels raises the limit", width, height, limit,
           whole ? ", the limit for interlaced and progressive pictures" : "");
  }
}

void decode(const ByteSource& source, std::uint64_t max_pixels, RowSink& sink) {
  std::array<char, 4> start{};
  const std::size_t n = ByteStream(source).read(start.data(), start.size());
  ByteStream stream(source);
  const Packed packed{stream, max_pixels};
  const std::string_view magic(start.data(), n);
  if (magic == "\x89PNG") return decode_png(packed, sink);
  if (magic.starts_with("\xFF\xD8")) return decode_jpeg(packed, sink);
  if (n > 1 && magic[0] == 'P' && magic[1] >= '1' && magic[1] <= '7') {
    return decode_pnm(packed, sink);
  }
  packed.refuse("{}; PNG, JPEG, PGM and PPM are read",
                n == 0 ? "an empty file" : "not a picture that is known here");
}

}  // namespace vitruvian
