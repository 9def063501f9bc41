// How a run begins and what it leaves: --init and its positions, the head of a fine-tuning, what is
// refused, and every number that `train` writes, computed again from the weights it saved.

#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "tests/golden.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/report.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/trainer.hpp"
#include "vitruvian/train/weights.hpp"
#include "vitruvian/vit/weights/pos_resize.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

using namespace vitruvian;

namespace {

// 4 x 4 patches of the digits.
TrainOptions small() {
  TrainOptions o = default_options("digits");
  o.train_size = 60;
  o.test_size = 30;
  o.model.D = 8;
  o.model.L = 2;
  o.model.h = 2;
  o.model.M = 12;
  o.batch_size = 20;
  o.epochs = 4;
  return o;
}

Array value(const VisionTransformer& model, const std::string& name) {
  for (const NamedParameter& p : named_parameters(model)) {
    if (p.name == name) return p.tensor.value();
  }
  FAIL(name);
  return {};
}

bool all_zero(const Array& a) {
  return std::all_of(a.data(), a.data() + a.size(), [](real x) { return x == 0; });
}

// One grey image, of a data set of any shape.
TrainingData one_image(std::size_t height, std::size_t width) {
  Dataset data{"one", 1, height, width, 10, {}, {3}, {}, {0.5}, {0.5}};
  data.pixels.assign(height * width, 100);
  const auto images = std::make_shared<MemoryImages>(data);
  return {{images, images}, {{0}, {}}, ""};
}

struct Notes : Observer {
  std::vector<std::string> said;
  void noted(const std::string& sentence) override { said.push_back(sentence); }
};

struct Kept : Observer {
  RunStart start;
  std::vector<EpochReport> epochs;
  std::optional<TestReport> test;
  std::optional<Predictions> predictions;
  void started(const RunStart& s) override { start = s; }
  void finished_epoch(const EpochReport& e) override { epochs.push_back(e); }
  void tested(const TestReport& t) override { test = t; }
  void predicted(const Predictions& p, const std::vector<std::string>&) override {
    predictions = p;
  }
};

// What a model says of images, by loops of our own: their mean loss, and how many are right.
struct Judged {
  double loss = 0, accuracy = 0;
  std::vector<double> probabilities;
};
Judged judged(const VisionTransformer& model, const Dataset& data,
              const std::vector<std::size_t>& members, const Dataset& normalised_as) {
  Judged result;
  Array images = empty({members.size(), data.channels, data.height, data.width});
  real* out = images.data();
  for (const std::size_t i : members) {
    for (const std::uint8_t pixel : data.image(i)) {
      *out++ = static_cast<real>((pixel / 255.0 - normalised_as.mean[0]) / normalised_as.std[0]);
    }
  }
  const Array logits = model(Tensor(images)).value();
  for (std::size_t b = 0; b < members.size(); ++b) {
    const auto z = [&](std::size_t k) { return static_cast<double>(logits(b, k)); };
    double sum = 0;
    std::size_t largest = 0;
    for (std::size_t k = 0; k < data.classes; ++k) {
      sum += std::exp(z(k));
      if (z(k) > z(largest)) largest = k;
    }
    const std::size_t label = data.labels[members[b]];
    const auto n = static_cast<double>(members.size());
    result.loss += (std::log(sum) - z(label)) / n;
    result.accuracy += (largest == label ? 1 : 0) / n;
    for (std::size_t k = 0; k < data.classes; ++k)
      result.probabilities.push_back(std::exp(z(k)) / sum);
  }
  return result;
}

}  // namespace

