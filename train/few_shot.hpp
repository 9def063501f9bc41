#pragma once

#include "vitruvian/core/base/real.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Few-shot classification as the paper measures it in section 4.1: "a regularized least-squares
// regression problem that maps the (frozen) representation of a subset of training images to
// {-1, 1}^K target vectors", whose exact solution is recovered in closed form.

namespace vitruvian {

struct FewShotOptions {
  std::string weights;  ///< safetensors, .npz or .pth, under any naming scheme, or a run directory
  WeightsRequest request;
  std::string dataset = "digits";
  std::string data;                     ///< where the data set's files are
  std::size_t train_size = 0;           ///< draw from the first so many training images; 0: all
  std::size_t test_size = 0;            ///< the same for the test images
  bool skip_bad = false;                ///< leave out files of a folder that cannot be used
  std::vector<std::size_t> shots{5};    ///< training images of each class
  std::vector<std::uint64_t> seeds{1};  ///< of the draws of these images
  double ridge = 10;                    ///< see ridge_regression
  std::vector<double> mean, std;        ///< as PredictOptions has them
  std::string out;  ///< a file for the model with the head of the most shots and the first seed

  /// Throws (Exit::usage) for the first setting that cannot be.
  void validate() const;
};

struct FewShotResult {
  struct Row {
    std::size_t shots = 0;
    std::vector<double> accuracies;  ///< of the test images, one a seed
  };
  std::string dataset;
  std::size_t classes = 0, features = 0, test_images = 0;
  std::vector<Row> rows;

  /// Everything as one line of JSON.
  [[nodiscard]] std::string to_json() const;
};

inline namespace VITRUVIAN_PRECISION {
/// Draws, computes and solves. What the user should know is told to `note`. A draw of fewer shots
/// is a part of that of more. The same bits for any number of threads. Throws as load_weights and
/// training_data do, and (Exit::usage) where a class has fewer images than shots.
FewShotResult few_shot(const FewShotOptions& options,
                       const std::function<void(const std::string& sentence)>& note);
}  // namespace VITRUVIAN_PRECISION

}  // namespace vitruvian
