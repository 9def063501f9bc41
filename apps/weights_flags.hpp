#pragma once

#include "apps/commands.hpp"
#include "vitruvian/core/resample.hpp"
#include "vitruvian/vit/weights/weights.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {

/// The flags of commands that read weights of any origin.
struct WeightsFlags {
  std::string scheme, image_size, pos_resize;
  std::size_t heads = 0, classes = 0;
};

void add_weights_flags(CLI::App& command, WeightsFlags& flags);
/// Throws (Exit::usage) where a flag makes no sense.
WeightsRequest request_of(const WeightsFlags& flags);

/// The flags of commands that read pictures.
struct PictureFlags {
  std::string mean, std;
};

template <class Options>
void add_picture_flags(CLI::App& command, Options& options, PictureFlags& flags) {
  command.add_option("--interpolation", options.filter, "bilinear or bicubic, with antialias")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Filter>{{"bilinear", Filter::bilinear},
                                                                {"bicubic", Filter::bicubic}})
              .description(""))
      ->default_str("bilinear");
  for (auto [name, text] : {std::pair{"--mean", &flags.mean}, {"--std", &flags.std}}) {
    command
        .add_option(name, *text,
                    "Of pixels in [0, 1]: one number, or R,G,B; without: as the file says, or as\n"
                    "the names' project has it")
        ->type_name("X[,X,X]");
  }
  add_count(command, "--max-pixels", options.max_pixels, "Refuse pictures with more",
            1'000'000'000'000)
      ->capture_default_str();
}

/// "0.5" or "0.485,0.456,0.406". Throws (Exit::usage), naming the flag.
std::vector<double> numbers_of(const char* flag, const std::string& text);

template <class Options>
void read_picture_flags(const PictureFlags& flags, Options& options) {
  options.mean = numbers_of("--mean", flags.mean);
  options.std = numbers_of("--std", flags.std);
}

}  // namespace vitruvian
