#pragma once

#include <string>
#include <utility>

namespace vitruvian {

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
