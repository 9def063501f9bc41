#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace vitruvian {

/// Writes a file so that, whatever happens, `path` holds either all of the new content or what it
/// held before: a temporary file in the same folder, write, fsync, close, rename, fsync of the
/// folder. A file that is replaced hands on its permissions. Throws (Exit::failure) naming the path
/// and the reason; the temporary file is gone then.
/// A symbolic link in the file's place is refused: whoever may write into the folder could have put
/// it there (folders may be links). /dev/stdout and /dev/fd/N are what they stand for, and get the
/// content as it comes.
void write_file_safely(const std::string& path, std::string_view content);
/// The same for content that comes in pieces: `content` hands each to `write`. What it throws
/// leaves the file as it was.
using WriteBytes = std::function<void(std::string_view piece)>;
void write_file_safely(const std::string& path,
                       const std::function<void(const WriteBytes& write)>& content);

}  // namespace vitruvian
