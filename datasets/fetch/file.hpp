#pragma once

#include "vitruvian/core/base/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What is done with data sets' files: reading them, unpacking archives by libarchive, SHA-256 and
// MD5 by OpenSSL's libcrypto.

namespace vitruvian {

/// A data file read from front to back, plain or gzip: which of the two its first bytes say, not
/// its name. Every failure throws an `Error` (Exit::data) that names the file and the place.
class DataFile {
 public:
  /// The source must outlive it.
  explicit DataFile(const ByteSource& source);
  ~DataFile();
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  /// Exactly the next `n` bytes, which hold `what` ("the labels"); throws when the file ends
  /// before. No more memory is taken than the file has shown to fill.
  std::vector<std::uint8_t> take(std::uint64_t n, const std::string& what);
  /// The next four bytes as a big-endian number.
  std::uint32_t take_u32(const std::string& what);
  /// Throws when anything follows. A gzip stream is unpacked no further than one byte.
  void expect_end();

  [[nodiscard]] const std::string& name() const { return stream_.source().name(); }
  /// Bytes taken so far: of the content, where it is packed.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  struct Inflater;
  std::size_t read(std::uint8_t* out, std::size_t n);
  std::size_t read_packed(std::uint8_t* out, std::size_t n);

  ByteStream stream_;
  std::uint64_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

/// `directory`, or its folder `child` where only that one holds `file` (or file.gz). Throws
/// (Exit::data), listing `files`, when there is no such directory or no file.
std::filesystem::path data_directory(const std::string& dataset, const std::string& directory,
                                     const std::string& child,
                                     const std::vector<std::string>& files);

/// directory / file, or with ".gz" where only that exists.
std::filesystem::path plain_or_gzip(const std::filesystem::path& directory,
                                    const std::string& file);

/// The next bytes of something; none at its end.
using NextBytes = std::function<std::span<const char>()>;
/// Writes a file of these bytes, as write_file_safely does.
void write_bytes(const std::filesystem::path& path, const NextBytes& next);
/// Who takes a file of an archive; its path is relative and without "..".
using TakeFile = std::function<void(const std::filesystem::path& path, const NextBytes& next)>;
/// Reads the files of a tar archive, plain or packed by gzip, in its order. Throws (Exit::data),
/// naming archive and entry, where it is damaged, and for what `unpack_tar` refuses.
void read_tar(const ByteSource& archive, std::uint64_t max_bytes, const TakeFile& take);

/// Unpacks a tar archive into `directory`, which must exist. Only files are taken, and the folders
/// they are in, and only below it: an absolute path, "..", a link or a device is refused, as are a
/// file that is already there, more than `max_bytes` in all and more than 10,000 entries. Throws
/// (Exit::data), naming archive and entry; what was unpacked before stays for the caller to remove.
/// Throws (Exit::failure) in a build without libarchive, and where a file cannot be written.
void unpack_tar(const std::filesystem::path& archive, const std::filesystem::path& directory,
                std::uint64_t max_bytes);

enum class ChecksumKind { sha256, md5 };

/// Whether this build has OpenSSL.
bool can_sum();
/// The checksum of the bytes that `next` hands on, in lower-case hexadecimal digits. Throws
/// (Exit::failure) in a build without OpenSSL.
std::string checksum_of(const NextBytes& next, ChecksumKind kind = ChecksumKind::sha256);
/// Of these bytes alone.
std::string checksum_of(std::string_view text);
/// Of a file's bytes; throws (Exit::data) when it cannot be read.
std::string checksum_of_file(const std::filesystem::path& path,
                             ChecksumKind kind = ChecksumKind::sha256);

}  // namespace vitruvian
