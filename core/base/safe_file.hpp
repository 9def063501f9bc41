#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

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

/// Makes the folders that a file wants, where they are missing. Throws (Exit::failure) naming the
/// file and the reason.
void make_folder_of(const std::string& file);

/// What would be thrown on writing the file, as far as that can be known: ahead of the work whose
/// result it shall hold. Makes the file's folder, and leaves the file as it is.
void check_can_write(const std::string& path);

/// Whether a path stands for standard output, as /dev/stdout does: then nothing else belongs there.
bool is_standard_output(const std::string& path);

/// Keeps other processes out of a folder while it lives, if they ask too. The folder itself is
/// locked: no file of its own, and nothing to clean up after a kill. A file system that knows no
/// locks is used without.
class FolderLock {
 public:
  FolderLock() = default;
  /// Does not wait: see `taken`. Throws (Exit::failure) naming the folder and the reason where it
  /// cannot be opened or locked.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept { *this = std::move(other); }
  FolderLock& operator=(FolderLock&& other) noexcept;

  /// Whether the folder is another's, and `wait` has not been called.
  [[nodiscard]] bool taken() const { return taken_; }
  /// Until the other has ended.
  void wait();

 private:
  void lock(int how);

  std::string folder_;
  int descriptor_ = -1;
  bool taken_ = false;
};

}  // namespace vitruvian
