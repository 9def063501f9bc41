// Exercise. A linear layer on your tape (after linear, easy)
//
// An op on a tape does two things: it computes its value, and leaves behind how to go back. With
//
//   record({inputs...}, value, back)
//
// it puts both onto the tape. `back` is a function of g, the cotangent of the value; it returns the
// cotangents of the inputs, in their order, as a std::vector<Tensor>. What it needs later (x and W
// here) it captures: by value, as it runs when this function has long returned.
//
// Record y = x Wᵀ + b. linear(x, W, b) computes it for tensors, and linear_vjp(g, x, W), which you
// may have written, returns {dx, dW, db}.
//
// Parts: walk_back linear

#include "lessons/exercises/parts.hpp"

using namespace vitruvian;

// x (..., in), W (out, in), b (out)  ->  y (..., out)
Var own_linear(const Var& x, const Var& W, const Var& b) {
  // [gap]
  //| // Yours. x.value() is the tensor of x.
  //| const Tensor y = linear(x.value(), W.value(), b.value());
  //| return record({x, W, b}, y, [](const Tensor&) { return std::vector<Tensor>{}; });
  // [solution]
  const Tensor x_value = x.value(), W_value = W.value();
  const Tensor y = linear(x_value, W_value, b.value());
  return record({x, W, b}, y, [x_value, W_value](const Tensor& g) {
    const LinearGradients d = linear_vjp(g, x_value, W_value);
    return std::vector<Tensor>{d.dx, d.dW, d.db};
  });
  // [end]
}

EXERCISE(own_linear);

// [hint 1]
// The value is right already. What is missing is the way back: three tensors, in the order in which
// the inputs stand in record({x, W, b}, ...).
// [hint 2]
// Copy the tensors first (const Tensor x_value = x.value();), and let the function capture the
// copies: [x_value, W_value](const Tensor& g) { ... }. A Tensor is a handle: copying costs nothing.
// [hint 3]
// [x_value, W_value](const Tensor& g) { const LinearGradients d = linear_vjp(g, x_value, W_value);
// return std::vector<Tensor>{d.dx, d.dW, d.db}; }
