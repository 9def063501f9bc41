#include "vitruvian/nn/file_formats.hpp"

#include "vitruvian/core/base/error.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <limits>
#include <set>

namespace vitruvian {
namespace {

// All types of the format; a file may hold some that nobody here reads.
struct TypeName {
  std::string_view name;
  std::size_t bits;
  FileType type = FileType::other;
};
constexpr std::array type_names{TypeName{"F32", 32, FileType::f32},
                                TypeName{"F64", 64, FileType::f64},
                                TypeName{"F16", 16, FileType::f16},
                                TypeName{"BF16", 16, FileType::bf16},
                                TypeName{"BOOL", 8},
                                TypeName{"U8", 8},
                                TypeName{"I8", 8},
                                TypeName{"U16", 16},
                                TypeName{"I16", 16},
                                TypeName{"U32", 32},
                                TypeName{"I32", 32},
                                TypeName{"U64", 64},
                                TypeName{"I64", 64},
                                TypeName{"C64", 64},
                                TypeName{"F8_E5M2", 8},
                                TypeName{"F8_E4M3", 8},
                                TypeName{"F8_E8M0", 8},
                                TypeName{"F6_E2M3", 6},
                                TypeName{"F6_E3M2", 6},
                                TypeName{"F4", 4}};

std::string_view name_of(Dtype dtype) { return dtype == Dtype::f32 ? "F32" : "F64"; }

// Listens to the JSON as it is read, so that a key that comes twice is seen. Where it is:
//   top:       { name: -> entry, "__metadata__": -> metadata }
//   entry:     "dtype": string, "shape": -> numbers, "data_offsets": -> numbers
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& source) : source_(source) {}

  Header take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::before:
        place_ = Place::top;
        return true;
      case Place::name:
        begin_entry();
        return true;
      default:
        return unexpected("an object");
    }
  }

  bool end_object() override {
    if (place_ == Place::entry) end_entry();
    place_ = place_ == Place::top ? Place::after : Place::top;
    return true;
  }

  bool key(string_t& key) override {
    check_name(key);
    if (place_ == Place::top) {
      name_ = key;
      if (!names_.insert(key).second) wrong("the name '{}' comes twice", key);
      place_ = Place::name;
    } else if (place_ == Place::metadata) {
      metadata_key_ = key;
      if (header_.metadata.contains(key)) wrong("the __metadata__ '{}' comes twice", key);
    } else {
      field_ = key;
      if (!fields_.insert(key).second) wrong("'{}' has two '{}'", name_, key);
    }
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata.emplace(metadata_key_, value);
      return true;
    }
    if (place_ != Place::entry || field_ != "dtype") return unexpected("a string");
    for (const TypeName& t : type_names) {
      if (t.name == value) entry().type = NamedType{t.type, t.bits, value};
    }
    if (!entry().type) {
      check_line("dtype", value);
      wrong("'{}' has dtype '{}', which the format does not have", name_, value);
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry) return unexpected("an array");
    if (field_ == "shape") {
      numbers_ = &entry().shape.emplace();
    } else if (field_ == "data_offsets") {
      numbers_ = &entry().offsets.emplace();
    } else {
      return unexpected("an array");
    }
    place_ = Place::numbers;
    return true;
  }

  bool end_array() override {
    place_ = Place::entry;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::numbers) return unexpected("a number");
    if (value > std::numeric_limits<std::size_t>::max()) return unexpected("a number too large");
    numbers_->push_back(static_cast<std::size_t>(value));
    if (numbers_->size() > largest_rank) wrong("'{}' has more than {} axes", name_, largest_rank);
    return true;
  }

  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is not whole, or too large");
  }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool null() override { return unexpected("null"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    wrong("it is not valid JSON at byte {}", position);
  }

 private:
  enum class Place { before, top, name, metadata, entry, numbers, after };

  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) {
    fail(Exit::checkpoint, "{}: in its header, {}", source_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  bool unexpected(const char* what) {
    if (place_ == Place::metadata) wrong("__metadata__ holds {}, not only strings", what);
    wrong("{} stands in '{}' where none was expected", what, name_);
  }

  // Errors quote names: they must be a line, and no book.
  void check_line(const char* what, const std::string& text) {
    if (text.size() > longest_name) {
      wrong("a {} has {} characters; {} are allowed", what, text.size(), longest_name);
    }
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        wrong("a {} holds the control character 0x{:02x}", what, static_cast<unsigned>(c));
      }
    }
  }

  void check_name(const std::string& name) {
    check_line("name", name);
    if (place_ != Place::entry && ++count_ > most_names) {
      wrong("there are more than {} names", most_names);
    }
  }

  HeaderEntry& entry() { return header_.entries.back(); }

  void begin_entry() {
    if (name_ == "__metadata__") {
      place_ = Place::metadata;
      return;
    }
    header_.entries.push_back({.name = name_, .type = {}, .shape = {}, .offsets = {}});
    fields_.clear();
    place_ = Place::entry;
  }

  void end_entry() {
    const HeaderEntry& e = entry();
    if (!e.type) wrong("'{}' has no dtype", name_);
    if (!e.shape) wrong("'{}' has no shape", name_);
    if (!e.offsets || e.offsets->size() != 2) wrong("'{}' has no data_offsets [begin, end]", name_);
  }

  const std::string& source_;
  Header header_;
  Place place_ = Place::before;
  std::size_t count_ = 0;
  std::string name_, field_, metadata_key_;
  std::set<std::string> names_, fields_;
  std::vector<std::size_t>* numbers_ = nullptr;
};

}  // namespace

Header parse_header(std::string_view json, const std::string& source) {
  HeaderReader reader(source);
  // The format wants the object to be the first byte and lets only spaces follow it. The parser
  // would skip white space before, and take a NUL for the end.
  const auto wrong = [&source](const char* what) {
    fail(Exit::checkpoint, "{}: its header {}", source, what);
  };
  if (!json.starts_with('{')) wrong("does not begin with '{'");
  if (json.find('\0') != std::string_view::npos) wrong("holds a NUL");
  if (const auto last = json.find_last_not_of(' ');
      std::string_view("\t\n\r").find(json[last]) != std::string_view::npos) {
    wrong("is padded with more than spaces");
  }
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

std::string format_header(const std::vector<StoredTensor>& tensors, const Metadata& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t begin = 0;
  for (const StoredTensor& t : tensors) {
    const std::size_t end = begin + t.size() * width(t.dtype);
    header[t.name] = {
        {"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace vitruvian
