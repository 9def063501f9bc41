#pragma once

#include "vitruvian/core/base/rng.hpp"
#include "vitruvian/core/guards.hpp"
#include "vitruvian/nn/init.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a model learns, and how it is found: a layer is a plain struct with a constructor,
// `operator()`, and one function `void visit(Visitor&) const` that lists its parameters. There is
// no base class and no registration. Names are the parent's business, here as in `Scope`.

namespace vitruvian {

/// What a parameter is for. Weight decay and initialisation go by it.
enum class Role { weight, bias, norm, position, token };

inline namespace VITRUVIAN_PRECISION {

/// The only owner of a learned array: a leaf that requires a gradient (until it is frozen:
/// `p.tensor().set_requires_grad(false)`), or absent (a layer without bias). Move-only, so that no
/// model is copied by accident: see `clone`. Stands wherever a `const Tensor&` is taken.
class Parameter {
 public:
  Parameter() = default;
  explicit Parameter(Array value) : tensor_(std::move(value), true) {}
  ~Parameter() = default;
  Parameter(Parameter&&) noexcept = default;
  Parameter& operator=(Parameter&&) noexcept = default;
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  explicit operator bool() const { return static_cast<bool>(tensor_); }
  operator const Tensor&() const { return tensor_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] const Shape& shape() const { return tensor_.shape(); }
  [[nodiscard]] const Array& value() const { return tensor_.value(); }
  [[nodiscard]] GradientPointer<const Array> grad() const { return tensor_.grad(); }

 private:
  Tensor tensor_;
};

/// Walks a model and hands each parameter, absent ones included, to a function, in the order in
/// which the layers list them.
class Visitor {
 public:
  using See = std::function<void(const std::string& name, Role role, const Parameter& parameter)>;
  explicit Visitor(See see) : see_(std::move(see)) {}

  /// A parameter of the module that is being visited.
  void parameter(std::string_view name, Role role, const Parameter& parameter) {
    see_(prefix_ + std::string(name), role, parameter);
  }

  /// A module inside it: `visitor.child("fc1", fc1)`.
  template <class Module>
  void child(std::string_view name, const Module& module) {
    const std::size_t length = prefix_.size();
    prefix_.append(name).push_back('.');
    module.visit(*this);
    prefix_.resize(length);
  }
  /// One of several: `visitor.child("blocks", i, blocks[i])`.
  template <class Module>
  void child(std::string_view name, std::size_t index, const Module& module) {
    child(std::string(name) + '.' + std::to_string(index), module);
  }

 private:
  See see_;
  std::string prefix_;
};

/// A handle on a parameter: changing the tensor's value changes the model.
struct NamedParameter {
  std::string name;  ///< "blocks.0.attn.qkv.weight", as timm calls it
  Role role = Role::weight;
  Tensor tensor;
};

/// The parameters of a module, absent ones left out.
template <class Module>
std::vector<NamedParameter> named_parameters(const Module& module) {
  std::vector<NamedParameter> result;
  Visitor visitor([&result](const std::string& name, Role role, const Parameter& parameter) {
    if (parameter) result.push_back({name, role, parameter.tensor()});
  });
  module.visit(visitor);
  return result;
}

/// How many numbers a module learns.
template <class Module>
std::size_t count_parameters(const Module& module) {
  std::size_t total = 0;
  for (const NamedParameter& p : named_parameters(module)) total += p.tensor.size();
  return total;
}

/// The tensors that are learned: of the parameters that are not frozen (Tensor::set_requires_grad).
std::vector<Tensor> trainable(const std::vector<NamedParameter>& parameters);

/// Forgets the gradients of the given parameters.
void zero_grad(const std::vector<NamedParameter>& parameters);

/// Copies the values of parameters with the same names. Throws, naming the first that is missing on
/// either side or has another shape, before anything is changed.
void copy_parameters(const std::vector<NamedParameter>& from,
                     const std::vector<NamedParameter>& to);
template <class Module>
void copy_parameters(const Module& from, const Module& to) {
  copy_parameters(named_parameters(from), named_parameters(to));
}

/// A deep copy: a fresh module of the same configuration, with the same values, frozen where the
/// module is, and no gradients. The fresh one is `module.fresh()`, or made from `module.config`
/// where a module has one.
template <class Module>
Module clone(const Module& module) {
  Module copy = [&module] {
    const init::Off values_come_later;
    if constexpr (requires { module.config; }) {
      return Module(module.config, Rng(0));
    } else {
      static_assert(
          requires { module.fresh(); }, "clone: the module has neither fresh() nor config");
      return module.fresh();
    }
  }();
  copy_parameters(module, copy);
  const std::vector<NamedParameter> from = named_parameters(module);
  const std::vector<NamedParameter> to = named_parameters(copy);
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].tensor.set_requires_grad(from[i].tensor.requires_grad());
  }
  return copy;
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
