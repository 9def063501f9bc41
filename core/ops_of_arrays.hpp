#pragma once

#include "vitruvian/core/ops.hpp"

#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <utility>

// Ops of plain arrays, which are constants: `exp(array)` is `exp(Tensor(array))`. An array is an
// xtensor container, and xtensor has functions of the same names that a call without these would
// find. Included by core/ops.hpp.

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {

template <class X>
concept AnArray = std::same_as<std::remove_cvref_t<X>, Array>;
/// What an op takes, one of them at least being an array.
template <class... Xs>
concept WithAnArray = (std::convertible_to<Xs, Tensor> && ...) && (AnArray<Xs> || ...);

// Beside a tensor. (xtensor's operators would take both, as an expression.)
template <class X, class Y>
concept TensorAndArray = (std::same_as<std::remove_cvref_t<X>, Tensor> &&
                          std::same_as<std::remove_cvref_t<Y>, Array>) ||
                         (std::same_as<std::remove_cvref_t<X>, Array> &&
                          std::same_as<std::remove_cvref_t<Y>, Tensor>);
template <class X, class Y>
requires TensorAndArray<X, Y> Tensor operator+(X&& x, Y&& y) { return add(x, y); }
template <class X, class Y>
requires TensorAndArray<X, Y> Tensor operator-(X&& x, Y&& y) { return sub(x, y); }
template <class X, class Y>
requires TensorAndArray<X, Y> Tensor operator*(X&& x, Y&& y) { return mul(x, y); }
template <class X, class Y>
requires TensorAndArray<X, Y> Tensor operator/(X&& x, Y&& y) { return div(x, y); }

// Templates of xtensor's own form, but constrained, which makes them the better match.
#define VITRUVIAN_OF_ARRAY(op) \
  template <class X>           \
  requires AnArray<X> Tensor op(X&& x) { return op(Tensor(std::forward<X>(x))); }
VITRUVIAN_OF_ARRAY(exp)
VITRUVIAN_OF_ARRAY(expm1)
VITRUVIAN_OF_ARRAY(log)
VITRUVIAN_OF_ARRAY(log1p)
VITRUVIAN_OF_ARRAY(sqrt)
VITRUVIAN_OF_ARRAY(square)
VITRUVIAN_OF_ARRAY(sin)
VITRUVIAN_OF_ARRAY(cos)
VITRUVIAN_OF_ARRAY(tanh)
VITRUVIAN_OF_ARRAY(erf)
VITRUVIAN_OF_ARRAY(abs)
#undef VITRUVIAN_OF_ARRAY

template <class X, class P>
requires AnArray<X> && std::convertible_to<P, real> Tensor pow(X&& x, P&& p) {
  return pow(Tensor(std::forward<X>(x)), static_cast<real>(p));
}
template <class A, class B>
requires WithAnArray<A, B> Tensor maximum(A&& a, B&& b) {
  return maximum(Tensor(std::forward<A>(a)), Tensor(std::forward<B>(b)));
}
template <class A, class B>
requires WithAnArray<A, B> Tensor minimum(A&& a, B&& b) {
  return minimum(Tensor(std::forward<A>(a)), Tensor(std::forward<B>(b)));
}
template <class C, class A, class B>
requires AnArray<C> && std::convertible_to<A, Tensor> && std::convertible_to<B, Tensor> Tensor
where(C&& condition, A&& a, B&& b) {
  const Array& c = condition;  // names, so that the plain function is the exact match
  const Tensor x(std::forward<A>(a));
  const Tensor y(std::forward<B>(b));
  return where(c, x, y);
}

// xtensor's reductions have other forms: plain functions of each kind of reference win. (With a
// third argument the compiler stumbles over xtensor's own: write sum(Tensor(array), axes, true).)
// Axes by value too: xtensor takes any reference, and would match better than a constant one.
#define VITRUVIAN_OF_ARRAY(op, reference)                                       \
  inline Tensor op(reference x, Axes axes = {}) { return op(Tensor(x), axes); } \
  inline Tensor op(reference x, std::initializer_list<int> axes) {              \
    return op(Tensor(x), Axes(axes));                                           \
  }
#define VITRUVIAN_OF_ARRAYS(op)        \
  VITRUVIAN_OF_ARRAY(op, Array&)       \
  VITRUVIAN_OF_ARRAY(op, const Array&) \
  VITRUVIAN_OF_ARRAY(op, Array&&)
// NOLINTBEGIN(performance-unnecessary-value-param)
VITRUVIAN_OF_ARRAYS(sum)
VITRUVIAN_OF_ARRAYS(mean)
VITRUVIAN_OF_ARRAYS(amax)
// NOLINTEND(performance-unnecessary-value-param)
#undef VITRUVIAN_OF_ARRAYS
#undef VITRUVIAN_OF_ARRAY

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
