#include "vitruvian/nn/tensor_file.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/file_formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

namespace vitruvian {
namespace {

std::size_t product(const std::vector<std::size_t>& shape) {
  std::size_t n = 1;
  for (const std::size_t length : shape) n *= length;
  return n;
}

// std::bit_cast, which emscripten's library does not have yet.
float from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1F;
  const unsigned fraction = bits & 0x3FFU;
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  if (exponent == 0) {  // zero, and the subnormal numbers: fraction 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 0 ? magnitude : -magnitude;
  }
  // Infinity and NaN keep their exponent of all ones; other exponents have another bias.
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : static_cast<std::uint32_t>(exponent) + 112U;
  return from_bits(sign | wide << 23U | fraction << 13U);
}

}  // namespace

std::size_t width(Dtype dtype) {
  return dtype == Dtype::f32 ? sizeof(float) : dtype == Dtype::f64 ? sizeof(double) : 0;
}

std::size_t StoredTensor::size() const { return product(shape); }

std::vector<double> StoredTensor::values() const {
  const Bytes bytes = read();
  std::vector<double> result(size());
  dtype == Dtype::f64 ? copy_numbers<double>(bytes, result.data(), result.size())
                      : copy_numbers<float>(bytes, result.data(), result.size());
  return result;
}

const StoredTensor* TensorFile::find(std::string_view name) const {
  const auto found = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const StoredTensor& tensor, std::string_view n) { return tensor.name < n; });
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

const StoredTensor& TensorFile::at(std::string_view name) const {
  if (const StoredTensor* const found = find(name)) return *found;
  const std::string near = closest_match(name, names_in(tensors));
  fail(Exit::checkpoint, "{}: it has no tensor '{}'{}", source, name,
       near.empty() ? "" : fmt::format("; the nearest is '{}'", near));
}

std::uint64_t TensorFile::size() const {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t total = 0;
  for (const StoredTensor& t : tensors) total += std::min<std::uint64_t>(t.size(), most - total);
  return total;
}

StoredTensor stored(std::string name, std::vector<std::size_t> shape, std::vector<double> values,
                    Dtype dtype) {
  if (values.size() != product(shape)) {
    fail("'{}' of shape {} was given {} numbers", name, shape_text(shape), values.size());
  }
  const auto kept = std::make_shared<const std::vector<double>>(std::move(values));
  return {std::move(name), dtype, std::move(shape), [kept, dtype] {
            return dtype == Dtype::f64 ? as_bytes(*kept)
                                       : as_bytes(std::vector<float>(kept->begin(), kept->end()));
          }};
}

StoredTensor stored_zeros(std::string name, std::vector<std::size_t> shape, Dtype dtype) {
  const std::size_t bytes = product(shape) * width(dtype);
  return {std::move(name), dtype, std::move(shape), [bytes] { return Bytes(bytes); }};
}

StoredTensor reshaped(StoredTensor tensor, std::vector<std::size_t> shape) {
  if (product(shape) != tensor.size()) {
    fail("'{}' {} cannot become {}", tensor.name, shape_text(tensor.shape), shape_text(shape));
  }
  tensor.shape = std::move(shape);
  return tensor;
}

StoredTensor permuted(const StoredTensor& tensor, const std::vector<std::size_t>& axes) {
  std::vector<std::size_t> once = axes;
  std::sort(once.begin(), once.end());
  std::vector<std::size_t> all(tensor.shape.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (once != all) {
    fail("'{}' {} has no axes ({}), each once", tensor.name, shape_text(tensor.shape),
         joined(axes));
  }
  std::vector<std::size_t> strides(tensor.shape.size(), 1);
  for (std::size_t k = strides.size(); k-- > 1;) strides[k - 1] = strides[k] * tensor.shape[k];
  StoredTensor result = tensor;
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    result.shape[k] = tensor.shape.at(axes[k]);
    chosen.push_back(strides.at(axes[k]));
  }
  result.read = [read = tensor.read, number = width(tensor.dtype), shape = result.shape, chosen] {
    const Bytes from = read();
    Bytes to(from.size());
    for (std::size_t i = 0; i < from.size() / number; ++i) {
      std::size_t place = 0;
      std::size_t rest = i;
      for (std::size_t k = shape.size(); k-- > 0; rest /= shape[k]) {
        place += rest % shape[k] * chosen[k];
      }
      std::memcpy(to.data() + number * i, from.data() + number * place, number);
    }
    return to;
  };
  return result;
}

StoredTensor rows(const StoredTensor& tensor, std::size_t begin, std::size_t end) {
  if (tensor.shape.empty() || begin > end || end > tensor.shape[0]) {
    fail("'{}' {} has no rows [{}, {})", tensor.name, shape_text(tensor.shape), begin, end);
  }
  StoredTensor result = tensor;
  result.shape[0] = 1;
  const std::size_t length = result.size() * width(tensor.dtype);
  result.shape[0] = end - begin;
  result.read = [read = tensor.read, from = begin * length, to = end * length] {
    const Bytes all = read();
    return Bytes(all.begin() + static_cast<std::ptrdiff_t>(from),
                 all.begin() + static_cast<std::ptrdiff_t>(to));
  };
  return result;
}

