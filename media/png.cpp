#include "media/decode.hpp"

#if VITRUVIAN_HAS_PNG
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_PNG
namespace {

// libpng reports an error by calling a function that must not return: it jumps back to where libpng
// was called, over frames of C only.
class PngReader {
 public:
  explicit PngReader(const Source& source) : source_(source) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, &on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) source.refuse("libpng does not start");
    png_set_read_fn(png_, this, &on_read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

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
  [[noreturn]] void failed() const { source_.refuse("damaged PNG: {}", message_); }

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
    const PngReader& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (std::fread(out, 1, n, self.source_.stream) != n) png_error(png, "it is cut short");
  }

  const Source& source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[128] = {};
};

}  // namespace

void decode_png(const Source& source, RowSink& sink) {
  PngReader reader(source);
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
  source.check_size(width, height, interlaced);

  std::size_t channels = 0;
  int passes = 1;
  reader.run([&](png_structp png, png_infop info) {
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
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
  png_byte* const rows = buffer.data();
  sink.start(height, width, channels);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) {
      png_byte* const row = interlaced ? rows + y * length : rows;
      reader.run([row](png_structp png, png_infop) { png_read_row(png, row, nullptr); });
      if (pass == passes - 1) sink.row(row);
    }
  }
  reader.run([](png_structp png, png_infop) { png_read_end(png, nullptr); });
}

#else

void decode_png(const Source& source, RowSink&) {
  source.refuse("this build cannot read PNG: it was made without libpng");
}

#endif

}  // namespace vitruvian
