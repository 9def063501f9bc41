// One decoder, DECODE: every byte that it hands on is looked at.

#include "tests/fuzz/fuzz.hpp"
#include "vitruvian/media/decode.hpp"

namespace {

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

void read_one(const std::shared_ptr<const vitruvian::ByteSource>& source) {
  vitruvian::ByteStream stream(*source);
  Sum sum;
  vitruvian::DECODE({stream, 1'000'000}, sum);
}
