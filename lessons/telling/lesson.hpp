#pragma once

#include "lessons/telling/narrate.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/composed.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/nn/parameter.hpp"
#include "vitruvian/nn/pass.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

// What every lesson begins with: ops, their composed twins, random arrays, and what is said about
// tensors: shapes, gradients against differences, one form against another. Whoever uses the
// namespace of the lessons sees the library's as well.

namespace vitruvian::lessons {
using namespace vitruvian;
inline namespace VITRUVIAN_PRECISION {

/// A leaf of a computation and what the lesson calls it.
struct Leaf {
  std::string name;
  Tensor tensor;
};

/// The leaves of a module, under their names.
std::vector<Leaf> leaves_of(const std::vector<NamedParameter>& parameters);

/// Draws all of them from N(0, 1/4), a norm's scales around 1: no derivative is so small that a
/// wrong one could hide.
void draw(const std::vector<NamedParameter>& parameters, const Rng& rng);

/// `Narrator::shape` of tensors: shapes(say, "q (B, T, D_h)", q, "A (B, T, T)", A); or of all that
/// a trace kept.
void shapes(Narrator& say, std::string_view name_and_symbols, const Tensor& tensor);
void shapes(Narrator& say, const Trace& trace);
template <class... More>
void shapes(Narrator& say, std::string_view name_and_symbols, const Tensor& tensor,
            const More&... more) {
  shapes(say, name_and_symbols, tensor);
  shapes(say, more...);
}

/// One check a leaf: the tape's derivative of f's result with respect to it
/// against differences. The numbers shown are of the leaf's largest gradient
/// entry under a random cotangent (of the worst entry, when they disagree),
/// the error is the largest of all.
void check_gradients(Narrator& say, const std::function<Tensor()>& f,
                     const std::vector<Leaf>& leaves, const GradcheckOptions& options = {});

/// Two arrays that should be equal to rounding: |a - b| relative to the
/// largest |entry|. The numbers shown are where b is largest (where they
/// differ most, when they disagree).
void check_equal(Narrator& say, std::string_view what, std::string_view left_name, const Tensor& a,
                 std::string_view right_name, const Tensor& b, double tolerance = 1e-12);
/// The wrong form beside the right one.
void check_differs(Narrator& say, std::string_view what, std::string_view left_name,
                   const Tensor& a, std::string_view right_name, const Tensor& b,
                   double at_least = 1e-3);
/// What was derived by hand, beside what the tape says of the same leaves.
void check_by_hand(Narrator& say, const std::vector<Leaf>& hand, const std::vector<Array>& tape);
/// A mistake beside the right form: they differ. With `--break BROKEN` it is
/// taken for the right one, and the check must fail.
void check_mistake(Narrator& say, std::string_view broken, std::string_view what,
                   std::string_view left_name, const Tensor& wrong, std::string_view right_name,
                   const Tensor& right);

/// The fused form against the composed one: value, and every leaf's gradient
/// under a random cotangent.
void check_twins(Narrator& say, const std::function<Tensor()>& fused,
                 const std::function<Tensor()>& composed, const std::vector<Leaf>& leaves);

/// The matrix (n, n) with ones on its diagonal.
Array identity(std::size_t n);
/// |a - b| relative to the largest |entry| of both, as `check_equal` measures it.
double distance(const Array& a, const Array& b);

/// The place of the largest |entry|.
std::size_t largest_of(const Array& a);

/// What the library says when it refuses to do this; "" when it does it.
std::string refusal(const std::function<void()>& attempt);

/// An array's entries, in their order.
std::vector<double> numbers_of(const Tensor& tensor);
/// An array's entries for people: "1.20 -0.35 0.00", a row each line when it
/// is a matrix.
std::string entries_text(const Array& a, int digits = 3);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian::lessons
