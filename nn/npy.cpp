#include "vitruvian/nn/file_formats.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace vitruvian {
namespace {

constexpr std::pair<std::string_view, FileType> descrs[] = {{"<f2", FileType::f16},
                                                            {"<f4", FileType::f32},
                                                            {"<f8", FileType::f64},
                                                            {"|V2", FileType::bf16}};

// What follows the order of the bytes, of numpy's types that are not read: a letter, and the bytes
// (characters of 4, where it is U) of one. 0 where it is none.
std::size_t bytes_of(std::string_view code) {
  constexpr std::string_view letters = "biufcSVU";
  if (code.size() < 2 || code.size() > 5 || letters.find(code[0]) == letters.npos) return 0;
  std::size_t n = 0;
  for (const char c : code.substr(1)) {
    if (c < '0' || c > '9') return 0;
    n = 10 * n + static_cast<std::size_t>(c - '0');
  }
  return code[0] == 'U' ? 4 * n : n;
}

// Reads the dictionary from front to back. Python's literals allow more than numpy ever writes;
// only what numpy writes is taken, in any order of the keys.
class Dictionary {
 public:
  Dictionary(std::string_view text, const std::string& what) : rest_(text), what_(what) {}

  NpyHeader parse() {
    NpyHeader header;
    bool type = false;
    bool order = false;
    bool shape = false;
    expect("{");
    while (!accept("}")) {
      const std::string_view key = quoted();
      expect(":");
      if (key == "descr" && !std::exchange(type, true)) {
        header.type = dtype();
      } else if (key == "fortran_order" && !std::exchange(order, true)) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(shape, true)) {
        header.shape = tuple();
      } else {
        wrong("an unknown key or one that comes twice");
      }
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    skip();
    if (!rest_.empty()) wrong("more after the dictionary");
    if (!type || !order || !shape) wrong("no descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void wrong(const char* found) {
    fail(Exit::checkpoint, "{}: its .npy header has {}", what_, found);
  }

  void skip() {
    const std::size_t n = std::min(rest_.find_first_not_of(" \n"), rest_.size());
    rest_.remove_prefix(n);
  }
  void expect(std::string_view word) {
    if (!accept(word)) wrong("no dictionary as numpy writes it");
  }
  bool accept(std::string_view word) {
    skip();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view quoted() {
    expect("'");
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) wrong("a text without end");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  NamedType dtype() {
    const std::string_view name = quoted();
    const bool ordered = !name.empty() && std::string_view("<>|=").find(name[0]) != name.npos;
    if (const std::size_t bytes = ordered ? bytes_of(name.substr(1)) : 0; bytes != 0) {
      NamedType type{FileType::other, 8 * bytes, std::string(name)};
      for (const auto& [descr, read] : descrs) {
        if (descr == name) type.type = read;
      }
      return type;
    }
    const bool plain = name.size() <= 8 && std::all_of(name.begin(), name.end(),
                                                       [](char c) { return c > ' ' && c < 0x7f; });
    fail(Exit::checkpoint,
         "{}: dtype '{}' has no fixed number of bytes; <f2, <f4, <f8, |V2 are read", what_,
         plain ? name : "?");
  }

  bool boolean() {
    if (accept("True")) return true;
    if (!accept("False")) wrong("a fortran_order that is neither True nor False");
    return false;
  }

  std::size_t number() {
    skip();
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0 || digits > 18) wrong("a length that is not a number, or too large");
    std::uint64_t n = 0;
    for (const char c : rest_.substr(0, digits)) n = 10 * n + static_cast<std::uint64_t>(c - '0');
    rest_.remove_prefix(digits);
    if (n > std::numeric_limits<std::size_t>::max()) wrong("a length that is too large");
    return static_cast<std::size_t>(n);
  }

  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> shape;
    expect("(");
    while (!accept(")")) {
      if (shape.size() == largest_rank) wrong("too many axes");
      shape.push_back(number());
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return shape;
  }

  std::string_view rest_;
  const std::string& what_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, const std::string& what) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (!bytes.starts_with(magic) || bytes.size() < 12) {
    fail(Exit::checkpoint, "{}: it does not start as a .npy file does", what);
  }
  const auto byte = [bytes](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    fail(Exit::checkpoint, "{}: .npy version {}.{}; 1.0, 2.0 and 3.0 are known", what, version,
         byte(7));
  }
  const std::size_t start = version == 1 ? 10 : 12;
  const auto length = static_cast<std::size_t>(little_endian(bytes.substr(8, start - 8)));
  if (length > largest_npy_header - start || length > bytes.size() - start) {
    fail(Exit::checkpoint, "{}: its .npy header of {} bytes is too long or cut short", what,
         length);
  }
  NpyHeader header = Dictionary(bytes.substr(start, length), what).parse();
  header.begin = start + length;
  header.bytes = bytes_of_shape(header.shape, header.type.bits, what);
  return header;
}

}  // namespace vitruvian
