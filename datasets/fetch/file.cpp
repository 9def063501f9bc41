#include "vitruvian/datasets/fetch/file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#if VITRUVIAN_HAS_ZLIB
#include <zlib.h>
#endif
#if VITRUVIAN_HAS_OPENSSL
#include <openssl/evp.h>
#endif

namespace vitruvian {

#if VITRUVIAN_HAS_ZLIB
// zlib's state.
struct DataFile::Inflater {
  z_stream stream{};
  std::uint64_t taken = 0;  // packed bytes that zlib was given
  bool ended = false;       // a whole gzip member has been unpacked

  explicit Inflater(const std::string& name) {
    constexpr int gzip_window = 15 + 16;
    if (inflateInit2(&stream, gzip_window) != Z_OK) fail("{}: zlib does not start", name);
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

#else
struct DataFile::Inflater {
  explicit Inflater(const std::string& name) {
    fail(Exit::data, "{}: this program was built without zlib; unpack the file first", name);
  }
};
#endif

DataFile::DataFile(const ByteSource& source) : stream_(source) {
  std::array<char, 2> start{};
  if (source.size() < start.size()) return;
  source.read_at(0, start);
  if (start[0] == '\x1f' && start[1] == '\x8b') inflater_ = std::make_unique<Inflater>(name());
}

DataFile::~DataFile() = default;

#if VITRUVIAN_HAS_ZLIB
std::size_t DataFile::read_packed(std::uint8_t* out, std::size_t n) {
  z_stream& stream = inflater_->stream;
  stream.next_out = out;
  stream.avail_out = static_cast<uInt>(n);
  while (stream.avail_out > 0) {
    if (stream.avail_in == 0) {
      const std::span<const char> packed = stream_.next();
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(packed.size());
      inflater_->taken += packed.size();
      if (packed.empty()) {
        if (inflater_->ended) break;
        fail(Exit::data, "{}: the gzip stream breaks off after {} bytes; expected its end", name(),
             inflater_->taken);
      }
    }
    if (inflater_->ended) {  // something follows: another member, as gzip allows
      inflateReset(&stream);
      inflater_->ended = false;
    }
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      inflater_->ended = true;
    } else if (result != Z_OK) {
      fail(Exit::data, "{}: the gzip stream is damaged near offset {}: {}", name(),
           inflater_->taken - stream.avail_in, stream.msg != nullptr ? stream.msg : "not gzip");
    }
  }
  return n - stream.avail_out;
}

#else
std::size_t DataFile::read_packed(std::uint8_t* /*out*/, std::size_t /*n*/) { return 0; }
#endif

std::size_t DataFile::read(std::uint8_t* out, std::size_t n) {
  const std::size_t got = inflater_ ? read_packed(out, n) : stream_.read(out, n);
  offset_ += got;
  return got;
}

std::vector<std::uint8_t> DataFile::take(std::uint64_t n, const std::string& what) {
  // A plain file cannot hold more than its size; a packed one proves itself a megabyte at a time.
  const std::uint64_t start = offset_;
  const auto broken_off = [&](std::uint64_t found) {
    fail(Exit::data, "{}: truncated: at offset {} expected {} bytes of {}, found {}", name(), start,
         n, what, found);
  };
  if (n > std::numeric_limits<std::size_t>::max()) {
    fail(Exit::data, "{}: at offset {} the {} would take {} bytes, more than memory can address",
         name(), start, what, n);
  }
  const std::uint64_t size = stream_.source().size();
  if (!inflater_ && n > size - start) broken_off(size - start);
  constexpr std::uint64_t step = 1U << 20U;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < n) {
    const std::size_t begin = bytes.size();
    const std::uint64_t want = std::min(n - begin, inflater_ ? step : n);
    bytes.resize(begin + static_cast<std::size_t>(want));
    const std::size_t got = read(bytes.data() + begin, static_cast<std::size_t>(want));
    if (got < want) broken_off(begin + got);
  }
  return bytes;
}

std::uint32_t DataFile::take_u32(const std::string& what) {
  std::uint32_t x = 0;
  for (const std::uint8_t byte : take(4, what)) x = x << 8U | byte;
  return x;
}

void DataFile::expect_end() {
  std::uint8_t extra = 0;
  if (read(&extra, 1) == 0) return;
  if (inflater_) {
    fail(Exit::data, "{}: expected the end of the unpacked data at offset {}, found more", name(),
         offset_ - 1);
  }
  fail(Exit::data, "{}: expected the end at offset {}, found {} more bytes", name(), offset_ - 1,
       stream_.source().size() - (offset_ - 1));
}

std::filesystem::path plain_or_gzip(const std::filesystem::path& directory,
                                    const std::string& file) {
  std::error_code ignored;
  const std::filesystem::path plain = directory / file;
  return std::filesystem::exists(plain, ignored) ? plain : directory / (file + ".gz");
}

std::filesystem::path data_directory(const std::string& dataset, const std::string& directory,
                                     const std::string& child,
                                     const std::vector<std::string>& files) {
  const std::string list = joined(files);
  if (directory.empty()) {
    fail(Exit::usage, "{} needs the directory that holds its files: {}", dataset, list);
  }
  const std::filesystem::path path(directory);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    fail(Exit::data, "{}: {}; expected a directory with {} files: {}", directory,
         error ? error.message() : "there is no such directory", dataset, list);
  }
  if (!std::filesystem::is_directory(path, error)) {
    fail(Exit::data, "{}: expected a directory with {} files, found a file: {}", directory, dataset,
         list);
  }
  const auto holds = [](const std::filesystem::path& place, const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(plain_or_gzip(place, file), ignored);
  };
  const auto any_in = [&](const std::filesystem::path& place) {
    return std::any_of(files.begin(), files.end(),
                       [&](const std::string& file) { return holds(place, file); });
  };
  const std::filesystem::path place = !any_in(path) && any_in(path / child) ? path / child : path;
  for (const std::string& file : files) {
    if (!holds(place, file)) {
      fail(Exit::data, "{}: there is no {}; {} consists of {}", place.string(), file, dataset,
           list);
    }
  }
  return place;
}

