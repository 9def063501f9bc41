// Exercise. One token for all images (after class_and_positions, middle)
//
// z₀ = [x_class; patches] + E_pos. The class token x_class (1, 1, D) is a parameter; it is repeated
// for every image of the batch and put in front of its N patches, as token 0. Given g (B, N + 1,
// D), the cotangent of z₀, return the cotangent of x_class.

#include "lessons/exercises/exercise.hpp"

using namespace vitruvian;

// g (B, T, D)  ->  (1, 1, D)
Tensor class_token_vjp(const Tensor& g) {
  // [gap]
  //| // Yours. slice(x, axis, start, stop) is x[start:stop] along that axis, which stays.
  //| return {};
  // [solution]
  return sum(slice(g, 1, 0, 1), {0}, true);
  // [end]
}

EXERCISE(class_token_vjp);

// [hint 1]
// Go back through three steps: adding E_pos changes nothing for x_class; putting it in front of the
// patches; repeating it for B images.
// [hint 2]
// In front: the cotangent is that of token 0 alone. Repeated: every copy has its own cotangent, and
// what is shared collects them all (exercise unbroadcast).
// [hint 3]
// slice(g, 1, 0, 1) is (B, 1, D): token 0 of every image. sum(…, {0}, true) adds the images up and
// keeps the axis.
