#pragma once

#include "vitruvian/core/array.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/train/data_config.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

// The weights of a run: where it begins, what it writes, and what is read again.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

struct TrainedModel {
  VisionTransformer model;
  DataConfig data;
  std::string scheme;              ///< whose names the file has
  std::vector<std::string> notes;  ///< what is not as in the file
};

/// Writes a safetensors file with timm's names; the config and what the model was trained on are
/// its metadata, so that the file says all there is to know. The same model gives the same bytes.
void save_weights(const VisionTransformer& model, const DataConfig& data, const std::string& path);

/// CRC-32 of the values of all parameters, one after the other.
std::uint32_t checksum_of(const std::vector<NamedParameter>& parameters);

/// The model that a run begins with: drawn by its seed, or `init`'s with a head of zeros; what the
/// settings freeze requires no gradient. What is to be known of the file the observer is told.
/// Throws as load_weights does, and (Exit::usage) where a head is to be kept that has other classes
/// than `classes`, the images'.
VisionTransformer initial_model(const TrainOptions& options, Observer& observer,
                                const std::vector<std::string>& classes = {});

/// The factor of the learning rate of each parameter, by name. With d = layer_decay, in a model of
/// L blocks, it is
///   d^(L + 1)      of the patches' projection, the tokens and the positions,
///   d^(L + 1 - l)  of block l, from 1 to L,
///   1              of the last norm, and head_lr of the head,
/// as in BEiT (Bao et al., arXiv 2106.08254), MAE's fine-tuning and timm.
std::map<std::string, double> rate_factors(const VisionTransformer& model, double layer_decay,
                                           double head_lr);

/// Reads it back, or what another project wrote: see vit/weights/weights.hpp. Throws
/// (Exit::checkpoint), naming the file, when it is damaged, or does not fit its config.
TrainedModel load_weights(const std::string& path, const WeightsRequest& request = {});

/// How pictures become a model's input: by what the user says (`mean` and `std`, for one channel or
/// for all; empty: nothing), else as the file of weights says, else as its scheme's project has it,
/// which `note` is told. Throws (Exit::usage), naming `weights`, where nobody knows, and where the
/// model's images have neither one nor three channels.
DataConfig normalisation(const TrainedModel& trained, const std::vector<double>& mean,
                         const std::vector<double>& std, const std::string& weights,
                         const std::function<void(const std::string&)>& note);

/// (H, W, C) bytes to (1, C, H, W): (x / 255 - mean) / std. A picture of other channels or another
/// size than the model's is brought to them by read_image(path, Fit{...}). Throws (Exit::usage)
/// where `data` has not a mean and a std for each of its channels, and for an image without all its
/// bytes.
Array normalised(const Image& image, const DataConfig& data);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
