#pragma once

#include "vitruvian/core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace vitruvian {

/// The bytes of a file that users brought, wherever they lie: on a disk, or in memory, where there
/// is no file system. Every reader of a format reads one of these, and no more of it than it needs.
class ByteSource {
 public:
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// What errors call it: a path.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The exit code of an error about it.
  [[nodiscard]] Exit exit() const { return exit_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Fills `out` from the bytes at `offset`; throws where they are not there. Several threads may
  /// call it.
  void read_at(std::uint64_t offset, std::span<char> out) const;
  /// All of it. Throws where it is larger than `largest` bytes, which `what` ("a config") is not.
  [[nodiscard]] std::string text(std::uint64_t largest, const char* what) const;

 protected:
  ByteSource(std::string name, Exit exit) : name_(std::move(name)), exit_(exit) {}
  void set_size(std::uint64_t size) { size_ = size; }

 private:
  // `out` lies within the size.
  virtual void read(std::uint64_t offset, std::span<char> out) const = 0;

  std::string name_;
  Exit exit_;
  std::uint64_t size_ = 0;
};

/// Bytes in memory, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::span<const char> bytes, std::string name, Exit exit)
      : ByteSource(std::move(name), exit), bytes_(bytes) {
    set_size(bytes.size());
  }

 private:
  void read(std::uint64_t offset, std::span<char> out) const override;

  std::span<const char> bytes_;
};

/// Reads a source, which must outlive it, from front to back, a buffer at a time.
class ByteStream {
 public:
  explicit ByteStream(const ByteSource& source) : source_(&source) {}

  /// Copies the next bytes, up to `n`, and returns how many: fewer at the end only.
  std::size_t read(void* out, std::size_t n);
  /// The next byte, or -1 at the end.
  int get();
  /// Some of the next bytes, at least one but at the end; `read` and `get` go on behind them. They
  /// are valid until the next call.
  std::span<const char> next();

  [[nodiscard]] const ByteSource& source() const { return *source_; }

 private:
  bool fill();

  const ByteSource* source_;
  std::uint64_t offset_ = 0;  // in the source, of what follows the buffer
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // of what is not read yet, in the buffer
};

/// The exit code when a path that users gave cannot be read: theirs, `given`, when the path is at
/// fault; `Exit::failure` when the machine is (a disk that fails, no memory, too many open files).
Exit exit_for(const std::error_code& reason, Exit given);

/// A file that users brought, open for reading.
class RegularFile final : public ByteSource {
 public:
  /// Throws, naming the path and the reason, with `exit_for` it: there is no such file, it may not
  /// be read, or it is no regular file (a pipe is refused, not waited for).
  RegularFile(const std::string& path, Exit exit);
  ~RegularFile() override;

 private:
  void read(std::uint64_t offset, std::span<char> out) const override;

  int descriptor_;
};

}  // namespace vitruvian
