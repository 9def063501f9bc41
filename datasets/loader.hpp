#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/datasets/augment.hpp"
#include "vitruvian/datasets/images.hpp"
#include "vitruvian/datasets/prefetcher.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {

struct LoaderOptions {
  AugmentOptions augment{};
  std::uint64_t seed = 1;
  /// The pictures that are used, by their numbers in the data set, in this order; empty means all.
  std::vector<std::size_t> subset{};
  /// Per channel; empty means the data set's own.
  std::vector<double> mean{}, std{};
};

/// What `Loader::load` says about the pictures it wrote.
struct Labels {
  std::vector<std::size_t> classes;  ///< (n), each picture's own
  std::vector<double> targets;  ///< (n, K) shares of the classes; empty unless pictures are mixed
};

/// Makes batches: reads, augments, normalises. A picture of an epoch is a function of (seed, epoch,
/// its number in the data set) alone: not of its batch, its micro-batch or the thread. Mixing takes
/// a partner from the loader's pictures at random, as mixup's and cutmix's papers state it.
class Loader {
 public:
  /// Throws (Exit::usage) for options that cannot be, or a subset beyond the data set.
  explicit Loader(std::shared_ptr<const Images> images, LoaderOptions options = {});
  explicit Loader(Dataset data, LoaderOptions options = {});
  Loader(const Loader&) = delete;  // threads may be at work for it
  Loader& operator=(const Loader&) = delete;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const Images& images() const { return *images_; }
  /// The class of picture i of the loader.
  [[nodiscard]] std::size_t label(std::size_t i) const;
  [[nodiscard]] bool mixes() const { return options_.augment.mixes(); }

  /// Says in which order the pictures of an epoch will be asked for. Where they are slow to read
  /// (files), background threads prepare up to `bound` of them ahead; what `load` writes is the
  /// same without. It forgets the order before; not while another thread is in `load`.
  void announce(std::span<const std::size_t> order, std::uint64_t epoch, std::size_t bound = 256);

  /// Writes the pictures `indices` (each below `size()`) of epoch `epoch`, normalised, as
  /// (n, C, H, W). Without augmentation: the bits of `normalised_images`. Several threads may call
  /// it at the same time. Throws when there is no such picture or it cannot be read.
  template <class T>
  Labels load(std::span<const std::size_t> indices, std::uint64_t epoch, T* out) const;
  /// The same without augmentation, for an evaluation.
  template <class T>
  std::vector<std::size_t> load_plain(std::span<const std::size_t> indices, T* out) const;
  /// Picture i (below `size()`): to be looked at.
  [[nodiscard]] Image picture(std::size_t i) const;

 private:
  [[nodiscard]] std::size_t number(std::size_t i) const;
  [[nodiscard]] Rng stream(const char* purpose, std::uint64_t epoch, std::size_t number) const;
  void read(std::size_t number, const Rng& rng, std::vector<std::uint8_t>& out) const;
  /// Picture `number`: its pixels, which were read, normalised; or its numbers.
  template <class T>
  void values(std::size_t number, const std::vector<std::uint8_t>& pixels, T* out) const;
  template <class T>
  void erase(const Rng& rng, T* out) const;
  [[nodiscard]] Mixing mixing(std::uint64_t epoch, std::size_t number) const;
  [[nodiscard]] std::size_t partner(std::uint64_t epoch, std::size_t number) const;
  void prepare(std::size_t i, std::uint64_t epoch, Prepared& prepared) const;
  template <class T>
  void load_one(std::size_t i, std::uint64_t epoch, T* out, double* targets) const;

  std::shared_ptr<const Images> images_;
  LoaderOptions options_;
  std::vector<std::array<double, 256>> table_;  // what a channel's pixels are, normalised
  std::uint64_t announced_epoch_ = 0;
  std::unique_ptr<Prefetcher> prefetcher_;
};

/// What every augmentation makes of a few pictures: a row for each, a column for each picture.
struct ContactSheet {
  Image picture;
  std::vector<std::string> rows;  ///< what each row shows, from the top
};
/// Of `columns` pictures that the seed chooses: the pictures themselves, then each way on its own
/// at the references' strength, RandAugment's operations one by one. A function of the pictures and
/// the seed alone. Small pictures are enlarged by a whole number.
ContactSheet contact_sheet(const std::shared_ptr<const Images>& images, std::size_t columns,
                           std::uint64_t seed);

}  // namespace vitruvian