StoredTensor concatenated(const std::vector<StoredTensor>& parts) {
  if (parts.empty()) fail("there are no tensors to be put one after the other");
  StoredTensor result = parts[0];
  const auto row = [](const StoredTensor& part) {
    if (part.shape.empty()) fail("'{}' is one number: it has no rows", part.name);
    return std::vector<std::size_t>(part.shape.begin() + 1, part.shape.end());
  };
  const std::vector<std::size_t> wanted = row(result);
  result.shape[0] = 0;
  for (const StoredTensor& part : parts) {
    if (row(part) != wanted) {
      fail("'{}' {} does not go on below '{}' {}", part.name, shape_text(part.shape), parts[0].name,
           shape_text(parts[0].shape));
    }
    if (part.dtype != result.dtype) {
      fail(Exit::checkpoint, "'{}' and '{}' have different dtypes", result.name, part.name);
    }
    result.shape[0] += part.shape[0];
  }
  result.read = [parts] {
    Bytes all;
    for (const StoredTensor& part : parts) {
      const Bytes bytes = part.read();
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  };
  return result;
}

TensorFile read_tensor_file(const std::shared_ptr<const ByteSource>& file) {
  std::array<char, 512> start{};
  const std::size_t known = static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), 512));
  file->read_at(0, {start.data(), known});
  // A zip archive starts with "PK" 3 4, or "PK" 5 6 when it is empty; a pickle with 0x80 and its
  // protocol, of which the oldest that PyTorch wrote goes on with the length of a magic number. As
  // the length of a safetensors header all that would be above its limit.
  const std::string_view magic(start.data(), known);
  if (magic.starts_with("PK\3\4") || magic.starts_with("PK\5\6")) {
    return is_pth(file) ? read_pth(file) : read_npz(file);
  }
  const bool tar = magic.size() > 262 && magic.substr(257, 5) == "ustar";
  if (tar || magic.starts_with("\x80\x02\x8a\x0a")) {
    fail(Exit::checkpoint,
         "{}: a file of PyTorch's {}, which is not read; torch.save(torch.load(OLD{}), NEW) in "
         "a new PyTorch makes the form that is",
         file->name(),
         tar ? "first form, a tar archive" : "form before 1.6, a pickle without an archive",
         tar ? "" : ", weights_only=True");
  }
  if (magic.size() >= 4 && magic[0] == '\x80' && magic[1] >= 2 && magic[1] <= 5 &&
      magic.substr(4, 4) != std::string_view("\0\0\0\0", 4)) {
    fail(Exit::checkpoint,
         "{}: a pickle, which may be any program, and nothing of it was run; of PyTorch's files "
         "those of torch.save(model.state_dict(), FILE) are read",
         file->name());
  }
  return read_safetensors(file);
}

TensorFile read_tensor_file(const std::string& path) {
  return read_tensor_file(std::make_shared<const RegularFile>(path, Exit::checkpoint));
}

void refuse(const std::string& what, const std::string& problem) {
  fail(Exit::checkpoint, "{}: {}", what, problem);
}

void sort_by_name(std::vector<StoredTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_tensor_name(const std::string& name) {
  return !name.empty() && name.size() <= longest_name &&
         std::none_of(name.begin(), name.end(), is_control);
}

void check_names_differ(const TensorFile& file) {
  const auto twice = std::adjacent_find(
      file.tensors.begin(), file.tensors.end(),
      [](const StoredTensor& a, const StoredTensor& b) { return a.name == b.name; });
  if (twice == file.tensors.end()) return;
  fail(Exit::checkpoint, "{}: the name '{}' comes twice", file.source, twice->name);
}

Dtype dtype_of(FileType type) {
  if (type == FileType::other) return Dtype::other;
  return type == FileType::f64 ? Dtype::f64 : Dtype::f32;
}

void check_readable(const NamedType& type, const std::string& what) {
  if (type.type != FileType::other) return;
  fail(Exit::checkpoint, "{} has dtype '{}'; float64, float32, float16 and bfloat16 are read", what,
       type.name);
}

Bytes upcast(Bytes bytes, FileType type) {
  if (type == FileType::f32 || type == FileType::f64) return bytes;
  Bytes result(bytes.size() / 2 * sizeof(float));
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, sizeof half);
    const float x = type == FileType::f16 ? from_half(half) : from_bits(std::uint32_t{half} << 16U);
    std::memcpy(result.data() + i * sizeof x, &x, sizeof x);
  }
  return result;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t n = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8U | static_cast<unsigned char>(bytes[i]);
  return n;
}

std::uint64_t bytes_of_shape(const std::vector<std::size_t>& shape, std::size_t bits,
                             const std::string& what) {
  constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  std::uint64_t count = 1;
  for (const std::size_t n : shape) {
    if (n != 0 && count > most / n) {
      fail(Exit::checkpoint, "{}: its shape {} overflows", what, shape_text(shape));
    }
    count *= std::max<std::size_t>(n, 1);
  }
  if (count / 8 >= most / bits) {  // count * bits / 8 may be above `most`
    fail(Exit::checkpoint, "{}: its shape {} overflows", what, shape_text(shape));
  }
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
  if (count % 8 * bits % 8 != 0) {
    fail(Exit::checkpoint, "{}: its shape {} does not end with a byte", what, shape_text(shape));
  }
  return count / 8 * bits + count % 8 * bits / 8;
}

}  // namespace vitruvian
