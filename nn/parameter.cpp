#include "vitruvian/nn/parameter.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <map>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

std::vector<Tensor> trainable(const std::vector<NamedParameter>& parameters) {
  std::vector<Tensor> result;
  for (const NamedParameter& p : parameters) {
    if (p.tensor.requires_grad()) result.push_back(p.tensor);
  }
  return result;
}

void zero_grad(const std::vector<NamedParameter>& parameters) {
  for (const NamedParameter& p : parameters) p.tensor.zero_grad();
}

void copy_parameters(const std::vector<NamedParameter>& from,
                     const std::vector<NamedParameter>& to) {
  std::map<std::string, Tensor> sources;
  for (const NamedParameter& p : from) sources.emplace(p.name, p.tensor);
  for (const NamedParameter& p : to) {
    const auto source = sources.find(p.name);
    if (source == sources.end()) fail("copy_parameters: the source has no '{}'", p.name);
    if (source->second.shape() != p.tensor.shape()) {
      fail("copy_parameters: '{}' is {} in the source and {} in the target", p.name,
           to_string(source->second.shape()), to_string(p.tensor.shape()));
    }
  }
  if (from.size() != to.size()) {
    const auto extra = std::find_if(from.begin(), from.end(), [&to](const NamedParameter& p) {
      return std::none_of(to.begin(), to.end(), [&p](const auto& q) { return q.name == p.name; });
    });
    fail("copy_parameters: the target has no '{}'", extra == from.end() ? "" : extra->name);
  }
  for (const NamedParameter& p : to) p.tensor.mutable_value() = sources.at(p.name).value();
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
