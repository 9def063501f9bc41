#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

// SHA-256 and MD5, computed by OpenSSL's libcrypto.

namespace vitruvian {

enum class ChecksumKind { sha256, md5 };

class Checksum {
 public:
  /// Whether this build has OpenSSL.
  static bool available();
  /// Throws (Exit::failure) in a build without OpenSSL.
  explicit Checksum(ChecksumKind kind = ChecksumKind::sha256);
  ~Checksum();
  Checksum(Checksum&&) noexcept;

  void update(std::span<const std::uint8_t> bytes);
  void update(std::string_view text);
  /// In lower-case hexadecimal digits. Nothing may follow.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of a file's bytes; throws (Exit::data) when it cannot be read.
std::string checksum_of_file(const std::filesystem::path& path,
                             ChecksumKind kind = ChecksumKind::sha256);

}  // namespace vitruvian
