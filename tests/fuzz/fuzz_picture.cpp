// libFuzzer's target for one decoder, DECODE: any bytes give a picture or an Error, nothing else.

#include "core/error.hpp"
#include "media/decode.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>

namespace {

// Reads every byte that a decoder hands on.
class Sum : public vitruvian::RowSink {
 public:
  void start(std::size_t /*height*/, std::size_t width, std::size_t channels) override {
    length_ = width * channels;
  }
  void row(const std::uint8_t* pixels) override {
    for (std::size_t i = 0; i < length_; ++i) sum_ = sum_ + pixels[i];
  }

 private:
  std::size_t length_ = 0;
  volatile unsigned sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
      ::fmemopen(const_cast<std::uint8_t*>(data), size, "rb"), &std::fclose);
  const std::string name = "f";
  Sum sum;
  try {
    vitruvian::DECODE({stream.get(), name, 1'000'000}, sum);
  } catch (const vitruvian::Error&) {  // NOLINT(bugprone-empty-catch): the way to refuse
  }
  return 0;
}
