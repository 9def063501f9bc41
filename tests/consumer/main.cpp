#include "core/ops.hpp"
#include "datasets/batch.hpp"
#include "nn/optim.hpp"
#include "vit/model.hpp"

#include <fmt/format.h>

using namespace vitruvian;

int main() {
  const Dataset digits = load({.train_size = 4000, .test_size = 500}).train;
  const VisionTransformer vit({.D = 32, .L = 2}, Rng(1));  // and the paper's other symbols
  AdamW adamw(named_parameters(vit));
  double last = 0;
  for (std::size_t epoch = 1; epoch <= 4; ++epoch) {
    const auto order = epoch_order(digits.size(), Rng(2), epoch);
    for (const auto indices : batches(order, 50)) {
      Array x = empty({indices.size(), 1, 28, 28});
      normalised_images(digits, indices, x.data());
      const Tensor loss = cross_entropy(vit(x), batch_labels(digits, indices));
      adamw.zero_grad();
      loss.backward();  // ours, every derivative of it
      adamw.step(2e-3);
      last = loss.item();
    }
    fmt::print("epoch {}: loss {:.3f}\n", epoch, last);
  }
  return last < 1 ? 0 : 1;
}
