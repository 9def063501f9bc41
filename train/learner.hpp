#pragma once

#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/nn/pass.hpp"
#include "vitruvian/train/ranks/ranks.hpp"

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

struct VisionTransformer;

/// What can be trained: parameters, and a function of them from a batch of images (B, C, H, W) to
/// logits (B, K). Any module is one that has `visit`, and `operator()` of images, or of images and
/// a `Pass`; it must outlive its learner, which holds handles on its parameters.
struct Learner {
  std::string name = "a model of the program's own";
  std::vector<NamedParameter> parameters;
  std::function<Tensor(const Tensor& images, const Pass& pass)> logits;  ///< of several threads
  std::size_t tokens = 1;                  ///< of an image: how many rows it is in a matrix product
  const VisionTransformer* vit = nullptr;  ///< the model, where it is the library's own

  Learner(std::vector<NamedParameter> handles,
          std::function<Tensor(const Tensor& images, const Pass& pass)> function)
      : parameters(std::move(handles)), logits(std::move(function)) {}
  template <class Module>
  requires requires(const Module& m, Visitor& visitor) { m.visit(visitor); }
  Learner(const Module& module)  // NOLINT(google-explicit-constructor): stands for the module
      : Learner(named_parameters(module), [&module](const Tensor& images, const Pass& pass) {
          if constexpr (std::invocable<const Module&, const Tensor&, const Pass&>) {
            return module(images, pass);
          } else {
            return module(images);
          }
        }) {}
  Learner(const VisionTransformer& model);  // NOLINT(google-explicit-constructor)
};

/// Parameters of their own with the same names and values.
std::vector<NamedParameter> copied(const std::vector<NamedParameter>& parameters);

/// Gives all ranks the values that rank 0's have.
void broadcast_values(Ranks& ranks, const std::vector<NamedParameter>& parameters);

/// While it lives, parameters have the values of others with the same names, in the same order, and
/// these have theirs. Where both are the same ones nothing happens.
class Exchanged {
 public:
  Exchanged(const std::vector<NamedParameter>& one, const std::vector<NamedParameter>& other);
  ~Exchanged();
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;

 private:
  void exchange() const;
  std::vector<NamedParameter> one_, other_;
};

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
