#include "vitruvian/media/decode.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace vitruvian {
void Packed::check_size(std::uint64_t width, std::uint64_t height, bool whole) const {
  constexpr std::uint64_t longest_side = 65'535;
  if (width == 0 || height == 0) refuse("a picture of {} x {} pixels", width, height);
  if (width > longest_side || height > longest_side) {
    refuse("{} x {} pixels: sides above {} are not read", width, height, longest_side);
  }
  const std::uint64_t limit = whole ? max_pixels / 4 : max_pixels;
  if (width * height > limit) {
    refuse("{} x {} pixels are more than {}{}; --max-pixels of predict and inspect raises it",
           width, height, limit,
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

namespace {

// PGM and PPM, Netpbm's simplest formats: "P5" or "P6", width, height and the largest value as
// decimal numbers with white space and # comments between them, one white space, and the samples,
// two bytes each, the higher one first, where the largest value is above 255.

bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next number of the header.
std::uint64_t number(const Packed& packed) {
  int c = packed.stream.get();
  while (is_space(c) || c == '#') {
    if (c == '#') {
      while (c != '\n' && c >= 0) c = packed.stream.get();
    }
    c = packed.stream.get();
  }
  constexpr std::uint64_t largest = 1'000'000'000;
  std::uint64_t n = 0;
  bool digits = false;
  for (; c >= '0' && c <= '9' && n < largest; c = packed.stream.get()) {
    n = 10 * n + static_cast<std::uint64_t>(c - '0');
    digits = true;
  }
  if (!digits || !is_space(c)) packed.refuse("damaged PNM: a number of its header is missing");
  return n;
}

}  // namespace

void decode_pnm(const Packed& packed, RowSink& sink) {
  packed.stream.get();
  const int kind = packed.stream.get();
  if (kind != '5' && kind != '6') {
    packed.refuse("PNM of kind P{}; P5 (PGM) and P6 (PPM) are read", static_cast<char>(kind));
  }
  const std::uint64_t width = number(packed);
  const std::uint64_t height = number(packed);
  const std::uint64_t largest = number(packed);
  packed.check_size(width, height, false);
  if (largest == 0 || largest > 65535) {
    packed.refuse("damaged PNM: a largest value of {}; 1 to 65535 are allowed", largest);
  }
  const std::size_t channels = kind == '5' ? 1 : 3;
  const std::size_t n = static_cast<std::size_t>(width) * channels;
  const std::size_t bytes = largest > 255 ? 2 : 1;
  std::vector<std::uint8_t> samples(n * bytes);
  std::vector<std::uint8_t> row(n);
  sink.start(static_cast<std::size_t>(height), static_cast<std::size_t>(width), channels);
  for (std::uint64_t y = 0; y < height; ++y) {
    if (packed.stream.read(samples.data(), samples.size()) != samples.size()) {
      packed.refuse("damaged PNM: it is cut short in row {} of {}", y + 1, height);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t value =
          bytes == 1 ? samples[i] : std::uint64_t{samples[2 * i]} << 8U | samples[2 * i + 1];
      if (value > largest) {
        packed.refuse("damaged PNM: a value of {} above its largest, {}", value, largest);
      }
      row[i] = static_cast<std::uint8_t>((value * 255 + largest / 2) / largest);
    }
    sink.row(row.data());
  }
}

}  // namespace vitruvian
