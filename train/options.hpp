#pragma once

#include "vit/config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace vitruvian {

enum class Precision { float32, float64 };
std::size_t bytes_per_real(Precision precision);

/// Throws (Exit::usage) when `bytes` are more than this machine has: "a model of 480 billion
/// parameters needs about 1.9 TB to train; this machine has 24 GB". `purpose` is "to train".
void check_fits_in_memory(const ViTConfig& model, std::uint64_t bytes, const std::string& purpose);

/// Everything that decides what a training run computes, and where it puts the result.
struct TrainOptions {
  std::string dataset = "digits";
  std::string data;  ///< where the data set's files are; unused for the built-in digits
  std::size_t train_size =
      0;                      ///< use the first so many training images; 0 means the data set's own
  std::size_t test_size = 0;  ///< the same for the test images

  ViTConfig model;

  std::size_t epochs = 4;
  std::size_t batch_size = 64;
  std::size_t micro_batch = 0;  ///< images of a micro-batch; 0 means as many as suit the model
  bool composed = false;        ///< by the readable twins of the fused ops
  double lr = 2e-3;             ///< the peak, after the warm-up
  double weight_decay = 0.05;   ///< AdamW's, on the weight matrices only
  double warmup = 0.05;         ///< the share of all steps in which lr rises from 0
  double clip = 1;              ///< the largest global norm of a gradient; 0 means none
  double label_smoothing = 0;
  std::uint64_t seed = 1;

  std::size_t threads = 0;  ///< 0 means one for each processor
  Precision precision = Precision::float32;
  std::string out;       ///< the run directory
  bool profile = false;  ///< tell the observer where the time of one early step goes

  /// Throws (Exit::usage) for the first setting that cannot be.
  void validate() const;
  /// All of it as an indented JSON object: the run directory's config.json.
  [[nodiscard]] std::string to_json() const;
};

/// The settings for a data set that are used where the user names none: its image's shape and
/// classes, and the sizes and rates that suit it on two cores. Throws (Exit::usage) on a name that
/// does not exist, with the nearest one that does.
TrainOptions default_options(const std::string& dataset);

/// Throws (Exit::usage) when a data set that is read from files comes without a folder.
void check_data_given(const std::string& dataset, const std::string& data);

/// What `vitruvian eval` needs.
struct EvalOptions {
  std::string weights;  ///< a safetensors file, or a run directory that holds one
  std::string dataset = "digits";
  std::string data;
  std::size_t test_size = 0;
  std::size_t threads = 0;
  Precision precision = Precision::float32;
};

}  // namespace vitruvian
