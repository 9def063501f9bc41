#include "vitruvian/nn/safetensors.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/file_formats.hpp"

#include <algorithm>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

static constexpr Dtype dtype = sizeof(real) == sizeof(float) ? Dtype::f32 : Dtype::f64;

std::vector<StoredTensor> stored_tensors(const std::vector<NamedParameter>& parameters) {
  std::vector<StoredTensor> tensors;
  for (const NamedParameter& p : parameters) {
    const Array& a = p.tensor.value();
    tensors.push_back({p.name, dtype, std::vector<std::size_t>(a.shape().begin(), a.shape().end()),
                       [&a] { return as_bytes(a); }});
  }
  return tensors;
}

void save(const std::vector<NamedParameter>& parameters, const std::string& path,
          const Metadata& metadata) {
  write_safetensors(path, stored_tensors(parameters), metadata);
}

void load(const std::vector<NamedParameter>& parameters, const TensorFile& file) {
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;
  for (const NamedParameter& p : parameters) {
    const StoredTensor* const found = file.find(p.name);
    if (found == nullptr) {
      missing.push_back(fmt::format("'{}'", p.name));
    } else if (found->dtype == Dtype::other) {
      misshapen.push_back(fmt::format("'{}' holds no floating-point numbers", p.name));
    } else if (const auto& shape = found->shape;
               Shape(shape.begin(), shape.end()) != p.tensor.shape()) {
      misshapen.push_back(fmt::format("'{}' is {}, not {}", p.name, shape_text(shape),
                                      to_string(p.tensor.shape())));
    }
  }
  if (!missing.empty()) fail(Exit::checkpoint, "{}: it lacks {}", file.source, some_of(missing));
  if (!misshapen.empty()) fail(Exit::checkpoint, "{}: {}", file.source, some_of(misshapen));
  std::vector<std::string> extra;
  for (const StoredTensor& t : file.tensors) {
    const bool known = std::any_of(parameters.begin(), parameters.end(),
                                   [&t](const NamedParameter& p) { return p.name == t.name; });
    if (!known) extra.push_back(fmt::format("'{}'", t.name));
  }
  if (!extra.empty()) {
    fail(Exit::checkpoint, "{}: it has {}, which the model does not know", file.source,
         some_of(extra));
  }
  for (const NamedParameter& p : parameters) {
    const StoredTensor& t = file.at(p.name);
    const Bytes bytes = t.read();
    const WriteGuard a = p.tensor.mutable_value();
    t.dtype == Dtype::f32 ? copy_numbers<float>(bytes, a->data(), a->size())
                          : copy_numbers<double>(bytes, a->data(), a->size());
  }
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
