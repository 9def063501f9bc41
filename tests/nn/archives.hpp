#pragma once

#include "tests/expect.hpp"
#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/nn/tensor_file.hpp"

#include <zlib.h>

// Files for tests of readers, byte by byte, so that each can be wrong in one place.

namespace vitruvian {

inline std::string little(std::uint64_t n, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text.push_back(i < sizeof n ? static_cast<char>(n >> 8 * i & 0xFFU) : '\0');
  }
  return text;
}

// Of four bytes, as pictures and MNIST's files have numbers.
inline std::string big_endian(std::uint64_t n) {
  const std::string text = little(n, 4);
  return {text.rbegin(), text.rend()};
}

// `window` as zlib takes it: -15 without a header, 15 + 16 with gzip's.
inline std::string deflated(const std::string& bytes, int window = -15) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string gzip(const std::string& bytes) { return deflated(bytes, 15 + 16); }

struct Member {
  std::string name, content;
  bool packed = false;
  std::uint64_t promised = 0;  // the size that the archive states, where it is another
  unsigned method = 8;         // of a packed one
};

// `wide`: with a directory in the 64-bit form before the other, as PyTorch writes both.
inline std::string zip(const std::vector<Member>& members, bool wide = false) {
  std::string file;
  std::string directory;
  for (const Member& m : members) {
    const std::string data = m.packed ? deflated(m.content) : m.content;
    const std::uint64_t size = m.promised != 0 ? m.promised : m.content.size();
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(m.content.data()),
                           static_cast<uInt>(m.content.size()));
    const std::string common = little(20, 2) + little(0, 2) + little(m.packed ? m.method : 0, 2) +
                               little(0, 4) + little(crc, 4) + little(data.size(), 4) +
                               little(size, 4) + little(m.name.size(), 2) + little(0, 2);
    directory +=
        "PK\1\2" + little(20, 2) + common + little(0, 10) + little(file.size(), 4) + m.name;
    file += "PK\3\4" + common + m.name + data;
  }
  const std::size_t end = file.size() + directory.size();
  const std::string wider = "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) +
                            little(0, 8) + little(members.size(), 8) + little(members.size(), 8) +
                            little(directory.size(), 8) + little(file.size(), 8) + "PK\6\7" +
                            little(0, 4) + little(end, 8) + little(1, 4);
  return file + directory + (wide ? wider : "") + "PK\5\6" + little(0, 4) +
         little(members.size(), 2) + little(members.size(), 2) + little(directory.size(), 4) +
         little(file.size(), 4) + little(0, 2);
}

inline std::string npy(const std::string& dictionary, const std::string& data) {
  return "\x93NUMPY" + std::string("\1\0", 2) + little(dictionary.size(), 2) + dictionary + data;
}

// Numbers as they lie in a file.
template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// The bytes of a safetensors file with this header and so many bytes of data.
inline std::string bytes_of(const std::string& header, std::size_t data = 0) {
  return little(header.size(), 8) + header + std::string(data, 'x');
}

// Cut short anywhere a good file is refused; with any bit flipped it is refused or harmless.
// `failure` checks that an error is one line, and returns it.
inline void check_damaged(const std::string& good, std::string failure(const std::string&)) {
  for (std::size_t n = 0; n < good.size(); ++n) CHECK(failure(good.substr(0, n)) != "");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    static_cast<void>(failure(bad));
  }
}

// The bytes must outlive the result.
inline TensorFile parse_safetensors(const std::string& bytes, const std::string& name) {
  return read_safetensors(std::make_shared<const MemorySource>(bytes, name, Exit::checkpoint));
}

}  // namespace vitruvian
