#include "media/decode.hpp"

#include <cstdio>
#include <vector>

// PGM and PPM, Netpbm's simplest formats: "P5" or "P6", width, height and the largest value as
// decimal numbers with white space and # comments between them, one white space, and the samples,
// two bytes each, the higher one first, where the largest value is above 255.

namespace vitruvian {
namespace {

bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next number of the header.
std::uint64_t number(const Source& source) {
  int c = std::getc(source.stream);
  while (is_space(c) || c == '#') {
    if (c == '#') {
      while (c != '\n' && c != EOF) c = std::getc(source.stream);
    }
    c = std::getc(source.stream);
  }
  constexpr std::uint64_t largest = 1'000'000'000;
  std::uint64_t n = 0;
  bool digits = false;
  for (; c >= '0' && c <= '9' && n < largest; c = std::getc(source.stream)) {
    n = 10 * n + static_cast<std::uint64_t>(c - '0');
    digits = true;
  }
  if (!digits || !is_space(c)) source.refuse("damaged PNM: a number of its header is missing");
  return n;
}

}  // namespace

void decode_pnm(const Source& source, RowSink& sink) {
  std::getc(source.stream);
  const int kind = std::getc(source.stream);
  if (kind != '5' && kind != '6') {
    source.refuse("PNM of kind P{}; P5 (PGM) and P6 (PPM) are read", static_cast<char>(kind));
  }
  const std::uint64_t width = number(source);
  const std::uint64_t height = number(source);
  const std::uint64_t largest = number(source);
  source.check_size(width, height, false);
  if (largest == 0 || largest > 65535) {
    source.refuse("damaged PNM: a largest value of {}; 1 to 65535 are allowed", largest);
  }
  const std::size_t channels = kind == '5' ? 1 : 3;
  const std::size_t n = static_cast<std::size_t>(width) * channels;
  const std::size_t bytes = largest > 255 ? 2 : 1;
  std::vector<std::uint8_t> samples(n * bytes);
  std::vector<std::uint8_t> row(n);
  sink.start(static_cast<std::size_t>(height), static_cast<std::size_t>(width), channels);
  for (std::uint64_t y = 0; y < height; ++y) {
    if (std::fread(samples.data(), 1, samples.size(), source.stream) != samples.size()) {
      source.refuse("damaged PNM: it is cut short in row {} of {}", y + 1, height);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t value =
          bytes == 1 ? samples[i] : std::uint64_t{samples[2 * i]} << 8U | samples[2 * i + 1];
      if (value > largest) {
        source.refuse("damaged PNM: a value of {} above its largest, {}", value, largest);
      }
      row[i] = static_cast<std::uint8_t>((value * 255 + largest / 2) / largest);
    }
    sink.row(row.data());
  }
}

}  // namespace vitruvian
