#pragma once

#include "vitruvian/media/image.hpp"
#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/vit/config.hpp"

#include <string>
#include <vector>

namespace vitruvian {

/// What has to be known of the images that a model was trained on: others are normalised alike.
/// Empty where nobody knows: weights of other projects do not say.
struct DataConfig {
  std::string dataset;                 ///< one that `vitruvian train` knows
  std::vector<double> mean, std;       // (C)
  std::vector<std::string> classes{};  ///< a folder's, by name

  /// Whether the middle of other pictures is cut out for it, as it was of its own; else they are
  /// stretched.
  [[nodiscard]] bool crops() const { return dataset.empty() || dataset == "folder"; }
  /// The names of its K classes; none where they are not known.
  [[nodiscard]] std::vector<std::string> class_names(std::size_t K) const;
};

/// What to tell whoever shows it another picture: that it is dark on light, ink on paper, where the
/// model learned light digits on black. Empty otherwise.
std::string note_on_picture(const DataConfig& data, const Image& picture, const std::string& path);

/// What a file of weights says of its images, and of the model where that is a ViT, as metadata;
/// what is empty is left out.
Metadata to_metadata(const DataConfig& data);
Metadata to_metadata(const ViTConfig& config, const DataConfig& data);
/// What metadata say of the images, for C channels. Throws (Exit::checkpoint), naming `path` and
/// the entry, where it makes no sense.
DataConfig data_config_of(const Metadata& metadata, std::size_t C, const std::string& path);

/// Mean and std of pixels in [0, 1] that the published weights of a project were trained with, for
/// RGB: ImageNet's for torchvision, .5 and .5 for the others (requirements C6). For another number
/// of channels nothing is known.
DataConfig published_normalisation(const std::string& scheme, std::size_t C);

/// Throws (Exit::usage) for a mean or a std that a user said and that cannot be one.
void check_normalisation(const std::vector<double>& mean, const std::vector<double>& std);

}  // namespace vitruvian
