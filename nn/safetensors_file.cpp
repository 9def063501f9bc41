#include "vitruvian/nn/tensor_file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/nn/file_formats.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace vitruvian {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors' bytes are little-endian");

constexpr std::uint64_t largest_header = std::uint64_t{16} << 20U;
constexpr std::size_t most_names = 65'536;  // of tensors and metadata together

// All types of the format and their bits; a file may hold some that nobody here reads.
constexpr std::pair<std::string_view, std::size_t> type_names[] = {
    {"F32", 32},    {"F64", 64},    {"F16", 16},    {"BF16", 16},   {"BOOL", 8},
    {"U8", 8},      {"I8", 8},      {"U16", 16},    {"I16", 16},    {"U32", 32},
    {"I32", 32},    {"U64", 64},    {"I64", 64},    {"C64", 64},    {"F8_E5M2", 8},
    {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};
constexpr std::pair<std::string_view, FileType> read_types[] = {{"F32", FileType::f32},
                                                                {"F64", FileType::f64},
                                                                {"F16", FileType::f16},
                                                                {"BF16", FileType::bf16}};

std::string_view name_of(Dtype dtype) { return dtype == Dtype::f32 ? "F32" : "F64"; }

struct HeaderEntry {
  std::string name;
  NamedType type;
  std::vector<std::size_t> shape;
  std::size_t begin = 0, end = 0;
};

// As it stands in the file: nothing here is compared with the data yet.
struct Header {
  std::vector<HeaderEntry> entries;
  Metadata metadata;
};

const char* kind_of(const SortedJson& value) {
  return value.is_string()            ? "a string"
         : value.is_boolean()         ? "a boolean"
         : value.is_number_unsigned() ? "a number"
         : value.is_number_integer()  ? "a negative number"
         : value.is_number()          ? "a number that is not whole, or too large"
                                      : "null";
}

// Looks at the JSON as it is read, so that a key that comes twice is seen, and no part of it
// becomes large: { name: { "dtype": string, "shape": numbers, "data_offsets": numbers },
//          "__metadata__": { name: string } }
class HeaderReader {
 public:
  explicit HeaderReader(const std::string& source) : source_(source) {}

  Header read(std::string_view json) {
    // The format wants the object to be the first byte and lets only spaces follow it. The parser
    // would skip white space before, and take a NUL for the end.
    const auto refuse = [this](const char* what) {
      fail(Exit::checkpoint, "{}: its header {}", source_, what);
    };
    if (!json.starts_with('{')) refuse("does not begin with '{'");
    if (json.find('\0') != std::string_view::npos) refuse("holds a NUL");
    if (const auto last = json.find_last_not_of(' ');
        std::string_view("\t\n\r").find(json[last]) != std::string_view::npos) {
      refuse("is padded with more than spaces");
    }
    try {
      [[maybe_unused]] const SortedJson top = parse_json<SortedJson>(
          json, [this](int depth, SortedJson::parse_event_t event, SortedJson& part) {
            return take(depth, event, part);
          });
    } catch (const SortedJson::parse_error& error) {
      wrong("it is not valid JSON at byte {}", error.byte);
    } catch (const SortedJson::out_of_range&) {
      unexpected("a number that is not whole, or too large");
    }
    return std::move(header_);
  }

 private:
  // Whether a part is kept: entries are not, once they are read.
  bool take(int depth, SortedJson::parse_event_t event, SortedJson& part) {
    depth_ = depth;
    switch (event) {
      case SortedJson::parse_event_t::object_start:
        if (depth > 1) unexpected("an object");
        keys_.emplace_back();
        return true;
      case SortedJson::parse_event_t::object_end:
        keys_.pop_back();
        if (depth == 1) add(part);
        return depth != 1;
      case SortedJson::parse_event_t::key:
        take_key(part.get<std::string>());
        return true;
      case SortedJson::parse_event_t::array_start:
        if (depth != 2 || is_metadata() || (field_ != "shape" && field_ != "data_offsets")) {
          unexpected("an array");
        }
        numbers_ = 0;
        return true;
      case SortedJson::parse_event_t::value:
        if (depth == 3 ? !part.is_number_unsigned()
                       : !part.is_string() || depth == 1 || (!is_metadata() && field_ != "dtype")) {
          unexpected(kind_of(part));
        }
        if (depth == 3 && part > std::numeric_limits<std::size_t>::max()) {
          unexpected("a number too large");
        }
        if (depth == 3 && ++numbers_ > largest_rank) {
          wrong("'{}' has more than {} axes", name_, largest_rank);
        }
        return true;
      default:
        return true;
    }
  }

  void take_key(const std::string& key) {
    check_line("name", key);
    const bool of_entry = depth_ == 2 && !is_metadata();
    if (!of_entry && ++count_ > most_names) wrong("there are more than {} names", most_names);
    (depth_ == 1 ? name_ : field_) = key;
    if (keys_.back().insert(key).second) return;
    if (depth_ == 1) wrong("the name '{}' comes twice", key);
    if (of_entry) wrong("'{}' has two '{}'", name_, key);
    wrong("the __metadata__ '{}' comes twice", key);
  }

  void add(const SortedJson& part) {
    if (is_metadata()) {
      header_.metadata = part.get<Metadata>();
      return;
    }
    if (!part.contains("dtype")) wrong("'{}' has no dtype", name_);
    const std::string dtype = part["dtype"];
    const auto* const bits = std::find_if(std::begin(type_names), std::end(type_names),
                                          [&dtype](const auto& t) { return t.first == dtype; });
    if (bits == std::end(type_names)) {
      check_line("dtype", dtype);
      wrong("'{}' has dtype '{}', which the format does not have", name_, dtype);
    }
    NamedType type{FileType::other, bits->second, dtype};
    for (const auto& [name, read] : read_types) {
      if (name == dtype) type.type = read;
    }
    if (!part.contains("shape")) wrong("'{}' has no shape", name_);
    if (!part.contains("data_offsets") || part["data_offsets"].size() != 2) {
      wrong("'{}' has no data_offsets [begin, end]", name_);
    }
    const SortedJson& offsets = part["data_offsets"];
    header_.entries.push_back({name_, type, part["shape"], offsets[0], offsets[1]});
  }

  [[nodiscard]] bool is_metadata() const { return name_ == "__metadata__"; }

  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    fail(Exit::checkpoint, "{}: in its header, {}", source_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void unexpected(const char* what) const {
    if (depth_ > 1 && is_metadata()) wrong("__metadata__ holds {}, not only strings", what);
    wrong("{} stands in '{}' where none was expected", what, name_);
  }

  // Errors quote names: they must be a line, and no book.
  void check_line(const char* what, const std::string& text) const {
    if (text.size() > longest_name) {
      wrong("a {} has {} characters; {} are allowed", what, text.size(), longest_name);
    }
    for (const char c : text) {
      if (is_control(c)) {
        wrong("a {} holds the control character 0x{:02x}", what, static_cast<unsigned>(c));
      }
    }
  }

  const std::string& source_;
  Header header_;
  int depth_ = 0;
  std::size_t count_ = 0, numbers_ = 0;
  std::string name_, field_;
  std::vector<std::set<std::string>> keys_;
};

// Tensors in the order of their bytes must touch one another and fill the data.
void check_layout(std::vector<HeaderEntry>& entries, std::uint64_t data_size,
                  const std::string& source) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = 0;
  const std::string* before = nullptr;
  for (const auto& [name, type, shape, begin, end] : entries) {
    if (begin > end || end > data_size) {
      fail(Exit::checkpoint,
           "{}: '{}' lies at bytes [{}, {}) of {}: the file is cut short or wrong", source, name,
           begin, end, data_size);
    }
    if (const std::uint64_t needed =
            bytes_of_shape(shape, type.bits, fmt::format("{}: '{}'", source, name));
        needed != end - begin) {
      fail(Exit::checkpoint, "{}: '{}' of shape {} needs {} bytes but has {}", source, name,
           shape_text(shape), needed, end - begin);
    }
    if (begin < expected) {
      fail(Exit::checkpoint, "{}: '{}' and '{}' overlap", source, *before, name);
    }
    if (begin > expected) {
      fail(Exit::checkpoint, "{}: bytes [{}, {}) before '{}' belong to nobody", source, expected,
           begin, name);
    }
    expected = end;
    before = &name;
  }
  if (expected != data_size) {
    fail(Exit::checkpoint, "{}: the last {} bytes belong to nobody", source, data_size - expected);
  }
}

// Sorted by name and padded with spaces, so that it and the 8 bytes before it are a multiple of 8
// long. The data follow one another in the order given.
std::string format_header(const std::vector<StoredTensor>& tensors, const Metadata& metadata) {
  SortedJson header = SortedJson::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t begin = 0;
  for (const StoredTensor& t : tensors) {
    const std::size_t end = begin + t.size() * width(t.dtype);
    header[t.name] = {
        {"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = dump_json(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// What read_safetensors would refuse is not written.
void check_readable_again(const std::vector<StoredTensor>& sorted, const std::string& header,
                          const std::string& path) {
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& name = sorted[i].name;
    if (i > 0 && name == sorted[i - 1].name) {
      fail("{}: two tensors are called '{}': it is not written", path, name);
    }
    if (name == "__metadata__") {
      fail("{}: a tensor cannot be called '{}': it is not written", path, name);
    }
  }
  if (header.size() > largest_header) {
    fail("{}: its header would have {} bytes, above {}: it is not written", path, header.size(),
         largest_header);
  }
  static_cast<void>(HeaderReader(path).read(header));
}

}  // namespace

TensorFile read_safetensors(const std::shared_ptr<const ByteSource>& file) {
  const std::string& source = file->name();
  const std::uint64_t size = file->size();
  std::uint64_t length = 0;
  if (size < sizeof length) {
    fail(Exit::checkpoint, "{}: {} bytes are too few for a safetensors file", source, size);
  }
  file->read_at(0, {reinterpret_cast<char*>(&length), sizeof length});
  if (length > largest_header) {
    const std::string_view first(reinterpret_cast<const char*>(&length), sizeof length);
    if (std::all_of(first.begin(), first.end(), [](char c) {
          return c == '\n' || c == '\r' || c == '\t' || (c >= ' ' && c <= '~');
        })) {
      fail(Exit::checkpoint, "{}: text, and no file of weights", source);
    }
    fail(Exit::checkpoint,
         "{}: it promises a header of {} bytes, above {}: not a safetensors file?", source, length,
         largest_header);
  }
  const std::uint64_t rest = size - sizeof length;
  if (length > rest) {
    fail(Exit::checkpoint, "{}: its header has {} bytes, but only {} follow: the file is cut short",
         source, length, rest);
  }
  std::string json(static_cast<std::size_t>(length), '\0');
  file->read_at(sizeof length, json);
  Header header = HeaderReader(source).read(json);
  check_layout(header.entries, rest - length, source);

  TensorFile result{source, std::move(header.metadata), {}};
  for (HeaderEntry& e : header.entries) {
    const std::uint64_t begin = sizeof length + length + e.begin;
    const std::size_t bytes = e.end - e.begin;
    const auto read = [file, begin, bytes, type = e.type, name = e.name] {
      check_readable(type, fmt::format("{}: '{}'", file->name(), name));
      Bytes numbers(bytes);
      file->read_at(begin, numbers);
      return upcast(std::move(numbers), type.type);
    };
    result.tensors.push_back({std::move(e.name), dtype_of(e.type.type), std::move(e.shape), read});
  }
  sort_by_name(result.tensors);
  return result;
}

TensorFile read_safetensors(const std::string& path) {
  return read_safetensors(std::make_shared<const RegularFile>(path, Exit::checkpoint));
}

void write_safetensors(const std::string& path, std::vector<StoredTensor> tensors,
                       const Metadata& metadata) {
  sort_by_name(tensors);
  const std::string header = format_header(tensors, metadata);
  check_readable_again(tensors, header, path);
  const std::uint64_t length = header.size();
  write_file_safely(path, [&](const WriteBytes& write) {
    write({reinterpret_cast<const char*>(&length), sizeof length});
    write(header);
    for (const StoredTensor& t : tensors) {
      const Bytes bytes = t.read();
      if (bytes.size() != t.size() * width(t.dtype)) {
        fail("{}: '{}' of shape {} has {} bytes: it is not written", path, t.name,
             shape_text(t.shape), bytes.size());
      }
      write({bytes.data(), bytes.size()});
    }
  });
}

}  // namespace vitruvian
