#pragma once

#include "vitruvian/core/base/text.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/core/ops.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// How the rows of the table are written down.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

using Cases = std::vector<GradcheckCase>;
using Inputs = std::vector<Tensor>;
using Shapes = std::vector<Shape>;
/// Makes an input; seeds are 100 times the row's number and the input's index.
using Make = std::function<Array(const Shape&, std::uint64_t seed)>;

/// The places at which an op is checked: the shape of its input, or those of all its inputs, and
/// its attributes there.
template <class... Attributes>
using At = std::vector<std::tuple<Shape, Attributes...>>;
template <class... Attributes>
using AtAll = std::vector<std::tuple<Shapes, Attributes...>>;

/// Adds a row at inputs of the given shapes, which the label lists before `attributes`.
void add_row(Cases& cases, const char* op, const Shapes& shapes, const std::string& attributes,
             const Function& f, const Make& make = random_normal);

/// Adds a row, and one that uses the op twice on the same inputs, so that a lost accumulation
/// shows.
void add_row_and_twice(Cases& cases, const char* op, const Shapes& shapes,
                       const std::string& attributes, const Function& f,
                       const Make& make = random_normal);

/// How a label shows an attribute.
template <class Attribute>
auto shown(const Attribute& a) {
  if constexpr (std::ranges::range<Attribute>) {
    return fmt::format("({})", joined(a));
  } else if constexpr (std::is_same_v<Attribute, Indices>) {
    return to_string(a.shape());
  } else if constexpr (std::is_same_v<Attribute, Reduction>) {
    return a == Reduction::mean ? "mean" : a == Reduction::sum ? "sum" : "none";
  } else if constexpr (std::is_same_v<Attribute, std::optional<std::size_t>>) {
    return a ? std::to_string(*a) : "all";
  } else if constexpr (std::is_same_v<Attribute, std::ptrdiff_t>) {
    return a == slice_end ? "" : std::to_string(a);
  } else {
    return a;
  }
}

/// Adds a row for each place, `names` ("axis {}, index {}") telling of its attributes, and at the
/// first one the op twice. `f` takes the input, or the list of all, and the attributes.
template <class Where, class... Attributes, class F>
void add_rows(Cases& cases, const char* op, const char* names,
              const std::vector<std::tuple<Where, Attributes...>>& places, const F& f,
              const Make& make = random_normal) {
  for (const auto& place : places) {
    const auto add = &place == &places.front() ? add_row_and_twice : add_row;
    std::apply(
        [&](const Where& where, const Attributes&... a) {
          const std::string attributes = fmt::format(fmt::runtime(names), shown(a)...);
          if constexpr (std::is_same_v<Where, Shape>) {
            add(
                cases, op, {where}, attributes, [=](const Inputs& x) { return f(x[0], a...); },
                make);
          } else {
            add(
                cases, op, where, attributes, [=](const Inputs& x) { return f(x, a...); }, make);
          }
        },
        place);
  }
}
/// The same of an op of several inputs without attributes.
inline void add_rows(Cases& cases, const char* op, const std::vector<Shapes>& places,
                     const Function& f) {
  for (const Shapes& shapes : places) {
    (&shapes == &places.front() ? add_row_and_twice : add_row)(cases, op, shapes, "", f,
                                                               random_normal);
  }
}

/// The input at `i`, or an absent tensor.
inline Tensor optional(const Inputs& x, std::size_t i, bool present = true) {
  return present && i < x.size() ? x[i] : Tensor();
}

// The parts of the table, each in a file of its own.
void elementwise_rows(Cases& cases);
void shape_rows(Cases& cases);
void layer_rows(Cases& cases);

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
