#pragma once

#include "apps/commands.hpp"
#include "vit/weights.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace vitruvian {

/// The flags of commands that read weights of any origin.
struct WeightsFlags {
  std::string scheme, image_size, pos_resize;
  std::size_t heads = 0, classes = 0;
};

void add_weights_flags(CLI::App& command, WeightsFlags& flags);
/// Throws (Exit::usage) where a flag makes no sense.
WeightsRequest request_of(const WeightsFlags& flags);

}  // namespace vitruvian
