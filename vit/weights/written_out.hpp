#pragma once

#include "vitruvian/vit/config.hpp"
#include "vitruvian/vit/weights/naming.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <cstddef>

// A model's tensors, rewritten so that a plainer config computes the same from them; and the way
// back.

namespace vitruvian {

/// Puts a tensor where its name belongs, in the place of one that has it.
void replace(TensorFile& file, StoredTensor tensor);

/// Throws (Exit::checkpoint) where there are not as many numbers as the config has.
void check_size(const VitWeights& weights);

/// The same model, in its own names and without what only we have: positions are learned or
/// relative, U_qkv is one for all heads, every layer has its bias. Throws (Exit::checkpoint) where
/// the tensors are not those of the config.
VitWeights written_out(VitWeights weights);

/// And without what the scheme's project lacks, under the names that only it has: a model that the
/// project can hold (see held_by).
VitWeights written_for(Scheme scheme, VitWeights weights);

/// timm's registers may have positions, between those of the `read` class tokens and the patches',
/// which are `places` in all: they are added to the registers, and leave the table.
void add_places_to_registers(TensorFile& file, std::size_t read, std::size_t places);

/// The way back, for a file with our config: what only that project calls so, as the config has it.
TensorFile as_config_says(TensorFile file, const ViTConfig& config);

}  // namespace vitruvian
