// Runs that stop and go on: checkpoints, the split, and what a step is made of.

#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "tests/golden.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/run/checkpoint.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/settings/options.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

using namespace vitruvian;

namespace {

TrainOptions small() {
  TrainOptions o = default_options("digits");
  o.train_size = 60;
  o.test_size = 10;
  o.model.D = 16;
  o.model.L = 2;
  o.model.h = 2;
  o.model.M = 32;
  o.batch_size = 20;
  o.epochs = 2;
  return o;
}

std::vector<Array> values_of(const std::vector<NamedParameter>& parameters) {
  std::vector<Array> result;
  for (const NamedParameter& p : parameters) result.push_back(p.tensor.value());
  return result;
}

std::vector<Array> weights(const VisionTransformer& model) {
  return values_of(named_parameters(model));
}

// The weights after some steps.
std::vector<Array> trained(const TrainOptions& o) {
  const TrainingData data = training_data(o);
  Observer nobody;
  const VisionTransformer vit = initial_model(o, nobody);
  Run run(o, vit, data, nobody, nullptr);
  while (run.goes_on()) run.epoch();
  return values_of(run.kept());
}

}  // namespace

TEST_CASE("a checkpoint comes back whole, and any damaged byte of it is seen") {
  const Folder folder;
  const std::string path = folder.file("last.safetensors");
  const VisionTransformer model = tiny_vit_of_order_one(Rng(3));
  AdamW adamw(named_parameters(model));
  for (const NamedParameter& p : adamw.parameters()) p.tensor.set_grad(full(p.tensor.shape(), 1));
  adamw.step(0.1);
  const VisionTransformer average = tiny_vit_of_order_one(Rng(4));
  RunState state;
  state.settings = small().to_json();
  state.step = 7;
  state.epochs = 2;
  state.loss_sum = 0.1 + 0.2;  // a number whose last bit counts
  state.best_accuracy = 1.0 / 3;
  save_checkpoint(path, state, {named_parameters(model), &adamw, named_parameters(average)});
  const std::string bytes = content(path);

  const CheckpointFile file = read_checkpoint(path);
  const VisionTransformer other = tiny_vit_of_order_one(Rng(5));
  const VisionTransformer other_average = tiny_vit_of_order_one(Rng(6));
  AdamW other_adamw(named_parameters(other));
  restore(file, {named_parameters(other), &other_adamw, named_parameters(other_average)});
  CHECK(file.state.step == 7);
  CHECK(file.state.loss_sum == 0.1 + 0.2);
  CHECK(weights(other) == weights(model));
  CHECK(weights(other_average) == weights(average));
  for (const auto& [name, moments] : adamw.state()) {
    const Moments& mine = other_adamw.state().at(name);
    CHECK(mine.t == 1);
    CHECK(*mine.m == *moments.m);
    CHECK(*mine.v == *moments.v);
  }
  save_checkpoint(path, file.state,
                  {named_parameters(other), &other_adamw, named_parameters(other_average)});
  CHECK(content(path) == bytes);

  std::size_t unseen = 0;
  for (std::size_t i = 0; i < bytes.size(); i += i < 4000 ? 7 : 97) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    write(path, damaged);
    const Failure failure = failure_of([&] { read_checkpoint(path); });
    const bool named = failure.message.find(path) != std::string::npos;
    unseen += failure.exit == Exit::checkpoint && named ? 0 : 1;
  }
  CHECK(unseen == 0);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, bytes.size() - 1}) {
    write(path, bytes.substr(0, size));
    CHECK(failure_of([&] { read_checkpoint(path); }).exit == Exit::checkpoint);
  }
}

TEST_CASE("accumulated batches give the bits of one batch cut alike") {
  TrainOptions o = small();
  o.micro_batch = 5;
  o.model.dropout = 0.1;
  const std::vector<Array> whole = trained(o);
  o.batch_size = 5;
  o.accumulate = 4;
  CHECK(trained(o) == whole);
  o.accumulate = 2;
  CHECK(trained(o) != whole);
}

TEST_CASE("augmented and mixed images: the same bits however a batch is cut into batches") {
  TrainOptions o = small();
  o.micro_batch = 5;
  const std::vector<Array> plain = trained(o);
  o.augment.crop_padding = 2;
  o.augment.mixup = 0.4;
  o.augment.cutmix = 1;
  o.val_fraction = 0.2;
  const std::vector<Array> whole = trained(o);
  CHECK(whole != plain);
  o.batch_size = 5;
  o.accumulate = 4;
  CHECK(trained(o) == whole);
}

