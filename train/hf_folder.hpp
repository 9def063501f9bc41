#pragma once

#include "vitruvian/train/data_config.hpp"
#include "vitruvian/vit/config.hpp"

#include <string>
#include <vector>

// A folder that transformers.ViTForImageClassification.from_pretrained and AutoImageProcessor open:
// model.safetensors, config.json and preprocessor_config.json.

namespace vitruvian {

/// config.json: the fields of transformers' ViTConfig, whose defaults are other than ours. Classes
/// without names are LABEL_0, LABEL_1, ..., as transformers calls them.
std::string hf_config(const ViTConfig& config, const DataConfig& data);

/// preprocessor_config.json: a ViTImageProcessor, which stretches a picture, or where the middle is
/// cut out (DataConfig::crops) a CLIPImageProcessor, which cuts.
std::string hf_preprocessor_config(const ViTConfig& config, const DataConfig& data);

/// Makes the folder where there is none. Throws (Exit::usage) where one of the three files is there
/// already and was not written by this program, and (Exit::failure) where it cannot be made.
void check_hf_folder(const std::string& folder);

/// The two files beside model.safetensors; without preprocessor_config.json, which is said in
/// `notes`, where nobody knows how pictures are normalised.
void write_hf_configs(const std::string& folder, const ViTConfig& config, const DataConfig& data,
                      std::vector<std::string>& notes);

}  // namespace vitruvian