TEST_CASE("--init: positions are resized as each project does it, and the rest is the file's") {
  const Folder folder;
  const Json positions = golden::read("naming.json");
  for (const Json& c : positions.at("positions")) {
    const auto grid = [&](const char* key, std::size_t i) {
      return c.at(key).at(i).get<std::size_t>();
    };
    constexpr std::size_t P = 2;
    ViTConfig config = small().model;
    config.H = P * grid("from", 0);
    config.W = P * grid("from", 1);
    config.P = P;
    config.D = 2;
    config.h = 1;
    const VisionTransformer old(config, Rng(3));
    Array table = old.pos_embed.table.value();
    const auto values = c.at("values").get<std::vector<double>>();
    std::copy(values.begin(), values.end(), table.data() + config.D);
    old.pos_embed.table.tensor().mutable_value() = table;
    const std::string file = folder.file("w.safetensors");
    save_weights(old, {"digits", {0.5}, {0.5}}, file);

    std::vector<std::string> ways = pos_resize_names();
    CHECK(ways == std::vector<std::string>{"jax", "torchvision", "timm", "hf"});
    ways.emplace_back("");  // the file has timm's names
    for (const std::string& how : ways) {
      CAPTURE(how);
      TrainOptions o = small();
      o.model = config;
      o.model.H = P * grid("to", 0);
      o.model.W = P * grid("to", 1);
      o.init = file;
      o.pos_resize = how;
      o.validate();
      const TrainingData data = one_image(o.model.H, o.model.W);
      Notes notes;
      const VisionTransformer vit = initial_model(o, notes);
      const Run run(o, vit, data, notes, nullptr);
      const auto expected = c.at(how.empty() ? "timm" : how).get<std::vector<double>>();
      const Array found = value(vit, "pos_embed");
      REQUIRE(found.shape() == Shape{1, 1 + expected.size() / 2, 2});
      for (std::size_t d = 0; d < 2; ++d) CHECK(found.data()[d] == table.data()[d]);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        REQUIRE(std::abs(static_cast<double>(found.data()[2 + i]) - expected[i]) < 1e-12);
      }
      REQUIRE(notes.said.size() == 1);
      CHECK(notes.said[0].ends_with("patches, as " + (how.empty() ? "timm" : how) + " does it"));
      for (const NamedParameter& p : named_parameters(old)) {
        if (p.name == "pos_embed") continue;
        const bool head = p.name.starts_with("head.");
        CHECK(value(vit, p.name) == (head ? zeros(p.tensor.shape()) : p.tensor.value()));
      }
    }
  }
  TrainOptions o = small();
  o.pos_resize = "jax";
  CHECK_FAILS_WITH(o.validate(), "--pos-resize needs --init FILE");
  o.init = "w";
  o.pos_resize = "jacks";
  CHECK_FAILS_WITH(o.validate(), "jax");
}

