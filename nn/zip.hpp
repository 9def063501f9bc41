#pragma once

#include "vitruvian/core/base/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// Zip archives: of numpy's .npz, and of PyTorch's .pth. Internal to nn; there is none of it where
// the build has no libzip.

struct zip_file;  // libzip's

namespace vitruvian {

/// An archive whose list of entries has been read. Nothing of it is ever written anywhere. One
/// thread at a time.
class ZipArchive {
 public:
  /// Throws (Exit::checkpoint), naming the file, where it is no whole zip archive or lists more
  /// than any model has.
  explicit ZipArchive(const std::shared_ptr<const ByteSource>& file);

  enum class Packing { none, deflate, other };
  struct Info {
    std::string name;
    std::uint64_t size = 0, packed_size = 0;
    Packing packing = Packing::none;

    /// Throws, naming `what`, where the packed bytes cannot be so many.
    void check_size(const std::string& what) const;
  };

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t entries() const;
  [[nodiscard]] Info info(std::uint64_t index) const;

 private:
  friend class ZipEntry;
  class Opened;
  std::shared_ptr<const Opened> opened_;
};

/// One entry, read from front to back.
class ZipEntry {
 public:
  /// Errors call it `what`.
  ZipEntry(const ZipArchive& archive, std::uint64_t index, std::string what);

  /// As many bytes as there are, up to `n`.
  std::size_t read(char* out, std::size_t n);
  /// Exactly what is left: throws where it is not `n` bytes, or they have not their checksum.
  void read_rest(char* out, std::size_t n);
  /// Goes on at a byte of an entry that is not packed: then there is no checksum.
  void seek(std::uint64_t offset);

 private:
  std::string what_;
  std::unique_ptr<zip_file, int (*)(zip_file*)> file_;
};

}  // namespace vitruvian
