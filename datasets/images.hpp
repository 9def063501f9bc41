#pragma once

#include "vitruvian/datasets/augment.hpp"
#include "vitruvian/datasets/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vitruvian {

/// Labelled pictures of one size, wherever they are: in memory or in files. Several threads may ask
/// at the same time.
class Images {
 public:
  virtual ~Images() = default;
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  /// Name, shape, classes, mean and std; no pixels, no labels.
  [[nodiscard]] const Dataset& about() const { return about_; }
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t label(std::size_t i) const = 0;
  /// Writes picture i, or the part of it that `choose` (when it is not empty) takes of its own
  /// size, as (C, H, W) bytes. Throws when there is no picture i or it cannot be read.
  virtual void read(std::size_t i, const ChooseBox& choose, std::uint8_t* out) const = 0;
  /// Whether `read` takes so long that it is worth doing ahead.
  [[nodiscard]] virtual bool slow() const { return false; }
  /// Whether a picture is numbers as they stand, not pixels of 8 bits to be augmented and
  /// normalised: then `read_numbers` is asked in place of `read`.
  [[nodiscard]] virtual bool are_numbers() const { return false; }
  virtual void read_numbers(std::size_t i, double* out) const;
  /// Of all pictures and labels: whatever differs when they do. Empty where it is not known, as in
  /// a build without OpenSSL.
  [[nodiscard]] virtual std::string checksum() const { return {}; }

 protected:
  explicit Images(Dataset about) : about_(std::move(about)) {}
  Dataset about_;
};

/// A data set that is in memory.
class MemoryImages : public Images {
 public:
  /// Throws (Exit::data) when there are not as many pixels as the labels ask for, or a label is not
  /// below the number of classes.
  explicit MemoryImages(Dataset data);
  [[nodiscard]] std::size_t size() const override { return data_.size(); }
  [[nodiscard]] std::size_t label(std::size_t i) const override;
  void read(std::size_t i, const ChooseBox& choose, std::uint8_t* out) const override;
  [[nodiscard]] std::string checksum() const override;

 private:
  Dataset data_;
};

/// Numbers of pictures, each in ascending order.
struct Parts {
  std::vector<std::size_t> train, validation;
};

/// Sets aside round(fraction n) pictures for validation, of each class in proportion (to one
/// picture), chosen by the seed. Throws (Exit::usage) when the fraction is not above 0 and below 1,
/// or so extreme that one part is empty.
Parts split_validation(std::span<const std::size_t> labels, double fraction, std::uint64_t seed);

/// What there is to train on and to test with. A folder may stand for both: then they are `subset`s
/// of the same pictures (numbers, in order), to be handed to a Loader; empty means all.
struct ImageSplit {
  std::shared_ptr<const Images> train, test;
  std::vector<std::size_t> train_subset{}, test_subset{};
  std::string note{};  ///< what the user should know of it ("3 files were left out: ..."), or ""
};

/// Opens any data set. A folder with a folder train/ has its test pictures in test/ (or val/,
/// valid/, validation/); where there is none, a fifth of each class, chosen by the seed, is set
/// aside. Throws as `load` and FolderImages do.
ImageSplit open_images(const Source& source);
/// The same for the test pictures alone. `classes` fixes those of a folder: a trained model's.
struct TestImages {
  std::shared_ptr<const Images> images;
  std::vector<std::size_t> subset{};
  std::string note{};
};
TestImages open_test_images(const Source& source, const std::vector<std::string>& classes = {});

}  // namespace vitruvian
