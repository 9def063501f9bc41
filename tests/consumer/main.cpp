// Learns exclusive or with a small MLP: the library as another project sees it.
#include "core/ops.hpp"
#include "nn/layers.hpp"
#include "nn/optim.hpp"

#include <cmath>
#include <cstdio>

int main() {
  using namespace vitruvian;
  const Tensor x(array({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}));
  const Tensor y(array({4, 2}, {0, 1, 1, 0, 1, 0, 0, 1}));
  const Mlp mlp(2, 16, Rng(1));
  AdamW optimizer(named_parameters(mlp));
  double loss = 0;
  for (int step = 0; step < 500; ++step) {
    optimizer.zero_grad();
    const Tensor error = mse_loss(mlp(x), y);
    error.backward();
    optimizer.step(0.01);
    loss = static_cast<double>(error.item());
  }
  std::printf("loss %.2e with numbers of %zu bytes\n", loss, sizeof(real));
  return std::isfinite(loss) && loss < 1e-3 ? 0 : 1;
}
