#include "nn/safetensors.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <map>

namespace vitruvian::inline VITRUVIAN_PRECISION {
namespace {

constexpr Dtype dtype = sizeof(real) == sizeof(float) ? Dtype::f32 : Dtype::f64;

// "'a', 'b', 'c' and 4 more"
std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  const std::size_t n = std::min(shown, names.size());
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + n, ", "));
  return names.size() > n ? fmt::format("{} and {} more", text, names.size() - n) : text;
}

std::string to_string(const std::vector<std::size_t>& shape) {
  return vitruvian::to_string(Shape(shape.begin(), shape.end()));
}

}  // namespace

void save(const std::vector<NamedParameter>& parameters, const std::string& path,
          const Metadata& metadata) {
  std::vector<StoredTensor> tensors;
  for (const NamedParameter& p : parameters) {
    const Array& a = p.tensor.value();
    tensors.push_back({p.name,
                       dtype,
                       std::vector<std::size_t>(a.shape().begin(), a.shape().end()),
                       {reinterpret_cast<const char*>(a.data()), a.size() * sizeof(real)}});
  }
  write_safetensors(path, std::move(tensors), metadata);
}

void load(const std::vector<NamedParameter>& parameters, const Safetensors& file) {
  std::map<std::string, const StoredTensor*> stored;
  for (const StoredTensor& t : file.tensors) stored.emplace(t.name, &t);
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;
  for (const NamedParameter& p : parameters) {
    const auto found = stored.find(p.name);
    if (found == stored.end()) {
      missing.push_back(fmt::format("'{}'", p.name));
    } else if (const auto& shape = found->second->shape;
               Shape(shape.begin(), shape.end()) != p.tensor.shape()) {
      misshapen.push_back(
          fmt::format("'{}' is {}, not {}", p.name, to_string(shape), to_string(p.tensor.shape())));
    }
  }
  if (!missing.empty()) fail(Exit::checkpoint, "{}: it lacks {}", file.source, some(missing));
  if (!misshapen.empty()) fail(Exit::checkpoint, "{}: {}", file.source, some(misshapen));
  std::vector<std::string> extra;
  for (const StoredTensor& t : file.tensors) {
    const bool known = std::any_of(parameters.begin(), parameters.end(),
                                   [&t](const NamedParameter& p) { return p.name == t.name; });
    if (!known) extra.push_back(fmt::format("'{}'", t.name));
  }
  if (!extra.empty()) {
    fail(Exit::checkpoint, "{}: it has {}, which the model does not know", file.source,
         some(extra));
  }
  for (const NamedParameter& p : parameters) {
    const StoredTensor& t = *stored.at(p.name);
    Array& a = p.tensor.mutable_value();
    for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = static_cast<real>(t[i]);
  }
}

}  // namespace vitruvian::inline VITRUVIAN_PRECISION
