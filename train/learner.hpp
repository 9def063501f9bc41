#pragma once

#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/nn/pass.hpp"
#include "vitruvian/train/ranks/ranks.hpp"

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

struct VisionTransformer;
struct MicroBatch;  // train/step.hpp

/// Something that is asked of images, and what is right: R rows of logits of K answers.
struct Question {
  Tensor logits;                      // (R, K)
  std::vector<std::size_t> labels;    // R: which answer is right
  std::optional<Array> targets = {};  // (R, K), where shares of answers are right
  double weight = 1;                  ///< of its mean cross-entropy in the loss
  bool smoothed = true;               ///< whether label smoothing is for its labels too
};

/// What can be trained: parameters, and a function of them from a batch of images (B, C, H, W) to
/// logits (B, K). Any module is one that has `visit`, and `operator()` of images, or of images and
/// a `Pass`; it must outlive its learner, which holds handles on its parameters.
struct Learner {
  std::string name = "a model of the program's own";
  std::vector<NamedParameter> parameters;
  std::function<Tensor(const Tensor& images, const Pass& pass)> logits;  ///< of several threads
  std::size_t tokens = 1;  ///< of an image: how many rows it is in a matrix product
  /// What is asked of a micro-batch, where that is not its classes alone: the loss is the weighted
  /// sum of the questions' cross-entropies, and right or wrong is counted of the first. Without
  /// `pass.rng`, in an evaluation, the first alone is read. Of several threads.
  std::function<std::vector<Question>(const MicroBatch& part, const Pass& pass)> questions = {};
  std::size_t rows = 1;                    ///< that an image has in the first question
  bool classifies = true;                  ///< whether that question is its class
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

  /// `questions`, or the one for the classes of the images; throws where there are none.
  [[nodiscard]] std::vector<Question> ask(const MicroBatch& part, const Pass& pass) const;
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