TEST_CASE("fine-tuning begins with the file's model and a new head of zeros") {
  const Folder folder;
  const std::string file = folder.file("w.safetensors");
  ViTConfig config = small().model;
  config.head = Head::tanh;
  config.dropout = config.attention_dropout = config.stochastic_depth = 0.5;
  config.embedding_dropout = config.projection_dropout = config.mlp_dropout = 0.5;
  config.K = 10;
  const VisionTransformer old(config, Rng(3));
  for (const NamedParameter& p : named_parameters(old)) {
    if (p.name.starts_with("head.")) p.tensor.mutable_value() = full(p.tensor.shape(), real(0.1));
  }
  save_weights(old, {"digits", {0.5}, {0.5}}, file);

  TrainOptions o = resolve_settings({"finetune", "", {{"init", file}, {"mlp_dropout", "0.2"}}});
  CHECK(o.model.D == 8);
  CHECK(o.model.M == 12);
  CHECK(o.model.head == Head::linear);  // one linear layer (section 3.2 of the paper)
  CHECK(o.model.dropout == 0);          // the recipe's, not the file's
  CHECK(o.model.mlp_dropout == 0.2);
  // Every rate is what was said, or else the recipe's or the usual one.
  const std::vector<std::string> names{"dropout",           "attention_dropout",
                                       "embedding_dropout", "projection_dropout",
                                       "mlp_dropout",       "stochastic_depth"};
  const auto rates = [](const ViTConfig& c) {
    return std::vector<double>{c.dropout,
                               c.attention_dropout,
                               c.embedding_dropout.value_or(-1),
                               c.projection_dropout.value_or(-1),
                               c.mlp_dropout.value_or(-1),
                               c.stochastic_depth};
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<double> expected{0, 0, -1, -1, -1, 0};
    expected[i] = 0.2;
    CAPTURE(names[i]);
    CHECK(rates(resolve_settings({"finetune", "", {{"init", file}, {names[i], "0.2"}}}).model) ==
          expected);
  }
  CHECK_FAILS_WITH(resolve_settings({"finetune", "", {{"init", file}, {"depth", "3"}}}),
                   "--depth 3, but the model in " + file + " has 2");
  const TrainingData data = one_image(28, 28);
  Observer nobody;
  {
    const VisionTransformer vit = initial_model(o, nobody);
    const Run run(o, vit, data, nobody, nullptr);
    CHECK(all_zero(value(vit, "head.weight")));
    CHECK(all_zero(value(vit, "head.bias")));
    for (const NamedParameter& p : run.model()) {
      if (!p.name.starts_with("head.")) CHECK(p.tensor.value() == value(old, p.name));
    }
  }
  o = resolve_settings({"finetune", "", {{"init", file}, {"keep_head", "true"}}});
  CHECK(o.model.head == Head::tanh);
  const VisionTransformer vit = initial_model(o, nobody);
  const Run run(o, vit, data, nobody, nullptr);
  for (const NamedParameter& p : named_parameters(old)) {
    CHECK(value(vit, p.name) == p.tensor.value());
  }
}

TEST_CASE("weights that are NaN or infinite after an epoch are refused, and not written") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double poison : {std::nan(""), infinity, -infinity}) {
    struct Poisoner : Observer {
      const Run* run = nullptr;
      double poison = 0;
      void stepped(const StepReport& step) override {
        if (step.step != 6) return;  // the last of the second epoch
        const NamedParameter last = run->model().back();
        const WriteGuard value = last.tensor.mutable_value();
        value->data()[value->size() - 1] = static_cast<real>(poison);
      }
    } poisoner;
    const Folder folder;
    const TrainOptions o = small();
    const TrainingData data = training_data(o);
    RunDirectory directory(folder.file("run"), o.to_json());
    const VisionTransformer vit = initial_model(o, poisoner);
    Run run(o, vit, data, poisoner, &directory);
    poisoner.run = &run;
    poisoner.poison = poison;
    run.epoch();
    CHECK_FAILS_WITH(run.epoch(), "training broke down: 'head.bias' holds");
    CHECK(read_run(folder.file("run")).epochs.size() == 1);
    CHECK(read_checkpoint(directory.checkpoint("last")).state.step == 3);
    const Array best = value(load_weights(directory.checkpoint("best")).model, "head.bias");
    CHECK(std::isfinite(static_cast<double>(best.data()[best.size() - 1])));
  }
  // A file that holds one: found at the first step.
  const Folder folder;
  TrainOptions o = small();
  const VisionTransformer model(o.model, Rng(1));
  model.norm.bias.tensor().mutable_value().fill(static_cast<real>(std::nan("")));
  o.init = folder.file("w.safetensors");
  save_weights(model, {"digits", {0.5}, {0.5}}, o.init);
  const TrainingData data = training_data(o);
  Observer nobody;
  const VisionTransformer vit = initial_model(o, nobody);
  Run run(o, vit, data, nobody, nullptr);
  CHECK_FAILS_WITH(run.epoch(), "broke down at step 1 of 12");
}

