// Exercise. Splitting heads (after heads, easy)
//
// One linear layer computes the queries, keys and values of all heads at once: qkv (B, T, 3D). Its
// 3D columns lie in the order (3, h, D_h): first all queries, head by head, then all keys, then all
// values; D_h = D / h. Bring it into the shape (3, B, h, T, D_h), where each head's tokens are a
// matrix of their own.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// qkv (B, T, 3D)  ->  (3, B, h, T, D_h)
Tensor split_heads(const Tensor& qkv, std::size_t heads) {
  // [gap]
  //| // Yours: a reshape and a permute. Axis i of permute(x, order) is axis order[i] of x.
  //| return {};
  // [solution]
  const auto B = static_cast<std::ptrdiff_t>(qkv.size(0));
  const auto T = static_cast<std::ptrdiff_t>(qkv.size(1));
  const auto h = static_cast<std::ptrdiff_t>(heads);
  return permute(reshape(qkv, {B, T, 3, h, -1}), {2, 0, 3, 1, 4});
  // [end]
}

EXERCISE(split_heads);

// [hint 1]
// A reshape never moves a number, it only counts differently. So it can cut 3D into (3, h, D_h),
// but it cannot bring h in front of T.
// [hint 2]
// First (B, T, 3D) -> (B, T, 3, h, D_h). Then exchange axes: the wanted order (3, B, h, T, D_h),
// in numbers of the axes that you have now.
// [hint 3]
// permute(reshape(qkv, {B, T, 3, h, -1}), {2, 0, 3, 1, 4}); lengths must be std::ptrdiff_t:
// const auto B = static_cast<std::ptrdiff_t>(qkv.size(0)).
