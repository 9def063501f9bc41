#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vitruvian {

/// A file of lines that grows: each is written whole, or the file is cut back to what it was.
/// Everything throws (Exit::failure) naming the path and the reason. Move-only.
class AppendFile {
 public:
  AppendFile() = default;
  /// Opens, or makes, a file; a symbolic link in its place is refused.
  explicit AppendFile(const std::string& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view line);
  /// Forgets what is beyond `size`.
  void cut(std::uint64_t size);
  /// Brings what was appended to the disk.
  void sync();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace vitruvian
