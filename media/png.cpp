#include "vitruvian/core/base/error.hpp"
#include "vitruvian/media/decode.hpp"
#include "vitruvian/media/image.hpp"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace vitruvian {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// libpng reports an error by calling a function that must not return: it jumps back to where libpng
// was called, over frames of C only.
class PngReader {
 public:
  explicit PngReader(const Packed& packed) : packed_(packed) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, &on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) packed.refuse("libpng does not start");
    png_set_read_fn(png_, this, &on_read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // libpng may read so many bytes more.
  void allow(std::uint64_t bytes) { allowed_ = bytes; }
  // Where in the file libpng is.
  [[nodiscard]] std::uint64_t position() const { return position_; }

  // Calls libpng. What `call` captures must have no destructor.
  template <class Call>
  void run(const Call& call) {
    if (setjmp(png_jmpbuf(png_)) == 0) {
      call(png_, info_);
    } else {
      failed();
    }
  }

 private:
  [[noreturn]] void failed() const { packed_.refuse("damaged PNG: {}", message_); }

  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    PngReader& self = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self.message_, text, sizeof self.message_ - 1);
    for (char& c : self.message_) {
      if (c != '\0' && (c < ' ' || c > '~')) c = '?';
    }
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}  // of chunks that say nothing of pixels
  static void on_read(png_structp png, png_bytep out, std::size_t n) {
    PngReader& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (n > self.allowed_) png_error(png, "more data than its rows need");
    self.allowed_ -= n;
    self.position_ += n;
    bool done = false;
    try {
      done = self.packed_.stream.read(out, n) == n;
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): none may pass through libpng
    }
    if (!done) png_error(png, "it is cut short");
  }

  const Packed& packed_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::uint64_t allowed_ = unlimited;
  std::uint64_t position_ = 0;
  char message_[128] = {};
};

// libpng takes data that come after the last row's for none of its business. The end of the stream
// and its checksum may be among them.
void check_no_more_data(const Packed& packed, std::uint64_t end) {
  const ByteSource& source = packed.stream.source();
  std::uint64_t left = 1000;
  std::array<char, 8> head{};  // a chunk's length and kind
  for (std::uint64_t at = 8; at + head.size() <= source.size();) {
    source.read_at(at, head);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8U | static_cast<unsigned char>(head[i]);
    const std::string_view kind(head.data() + 4, 4);
    if (kind == "IEND") return;
    if (kind == "IDAT" && at >= end) {
      if (length > left) packed.refuse("damaged PNG: more data than its rows need");
      left -= length;
    }
    at += 4 + 4 + length + 4;
  }
}

}  // namespace

void decode_png(const Packed& packed, RowSink& sink) {
  PngReader reader(packed);
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int type = 0;
  int depth = 0;
  int interlace = 0;
  reader.run([&](png_structp png, png_infop info) {
    // Ours say more: see check_size.
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    // Chunks that say nothing of pixels (texts, profiles) are skipped: libpng would make room for
    // as many bytes as they promise.
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png, info);
    png_get_IHDR(png, info, &width, &height, &depth, &type, &interlace, nullptr, nullptr);
  });
  const bool interlaced = interlace != PNG_INTERLACE_NONE;
  packed.check_size(width, height, interlaced);

  std::size_t channels = 0;
  std::size_t bytes_of_row = 0;  // unpacked, as they lie in the file
  png_colorp palette = nullptr;  // libpng's own
  int colours = 0;
  int passes = 1;
  reader.run([&](png_structp png, png_infop info) {
    bytes_of_row = png_get_rowbytes(png, info);
    if (type == PNG_COLOR_TYPE_PALETTE) {
      png_set_packing(png);  // a byte a pixel
      png_get_PLTE(png, info, &palette, &colours);
    }
    if (type == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    channels = png_get_channels(png, info);
    const std::size_t length = static_cast<std::size_t>(width) * channels;
    if ((channels != 1 && channels != 3) || png_get_rowbytes(png, info) != length) {
      png_error(png, "rows of an unexpected length");
    }
  });
  const std::size_t length = static_cast<std::size_t>(width) * channels;
  std::vector<png_byte> buffer(interlaced ? length * height : length);
  // libpng's own way to RGB does not see an index beyond the palette.
  std::vector<std::uint8_t> rgb;
  const auto coloured = [&](const png_byte* indices) {
    rgb.clear();
    for (std::size_t x = 0; x < width; ++x) {
      if (indices[x] >= colours) packed.refuse("damaged PNG: a colour beyond its palette");
      const png_color& colour = palette[indices[x]];
      rgb.insert(rgb.end(), {colour.red, colour.green, colour.blue});
    }
    return rgb.data();
  };
  sink.start(height, width, palette != nullptr ? 3 : channels);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) {
      png_byte* const row = buffer.data() + (interlaced ? y * length : 0);
      if (pass == passes - 1 && y + 1 == height) {
        // With its last row libpng unpacks whatever follows, which may be a thousand times as much
        // as there is, and only warns of it.
        reader.allow(2 * std::uint64_t{bytes_of_row} + 65536);
        reader.run([](png_structp png, png_infop) { png_set_benign_errors(png, 0); });
      }
      reader.run([row](png_structp png, png_infop) { png_read_row(png, row, nullptr); });
      if (pass == passes - 1) sink.row(palette != nullptr ? coloured(row) : row);
    }
  }
  check_no_more_data(packed, reader.position());
  reader.allow(unlimited);
  reader.run([](png_structp png, png_infop) { png_read_end(png, nullptr); });
}

std::string encode_png(const Image& image) {
  if (image.channels != 1 && image.channels != 3) {
    fail("encode_png: a picture of {} channels; PNG is written with 1 or 3", image.channels);
  }
  if (image.height == 0 || image.width == 0 || image.height > 65'535 || image.width > 65'535 ||
      std::uint64_t{image.height} * image.width > usual_max_pixels) {
    fail("encode_png: {} x {} pixels; expected at least one and at most {}", image.height,
         image.width, usual_max_pixels);
  }
  check_whole(image);
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(image.height);
  png.width = static_cast<png_uint_32>(image.width);
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) ==
      0) {
    fail("encode_png: libpng says {}", png.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace vitruvian
