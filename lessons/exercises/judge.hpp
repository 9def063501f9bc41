#pragma once

#include "lessons/exercises/exercise.hpp"
#include "vitruvian/core/tensor.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

// What the checks of exercises are written with. A check calls the learner's function on several
// shapes, compares with something independent, and knows the mistakes that people make.

namespace vitruvian::lessons {
inline namespace VITRUVIAN_PRECISION {

/// What is said where nothing may have been filled in.
inline constexpr const char* open_gap =
    "The gap may still be open; look for \"Yours\" in the file.";

/// What a common mistake gives, and what is to be said about it.
struct Guess {
  std::string why;
  Tensor value;
};

class Judge {
 public:
  /// `ascii`: no glyph beyond ASCII in what is said.
  Judge(const Submission& submission, bool ascii) : submission_(submission), ascii_(ascii) {}

  /// The learner's function; throws when it has another signature.
  template <class F>
  F* yours() const {
    expect_type(typeid(F*).name());
    return reinterpret_cast<F*>(submission_.function);
  }

  /// One case: `body` calls the learner's function and `compare`s what it returns. Nothing is
  /// recorded on the tape meanwhile, and what it throws fails the case. The verdict is printed at
  /// once, and of the first case that failed what differs: cases come from the smallest to the
  /// largest, for the small ones say most about a crash in a large one.
  void in_case(const std::string& label, const std::function<void()>& body);

  /// Entry by entry, to a relative error of 1e-6 of the largest. `source` is who says what is
  /// right: "differences say", "the equation says".
  void compare(std::string_view name, const Tensor& yours, const Tensor& right,
               std::string_view source, const std::vector<Guess>& guesses = {});
  void compare(std::string_view name, double yours, double right, std::string_view source,
               const std::vector<Guess>& guesses = {});
  /// A gradient: the derivative of sum(f(x) g) with respect to x by the four-point stencil.
  void compare_gradient(std::string_view name, const Tensor& yours,
                        const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                        const Tensor& g, const std::vector<Guess>& guesses = {});
  /// Indices, which are right or wrong. A guess is what is to be said, and of which list.
  void compare_indices(
      std::string_view name, const std::vector<std::size_t>& yours,
      const std::vector<std::size_t>& right,
      const std::vector<std::pair<std::string, std::vector<std::size_t>>>& guesses = {});
  /// A case's failure in other words; the first one of a case counts.
  void wrong(const std::string& sentence);

  /// Whether all cases so far agreed, and the learner's file.
  [[nodiscard]] bool all_agreed() const { return agreed_ == cases_; }
  [[nodiscard]] std::string file() const { return submission_.file; }

  /// Says how many cases failed, if any did. Returns whether all agreed.
  [[nodiscard]] bool report() const;

 private:
  void expect_type(const char* type) const;
  void say(const std::string& text) const;

  Submission submission_;
  bool ascii_;
  std::string problem_;  // of the case at hand; empty when it agrees
  std::size_t cases_ = 0;
  std::size_t agreed_ = 0;
};

struct NamedCheck {
  std::string name;  ///< of the exercise
  void (*check)(Judge&);
  int seconds = 0;  ///< that it may run, if more than the learner allows
};
std::vector<NamedCheck> tape_checks();      // check_tape.cpp
std::vector<NamedCheck> layer_checks();     // check_layers.cpp
std::vector<NamedCheck> vit_checks();       // check_vit.cpp
std::vector<NamedCheck> training_checks();  // check_training.cpp
std::vector<NamedCheck> inside_checks();    // check_inside.cpp
std::vector<NamedCheck> own_checks();       // check_own.cpp, check_own_training.cpp

/// d sum(f(x) g) / dx by the four-point stencil, entry by entry.
Tensor differences(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& g);

/// Normal numbers, and 1, 2, 3, ...: with those, an order that is wrong shows at once.
Tensor normal(const Shape& shape, std::uint64_t seed);
Tensor counting(const Shape& shape);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
