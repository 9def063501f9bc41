// One reader of data sets, READ: idx, cifar, gzip or tar.

#include "tests/fuzz/fuzz.hpp"
#include "vitruvian/datasets/fetch/file.hpp"
#include "vitruvian/datasets/fetch/unpack.hpp"
#include "vitruvian/datasets/formats/cifar.hpp"
#include "vitruvian/datasets/formats/idx.hpp"

#include <cstdlib>

namespace {

using vitruvian::ByteSource;

// Images or labels: the magic number says which.
[[maybe_unused]] void idx(const ByteSource& source) {
  try {
    const vitruvian::IdxImages images = vitruvian::read_idx_images(source);
    if (images.pixels.size() != images.count * images.height * images.width) std::abort();
  } catch (const vitruvian::Error&) {
    for (const std::uint8_t label : vitruvian::read_idx_labels(source, 10)) {
      if (label >= 10) std::abort();
    }
  }
}

// One record, of CIFAR-10 or else of CIFAR-100.
[[maybe_unused]] void cifar(const ByteSource& source) {
  vitruvian::Dataset data = vitruvian::empty_cifar10();
  try {
    vitruvian::append_cifar10(data, source, 1);
  } catch (const vitruvian::Error&) {
    data = vitruvian::empty_cifar100(false);
    vitruvian::append_cifar100(data, source, 1);
  }
  if (data.pixels.size() != 3072 || data.labels.at(0) >= data.classes) std::abort();
}

[[maybe_unused]] void gzip(const ByteSource& source) {
  vitruvian::DataFile file(source);
  for (const std::uint64_t n : {1, 1000, 100'000}) {
    if (file.take(n, "bytes").size() != n) std::abort();
  }
  file.expect_end();
}

class Counting final : public vitruvian::TarSink {
 public:
  void folder(const std::filesystem::path& path) override { check(path); }
  void file(const std::filesystem::path& path) override { check(path); }
  void bytes(std::span<const char> some) override { total_ += some.size(); }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  static void check(const std::filesystem::path& path) {
    if (path.is_absolute()) std::abort();
    for (const auto& part : path) {
      if (part == "..") std::abort();
    }
  }
  std::size_t total_ = 0;
};

[[maybe_unused]] void tar(const ByteSource& source) {
  constexpr std::size_t most = 100'000;
  Counting sink;
  vitruvian::read_tar(source, most, sink);
  if (sink.total() > most) std::abort();
}

}  // namespace

void read_one(const std::shared_ptr<const ByteSource>& source) { READ(*source); }
