#pragma once

#include "vit/config.hpp"

#include <string>
#include <vector>

namespace vitruvian {

/// A model of a published size, by the name that it has everywhere.
struct Variant {
  std::string name;
  std::string about;  ///< who published it, in a few words
  ViTConfig config;
  std::string paper;  ///< its parameters as Table 1 of the paper prints them: "86M"; or empty
};

/// ViT-Base, -Large and -Huge of the paper as torchvision builds them, DeiT's smaller sizes, the
/// MiniViT of the sources (requirements S2), and what `vitruvian train` takes for MNIST and CIFAR.
const std::vector<Variant>& variants();

/// One of them. Throws (Exit::usage) on a name that does not exist, with the nearest that does.
const Variant& variant(const std::string& name);

/// The same model for square images of another size. Throws (Exit::usage) when that cannot be.
ViTConfig with_image_size(ViTConfig config, std::size_t side);

/// The demonstration of the sources: a 224 px image, P 16, D 192, two blocks of three heads, ten
/// classes; 1,077,706 parameters. Its layer norms use PyTorch's eps of 1e-5.
const ViTConfig& mini_vit();

}  // namespace vitruvian