TEST_CASE("the moving average is that of the weights after each step") {
  TrainOptions o = small();
  o.epochs = 1;
  o.train_size = 20;  // one step
  const std::vector<Array> after = trained(o);
  o.ema = 0.5;
  const std::vector<Array> average = trained(o);
  const std::vector<Array> before =
      weights(VisionTransformer(o.model, Rng(o.seed).fork("weights")));
  const double d = 2.0 / 11;  // (1 + t) / (10 + t) after step 1
  for (std::size_t i = 0; i < after.size(); ++i) {
    for (std::size_t k = 0; k < after[i].size(); ++k) {
      const double expected = d * static_cast<double>(before[i].data()[k]) +
                              (1 - d) * static_cast<double>(after[i].data()[k]);
      REQUIRE(std::abs(static_cast<double>(average[i].data()[k]) - expected) < 1e-7);
    }
  }
}

TEST_CASE("stochastic depth keeps or skips an image's branch whole, and keeps the mean") {
  const Array x = full({1000, 3}, 1);
  const Array y = stochastic_depth(x, 0.25, Rng(1)).value();
  std::size_t kept = 0;
  for (std::size_t b = 0; b < 1000; ++b) {
    const real first = y.data()[3 * b];
    CHECK((first == 0 || std::abs(static_cast<double>(first) - 4.0 / 3) < 1e-6));
    CHECK(y.data()[3 * b + 1] == first);
    CHECK(y.data()[3 * b + 2] == first);
    kept += first != 0 ? 1 : 0;
  }
  CHECK(kept > 700);
  CHECK(kept < 800);

  // In training the last block's branches are skipped, the first one's never; an evaluation skips
  // nothing.
  ViTConfig config = small().model;
  config.stochastic_depth = 0.5;
  const VisionTransformer model(config, Rng(1));
  CHECK(model.blocks.front().skipped == 0);
  CHECK(model.blocks.back().skipped == 0.5);
  ViTConfig plain = config;
  plain.stochastic_depth = 0;
  const VisionTransformer same(plain, Rng(1));
  const Tensor images(full({4, 1, 28, 28}, 1));
  CHECK(model.features(images).value() == same.features(images).value());
  const Rng rng(2);
  CHECK(model.features(images, {.rng = &rng}).value() !=
        same.features(images, {.rng = &rng}).value());
  // A model used twice in one pass skips others the second time.
  const Pass pass{.rng = &rng};
  const Array once = model.features(images, pass).value();
  CHECK(once == model.features(images, {.rng = &rng}).value());
  CHECK(once != model.features(images, pass).value());
}

TEST_CASE("a number that is none is traced to its op, module, step and images") {
  TrainOptions o = small();
  const TrainingData data = training_data(o);
  Observer nobody;
  const VisionTransformer vit = initial_model(o, nobody);
  Run run(o, vit, data, nobody, nullptr);
  const auto poison = [&](const std::string& name, double value) {
    for (const NamedParameter& p : run.kept()) {
      if (p.name != name) continue;
      const WriteGuard w = p.tensor.mutable_value();
      w->data()[3] = static_cast<real>(value);
    }
  };
  poison("blocks.1.mlp.fc2.weight", std::numeric_limits<double>::quiet_NaN());
  CHECK_FAILS_WITH(run.epoch(),
                   "broke down at step 1 of 6 (epoch 1, lr 2.00e-03), loss nan, gradient norm nan: "
                   "the first is NaN in 1 of 512 numbers of input 1 of 'linear' in "
                   "blocks.1.mlp.fc2, training images ");
  poison("blocks.1.mlp.fc2.weight", 0);
  poison("blocks.0.norm1.weight", std::numeric_limits<double>::infinity());
  CHECK_FAILS_WITH(run.epoch(),
                   "infinity in 1 of 16 numbers of input 1 of 'layer_norm' in blocks.0.norm1");
}

TEST_CASE("a folder's pictures train, validate or test, each once") {
  const Folder folder;
  for (const char* const name : {"ants", "bees"}) {
    std::filesystem::create_directories(folder.file(name));
    for (int i = 0; i < 20; ++i) {
      write(folder.file(fmt::format("{}/{}.pgm", name, i)), "P5 1 1 255\n" + std::string(1, 'a'));
    }
  }
  TrainOptions o = resolve_settings(
      {"", "", {{"dataset", "folder"}, {"data", folder.file("")}, {"val_fraction", "0.25"}}});
  CHECK(o.model.K == 2);
  CHECK(o.model.H == 64);
  const TrainingData data = training_data(o);
  std::vector<std::size_t> all = data.images.test_subset;
  CHECK(all.size() == 8);
  CHECK(data.indices.validation.size() == 8);
  for (const auto& part : {data.indices.train, data.indices.validation}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == natural_order(40));
  CHECK(data_config_of(data).classes == std::vector<std::string>{"ants", "bees"});
  o.seed = 2;  // the test pictures are the same for every run
  CHECK(training_data(o).images.test_subset == data.images.test_subset);
  CHECK(training_data(o).indices.validation != data.indices.validation);
}
