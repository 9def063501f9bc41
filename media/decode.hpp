#pragma once

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"

#include <cstddef>
#include <cstdint>

// The decoders: they read bytes and hand on rows. Internal to media.

namespace vitruvian {

/// Who takes a picture, row by row.
class RowSink {
 public:
  RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;
  virtual ~RowSink() = default;
  /// Once, before the rows. Channels are 1 or 3.
  virtual void start(std::size_t height, std::size_t width, std::size_t channels) = 0;
  /// width * channels bytes.
  virtual void row(const std::uint8_t* pixels) = 0;
};

/// A picture's bytes, from their beginning, and how large it may be.
struct Packed {
  ByteStream& stream;
  std::uint64_t max_pixels;

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(Exit::data, "{}: {}", stream.source().name(),
         fmt::format(format, std::forward<Args>(args)...));
  }
  /// Throws where a picture of this size is not to be read. `whole` is one that must be in memory.
  void check_size(std::uint64_t width, std::uint64_t height, bool whole) const;
};

/// By the first bytes.
void decode(const ByteSource& source, std::uint64_t max_pixels, RowSink& sink);
void decode_png(const Packed& packed, RowSink& sink);
void decode_jpeg(const Packed& packed, RowSink& sink);
void decode_pnm(const Packed& packed, RowSink& sink);

}  // namespace vitruvian
