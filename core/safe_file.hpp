#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vitruvian {

/// Writes a file so that, whatever happens, `path` holds either all of the new content or what it
/// held before: a temporary file in the same folder, write, fsync, close, rename, fsync of the
/// folder. Throws (Exit::failure) naming the path and the reason; the temporary file is gone then.
void write_file_safely(const std::string& path, std::string_view content);
/// The same for content in several pieces.
void write_file_safely(const std::string& path, const std::vector<std::string_view>& pieces);

}  // namespace vitruvian
