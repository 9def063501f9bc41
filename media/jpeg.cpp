#include "vitruvian/media/decode.hpp"

#if VITRUVIAN_HAS_JPEG
#include <cstdio>  // jpeglib.h needs its FILE

#include <jpeglib.h>
// jerror.h after it
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <span>
#include <vector>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_JPEG
namespace {

// A progressive picture comes in scans, each of which costs time; encoders write about ten.
constexpr int most_scans = 32;

// libjpeg reports an error by calling a function that must not return: it jumps back to where
// libjpeg was called, over frames of C only.
class JpegReader {
 public:
  explicit JpegReader(const Packed& packed) : packed_(packed) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &stop;
    errors_.emit_message = &on_message;
    errors_.output_message = [](j_common_ptr) {};
    jpeg_.client_data = this;
    run([](jpeg_decompress_struct* jpeg) { jpeg_create_decompress(jpeg); });
    progress_.progress_monitor = &on_progress;
    jpeg_.progress = &progress_;
    bytes_.init_source = [](j_decompress_ptr) {};
    bytes_.fill_input_buffer = &on_empty;
    bytes_.skip_input_data = &on_skip;
    bytes_.resync_to_restart = &jpeg_resync_to_restart;
    bytes_.term_source = [](j_decompress_ptr) {};
    jpeg_.src = &bytes_;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Calls libjpeg. What `call` captures must have no destructor.
  template <class Call>
  void run(const Call& call) {
    if (setjmp(jump_) == 0) {
      call(&jpeg_);
    } else {
      failed();
    }
  }
  [[nodiscard]] jpeg_decompress_struct& jpeg() { return jpeg_; }

 private:
  [[noreturn]] void failed() const { packed_.refuse("{}", message_); }

  [[noreturn]] static void stop(j_common_ptr jpeg) {
    JpegReader& self = *static_cast<JpegReader*>(jpeg->client_data);
    char text[JMSG_LENGTH_MAX] = {};
    jpeg->err->format_message(jpeg, text);
    if (jpeg->err->msg_code == JERR_NO_BACKING_STORE) {
      std::snprintf(self.message_, sizeof self.message_,
                    "a progressive JPEG that takes too much memory; --max-pixels of predict and "
                    "inspect raises the limit");
    } else {
      std::snprintf(self.message_, sizeof self.message_, "damaged JPEG: %.100s", text);
    }
    std::longjmp(self.jump_, 1);
  }
  // Level -1 is a warning: the data are damaged and libjpeg would invent the rest. Bytes between
  // markers that belong to nobody, and odd version numbers, are harmless and common.
  static void on_message(j_common_ptr jpeg, int level) {
    const int code = jpeg->err->msg_code;
    if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR) return;
    stop(jpeg);
  }
  // At the end of the file libjpeg is handed the marker of an end, after a warning, which stops it.
  static boolean on_empty(j_decompress_ptr jpeg) {
    static constexpr JOCTET end[2] = {0xFF, JPEG_EOI};
    const JpegReader& self = *static_cast<JpegReader*>(jpeg->client_data);
    std::span<const char> bytes;
    try {
      bytes = self.packed_.stream.next();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): none may pass through libjpeg
    }
    if (bytes.empty()) WARNMS(jpeg, JWRN_JPEG_EOF);
    const bool at_end = bytes.empty();
    jpeg->src->next_input_byte = at_end ? end : reinterpret_cast<const JOCTET*>(bytes.data());
    jpeg->src->bytes_in_buffer = at_end ? sizeof end : bytes.size();
    return TRUE;
  }
  static void on_skip(j_decompress_ptr jpeg, long n) {
    if (n <= 0) return;
    auto left = static_cast<std::size_t>(n);
    for (; left > jpeg->src->bytes_in_buffer; on_empty(jpeg)) left -= jpeg->src->bytes_in_buffer;
    jpeg->src->next_input_byte += left;
    jpeg->src->bytes_in_buffer -= left;
  }
  static void on_progress(j_common_ptr jpeg) {
    if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= most_scans) return;
    JpegReader& self = *static_cast<JpegReader*>(jpeg->client_data);
    std::snprintf(self.message_, sizeof self.message_, "damaged JPEG: more than %d scans",
                  most_scans);
    std::longjmp(self.jump_, 1);
  }

  const Packed& packed_;
  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_source_mgr bytes_ = {};
  std::jmp_buf jump_ = {};
  char message_[160] = {};
};

}  // namespace

void decode_jpeg(const Packed& packed, RowSink& sink) {
  JpegReader reader(packed);
  reader.run([](jpeg_decompress_struct* jpeg) { jpeg_read_header(jpeg, TRUE); });
  const bool whole = jpeg_has_multiple_scans(&reader.jpeg()) != 0;
  packed.check_size(reader.jpeg().image_width, reader.jpeg().image_height, whole);
  const int colours = reader.jpeg().num_components;
  if (colours != 1 && colours != 3) {
    packed.refuse("a JPEG of {} components (CMYK?); grey and RGB are read", colours);
  }
  // A quarter of the pixels, at three bytes: what check_size lets pass with halved colours.
  const auto memory = static_cast<long>(std::min<std::uint64_t>(
      std::max<std::uint64_t>(packed.max_pixels / 4 * 3, 4U << 20U), 1U << 30U));
  reader.run([colours, memory](jpeg_decompress_struct* jpeg) {
    jpeg->out_color_space = colours == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg->mem->max_memory_to_use = memory;
    jpeg_start_decompress(jpeg);
  });
  const std::size_t height = reader.jpeg().output_height;
  const std::size_t width = reader.jpeg().output_width;
  const auto channels = static_cast<std::size_t>(colours);
  std::vector<JSAMPLE> buffer(width * channels);
  JSAMPLE* const row = buffer.data();
  sink.start(height, width, channels);
  for (std::size_t y = 0; y < height; ++y) {
    reader.run([row](jpeg_decompress_struct* jpeg) {
      JSAMPROW rows[1] = {row};
      jpeg_read_scanlines(jpeg, rows, 1);
    });
    sink.row(row);
  }
  reader.run([](jpeg_decompress_struct* jpeg) { jpeg_finish_decompress(jpeg); });
}

#else

void decode_jpeg(const Packed& packed, RowSink&) {
  packed.refuse("this build cannot read JPEG: it was made without libjpeg");
}

#endif

}  // namespace vitruvian