TEST_CASE("what `train` writes is what its weights say of the images") {
  const Folder folder;
  TrainOptions o = small();
  o.train_size = 50;
  o.val_fraction = 0.22;
  o.ema = 0.8;
  o.patience = 3;
  o.epochs = 6;
  o.save_every = 1;
  o.lr = 5e-3;
  o.seed = 5;
  o.out = folder.file("run");
  Kept kept;
  const RunResult result = f64::train(o, kept);

  // The data, again: the test images are not those that trained or validated.
  const Split split = load({.name = "digits", .train_size = 50, .test_size = 30});
  const std::vector<std::size_t> labels(split.train.labels.begin(), split.train.labels.end());
  const Parts parts = split_validation(labels, 0.22, o.seed);
  CHECK(parts.validation.size() == 11);
  CHECK(kept.start.train_images == 39);
  CHECK(kept.start.validation_images == 11);
  CHECK(kept.start.test_images == 30);
  CHECK(kept.start.steps == 12);  // six epochs of two
  CHECK(kept.start.parameters == o.model.parameters());

  const RunRecord record = read_run(o.out);
  REQUIRE(record.epochs.size() == kept.epochs.size());
  std::size_t best = 0;
  for (std::size_t i = 0; i < record.epochs.size(); ++i) {
    const RunRecord::Epoch& e = record.epochs[i];
    const TrainedModel saved =
        load_weights(fmt::format("{}/checkpoints/epoch-{:04}.safetensors", o.out, i + 1));
    const Judged found = judged(saved.model, split.train, parts.validation, split.train);
    CAPTURE(i);
    CHECK(e.val_loss == doctest::Approx(found.loss).epsilon(1e-12));
    CHECK(e.val_accuracy == doctest::Approx(found.accuracy).epsilon(1e-12));
    CHECK(std::isnan(e.test_loss));
    CHECK(saved.data.mean == split.train.mean);
    CHECK(saved.data.std == split.train.std);
    if (e.val_accuracy > record.epochs[best].val_accuracy) best = i;
  }
  CHECK((record.epochs.size() == 6 || record.epochs.size() == best + 1 + 3));

  // The best is kept, and judged once by the test images.
  const VisionTransformer model = load_weights(weights_file(o.out)).model;
  const VisionTransformer at_best =
      load_weights(fmt::format("{}/checkpoints/epoch-{:04}.safetensors", o.out, best + 1)).model;
  for (const NamedParameter& p : named_parameters(model)) {
    CHECK(p.tensor.value() == value(at_best, p.name));
  }
  const Judged found = judged(model, split.test, natural_order(30), split.train);
  REQUIRE(kept.test);
  CHECK(kept.test->epoch == best + 1);
  CHECK(kept.test->loss == doctest::Approx(found.loss).epsilon(1e-12));
  CHECK(kept.test->accuracy == doctest::Approx(found.accuracy).epsilon(1e-12));
  CHECK(record.test_loss == kept.test->loss);
  CHECK(record.test_accuracy == kept.test->accuracy);
  CHECK(result.directory == o.out);
  EvalOptions of_run;  // which says the rest
  of_run.weights = o.out;
  const Evaluation evaluated = f64::evaluate(of_run);
  CHECK(evaluated.predictions.size() == 30);
  CHECK(evaluated.loss == doctest::Approx(found.loss).epsilon(1e-12));
  CHECK(evaluated.accuracy == doctest::Approx(found.accuracy).epsilon(1e-12));

  // Its predictions, and the confusion matrix of them.
  REQUIRE(kept.predictions);
  CHECK(kept.predictions->labels ==
        std::vector<std::size_t>(split.test.labels.begin(), split.test.labels.end()));
  REQUIRE(kept.predictions->probabilities.size() == found.probabilities.size());
  for (std::size_t i = 0; i < found.probabilities.size(); ++i) {
    REQUIRE(std::abs(kept.predictions->probabilities[i] - found.probabilities[i]) < 1e-12);
  }
  std::vector<std::size_t> counts(100);
  for (std::size_t i = 0; i < 30; ++i) {
    const double* const p = found.probabilities.data() + 10 * i;
    ++counts[10 * std::size_t{split.test.labels[i]} +
             static_cast<std::size_t>(std::max_element(p, p + 10) - p)];
  }
  CHECK(confusion_of(*kept.predictions).counts == counts);
}
