// Fits y = w x to y = 3 x by gradient descent, through the library as another project sees it.
#include "core/ops.hpp"
#include "core/tensor.hpp"

#include <cmath>
#include <cstdio>

int main() {
  using namespace vitruvian;
  const Tensor x(array({4}, {-1, 0.5, 1, 2}));
  const Tensor y(array({4}, {-3, 1.5, 3, 6}));
  const Tensor w(scalar(0), /*requires_grad=*/true);
  for (int step = 0; step < 100; ++step) {
    w.zero_grad();
    mean(square(w * x - y)).backward();
    w.mutable_value() -= real(0.1) * *w.grad();
  }
  std::printf("w = %.4f in %zu bytes\n", static_cast<double>(w.item()), sizeof(real));
  return std::abs(w.item() - 3) < 1e-4 ? 0 : 1;
}
