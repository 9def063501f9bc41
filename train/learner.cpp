#include "vitruvian/train/learner.hpp"

#include "vitruvian/vit/model.hpp"

#include <fmt/format.h>

#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

Learner::Learner(const VisionTransformer& model)
    : Learner(named_parameters(model),
              [&model](const Tensor& images, const Pass& pass) { return model(images, pass); }) {
  const ViTConfig& c = model.config;
  name = fmt::format("ViT {} x {} x {}, P {}, D {}, L {}, h {}, M {}", c.H, c.W, c.C, c.P, c.D, c.L,
                     c.h, c.M);
  tokens = c.T();
  vit = &model;
}

std::vector<NamedParameter> copied(const std::vector<NamedParameter>& parameters) {
  std::vector<NamedParameter> result;
  for (const NamedParameter& p : parameters) {
    result.push_back({p.name, p.role, Tensor(p.tensor.value())});
  }
  return result;
}

Exchanged::Exchanged(const std::vector<NamedParameter>& one,
                     const std::vector<NamedParameter>& other)
    : one_(one), other_(other) {
  exchange();
}
Exchanged::~Exchanged() { exchange(); }

void Exchanged::exchange() const {
  for (std::size_t i = 0; i < one_.size(); ++i) {
    const WriteGuard a = one_[i].tensor.mutable_value();
    const WriteGuard b = other_[i].tensor.mutable_value();
    if (&*a != &*b) std::swap(*a, *b);
  }
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
