#include "media/decode.hpp"

#include <array>
#include <string_view>

namespace vitruvian {
namespace {

constexpr std::uint64_t longest_side = 65'535;

}  // namespace

void Source::check_size(std::uint64_t width, std::uint64_t height, bool whole) const {
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

void decode(const Source& source, RowSink& sink) {
  std::array<char, 4> start{};
  const std::size_t n = std::fread(start.data(), 1, start.size(), source.stream);
  std::rewind(source.stream);
  const std::string_view magic(start.data(), n);
  if (magic == "\x89PNG") return decode_png(source, sink);
  if (magic.starts_with("\xFF\xD8")) return decode_jpeg(source, sink);
  if (n > 1 && magic[0] == 'P' && magic[1] >= '1' && magic[1] <= '7') {
    return decode_pnm(source, sink);
  }
  source.refuse("{}; PNG, JPEG, PGM and PPM are read",
                n == 0 ? "an empty file" : "not a picture that is known here");
}

}  // namespace vitruvian
