#pragma once

#include "vitruvian/nn/tensor_file.hpp"

#include <string>
#include <vector>

// What comes before the names of a published file are looked up: what wrapped the model is taken
// off its names, and a file that is no ViT of ours is told what it seems to be. Internal to vit.

namespace vitruvian {

/// The tensors without the prefixes that all of them share and that a program put there: "module."
/// (DataParallel), "model.", "deit.", "vit." and the like.
TensorFile without_wrapping(TensorFile file);

/// Takes out what a ViT's forward pass does not use (a mask's token, an autoencoder's decoder), and
/// says so.
void leave_out_unused(TensorFile& file, std::vector<std::string>& notes);

/// Throws (Exit::checkpoint), naming the file, a tensor and what it tells, where the file seems to
/// be something else than a ViT that a config can say: a ResNet, a Swin, a language model.
void check_family(const TensorFile& file);

}  // namespace vitruvian
