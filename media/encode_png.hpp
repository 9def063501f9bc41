#pragma once

#include "vitruvian/media/image.hpp"

#include <string>

namespace vitruvian {

/// The bytes of a PNG file that holds the picture, 8 bits a channel, grey or RGB. Needs zlib alone,
/// so every build has it. Throws where the picture is empty, has other than 1 or 3 channels, or not
/// height * width * channels bytes.
std::string encode_png(const Image& image);

/// Writes them to a file, safely: see write_file_safely, whose errors it throws.
void write_png(const std::string& path, const Image& image);

}  // namespace vitruvian
