#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/optim.hpp"
#include "vitruvian/vit/model.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace vitruvian;

Array images(const Dataset& data, std::span<const std::size_t> some) {
  Array x = empty({some.size(), 1, 28, 28});
  normalised_images(data, some, x.data());
  return x;
}

int main() {
  const auto [train, test] = load({.train_size = 20000, .test_size = 1000});
  const VisionTransformer vit({.D = 32, .L = 2}, Rng(1));  // and the paper's other symbols
  AdamW adamw(named_parameters(vit));
  std::size_t right = 0;
  for (std::size_t epoch = 1; epoch <= 3; ++epoch) {
    const auto order = epoch_order(train.size(), Rng(2), epoch);
    for (const auto some : batches(order, 50)) {
      const Tensor loss = cross_entropy(vit(images(train, some)), batch_labels(train, some));
      adamw.zero_grad();
      loss.backward();  // ours, every derivative of it
      adamw.step(3e-3);
    }
    const NoGrad no_grad;
    const Array logits = vit(images(test, natural_order(test.size()))).value();
    right = 0;
    for (std::size_t i = 0; i < test.size(); ++i) {
      const real* const row = logits.data() + 10 * i;
      right += std::max_element(row, row + 10) - row == test.labels[i] ? 1 : 0;
    }
    fmt::print("epoch {}: {} of {} test digits read\n", epoch, right, test.size());
  }
  return right > 900 ? 0 : 1;
}