void write_bytes(const std::filesystem::path& path, const NextBytes& next) {
  write_file_safely(path.string(), [&next](const WriteBytes& write) {
    for (auto some = next(); !some.empty(); some = next()) write({some.data(), some.size()});
  });
}

#if VITRUVIAN_HAS_OPENSSL

bool can_sum() { return true; }

std::string checksum_of(const NextBytes& next, ChecksumKind kind) {
  const bool sha = kind == ChecksumKind::sha256;
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   &EVP_MD_CTX_free);
  if (!context || EVP_DigestInit_ex(context.get(), sha ? EVP_sha256() : EVP_md5(), nullptr) != 1) {
    fail(Exit::failure, "OpenSSL does not compute {} here", sha ? "SHA-256" : "MD5");
  }
  bool good = true;
  for (auto some = next(); !some.empty(); some = next()) {
    good = good && EVP_DigestUpdate(context.get(), some.data(), some.size()) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (!good || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
    fail("OpenSSL failed at a checksum");
  }
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

#else

bool can_sum() { return false; }

std::string checksum_of(const NextBytes&, ChecksumKind) {
  fail(Exit::failure, "this build cannot compute checksums: it was made without OpenSSL");
}

#endif

std::string checksum_of(std::string_view text) {
  return checksum_of([&text] { return std::exchange(text, {}); });
}

std::string checksum_of_file(const std::filesystem::path& path, ChecksumKind kind) {
  const RegularFile file(path.string(), Exit::data);
  ByteStream stream(file);
  return checksum_of([&stream] { return stream.next(); }, kind);
}

}  // namespace vitruvian
