// How a run begins and what it leaves: --init and its positions, the head of a fine-tuning, what is
// refused, and every number that `train` writes, computed again from the weights it saved.

#include "tests/train/small.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/settings/settings.hpp"
#include "vitruvian/vit/weights/weights.hpp"

using namespace vitruvian;

namespace {

struct Kept : Observer {
  RunStart start;
  std::optional<TestReport> test;
  std::optional<Predictions> predictions;
  void started(const RunStart& s) override { start = s; }
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

TEST_CASE("--init: positions are resized as --pos-resize says, and the rest is the file's") {
  const Folder folder;
  TrainOptions o = small_options();
  const VisionTransformer old(o.model, Rng(3));  // 4 x 4 patches
  const Array table = old.pos_embed.table.value();
  const std::size_t D = o.model.D;
  o.init = folder.file("w.safetensors");
  save_weights(old, {"digits", {0.5}, {0.5}}, o.init);
  o.model.H = 42, o.model.W = 35;
  std::vector<std::string> ways = pos_resize_names();
  CHECK(ways == std::vector<std::string>{"jax", "torchvision", "timm", "hf"});
  ways.emplace_back("");  // the file has timm's names
  for (const std::string& how : ways) {
    CAPTURE(how);
    o.pos_resize = how;
    o.validate();
    Listener notes;
    const VisionTransformer vit = initial_model(o, notes);
    const std::string as = how.empty() ? "timm" : how;
    CHECK(notes.said ==
          std::vector<std::string>{"the position embeddings are resized from 4 x 4 to "
                                   "6 x 5 patches, as " +
                                   as + " does it"});
    std::vector<double> expected(table.data(), table.data() + D);  // of the class token
    for (const double x : resize_grid({table.data() + D, table.data() + table.size()}, {4, 4},
                                      {6, 5}, D, pos_resize_of(as))) {
      expected.push_back(x);
    }
    CHECK(value_of(vit, "pos_embed") == array({1, 31, D}, expected));
    for (const NamedParameter& p : named_parameters(old)) {
      if (p.name == "pos_embed") continue;
      const bool head = p.name.starts_with("head.");
      CHECK(value_of(vit, p.name) == (head ? zeros(p.tensor.shape()) : p.tensor.value()));
    }
  }
  o.pos_resize = "jacks";
  CHECK_FAILS_WITH(o.validate(), "jax");
}

TEST_CASE("fine-tuning begins with the file's model and a new head of zeros") {
  const Folder folder;
  const std::string file = folder.file("w.safetensors");
  ViTConfig config = small_options().model;
  config.head = Head::tanh;
  config.dropout = config.attention_dropout = config.stochastic_depth = 0.5;
  config.embedding_dropout = config.projection_dropout = config.mlp_dropout = 0.5;
  const VisionTransformer old(config, Rng(3));
  old.head.weight.tensor().mutable_value() = full({10, 8}, real(0.1));
  save_weights(old, {"digits", {0.5}, {0.5}}, file);
  const auto settled = [&](const std::string& setting, const std::string& value) {
    return resolve_settings({"finetune", "", {{"init", file}, {setting, value}}});
  };
  // Every rate is what was said, or else the recipe's or the usual one; never the file's.
  const std::vector<std::string> names{"dropout",           "attention_dropout",
                                       "embedding_dropout", "projection_dropout",
                                       "mlp_dropout",       "stochastic_depth"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    const ViTConfig c = settled(names[i], "0.2").model;
    CHECK(c.D == 8);
    CHECK(c.M == 12);
    CHECK(c.head == Head::linear);  // one linear layer (section 3.2 of the paper)
    std::vector<double> expected{0, 0, -1, -1, -1, 0};
    expected[i] = 0.2;
    CHECK(std::vector<double>{c.dropout, c.attention_dropout, c.embedding_dropout.value_or(-1),
                              c.projection_dropout.value_or(-1), c.mlp_dropout.value_or(-1),
                              c.stochastic_depth} == expected);
  }
  CHECK_FAILS_WITH(settled("depth", "3"), "--depth 3, but the model in " + file + " has 2");
  using Row = std::array<std::string, 3>;
  for (const Row& row : {Row{"post_norm", "true", "false"}, Row{"positions", "sincos", "learned"},
                         Row{"head", "tanh", "linear"}, Row{"registers", "2", "0"},
                         Row{"layer_scale", "0.5", "0.0"}}) {
    CHECK_FAILS_WITH(settled(row[0], row[1]), flag_name(row[0]) + " " + row[1] +
                                                  ", but the model in " + file + " has " + row[2]);
  }
  CHECK(settled("positions", "learned").model.positions == Positions::learned);
  // A file without our config does not say how many heads there are.
  const std::string bare = folder.file("bare.safetensors");
  write_safetensors(bare, read_safetensors(file).tensors, {});
  const auto with_heads = [&](const std::string& heads) {
    return resolve_settings({"finetune", "", {{"init", bare}, {"heads", heads}}});
  };
  CHECK(with_heads("4").model.h == 4);
  CHECK(value_of(initial_model(with_heads("4"), nobody_looks), "blocks.0.attn.qkv.weight") ==
        value_of(old, "blocks.0.attn.qkv.weight"));
  CHECK_FAILS_WITH(resolve_settings({"finetune", "", {{"init", bare}}}), "the heads are a guess");
  const VisionTransformer fresh = initial_model(settled("seed", "1"), nobody_looks);
  for (const NamedParameter& p : named_parameters(fresh)) {
    const bool head = p.name.starts_with("head.");
    CHECK(p.tensor.value() == (head ? zeros(p.tensor.shape()) : value_of(old, p.name)));
  }
  const std::string damaged = folder.file("nan.safetensors");
  const VisionTransformer broken(config, Rng(3));
  broken.norm.weight.tensor().mutable_value().fill(std::numeric_limits<real>::quiet_NaN());
  save_weights(broken, {"digits", {0.5}, {0.5}}, damaged);
  CHECK_FAILS_WITH(
      initial_model(resolve_settings({"finetune", "", {{"init", damaged}}}), nobody_looks),
      damaged + ": 'norm.weight' holds NaN");
  const TrainOptions keeping = settled("keep_head", "true");
  CHECK(keeping.model.head == Head::tanh);
  CHECK(values_of(named_parameters(initial_model(keeping, nobody_looks))) ==
        values_of(named_parameters(old)));
}

TEST_CASE("what is frozen stays as it began, and the rest learns") {
  const auto changed = [](TrainOptions o) {
    SmallRun run(o, nobody_looks);
    const std::vector<Array> before = values_of(named_parameters(run.vit));
    static_cast<void>(run.run.epoch());
    std::vector<std::string> names;
    const std::vector<NamedParameter> after = named_parameters(run.vit);
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (after[i].tensor.value() != before[i]) names.push_back(after[i].name);
    }
    return names;
  };
  const auto named = [](const TrainOptions& o, const auto& wanted) {
    std::vector<std::string> names;
    for (const NamedParameter& p : named_parameters(VisionTransformer(o.model, Rng(1)))) {
      if (wanted(p.name)) names.push_back(p.name);
    }
    return names;
  };
  TrainOptions o = small_options();
  o.weight_decay = 0.5;  // it leaves alone what is frozen
  o.ema = 0.5;
  CHECK(changed(o) == named(o, [](const std::string&) { return true; }));
  o.freeze = 1;
  CHECK(changed(o) == named(o, [](const std::string& name) {
          return name.starts_with("blocks.1.") || name.starts_with("norm.") ||
                 name.starts_with("head.");
        }));
  o.freeze = 2;
  CHECK(changed(o) ==
        std::vector<std::string>{"norm.weight", "norm.bias", "head.weight", "head.bias"});
  o.freeze = 0;
  o.linear_probe = true;
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd}) {
    o.optimizer = kind;
    CHECK(changed(o) == std::vector<std::string>{"head.weight", "head.bias"});
  }
  CHECK(warnings_of(o).back().starts_with("what is frozen stays as it was drawn"));
  o.freeze = 3;
  CHECK_FAILS_WITH(o.validate(), "--freeze 3: the model has 2 blocks");
}

TEST_CASE(
    "the rate of a layer is a power of its distance from the head, and the head has its own") {
  ViTConfig config = small_options().model;  // two blocks
  config.head = Head::tanh;
  config.positions = Positions::relative;
  const auto factors = rate_factors(VisionTransformer(config, Rng(1)), 0.5, 3);
  std::size_t seen = 0;
  const std::map<std::string, double> expected{
      {"cls_token", 0.125}, {"patch_embed.", 0.125}, {"blocks.0.", 0.25}, {"blocks.1.", 0.5},
      {"norm.", 1},         {"pre_logits.", 3},      {"head.", 3}};
  for (const auto& one : expected) {
    const auto& name = one.first;
    CAPTURE(name);
    for (auto at = factors.lower_bound(name); at != factors.end() && at->first.starts_with(name);
         ++at) {
      CHECK(at->second == one.second);
      ++seen;
    }
  }
  CHECK(seen == factors.size());
  CHECK(factors.contains("blocks.1.attn.relative_position_bias_table"));
  config.positions = Positions::learned;
  const VisionTransformer other(config, Rng(1));
  CHECK(rate_factors(other, 0.5, 3).at("pos_embed") == 0.125);
  for (const auto& [name, factor] : rate_factors(other, 1, 1)) CHECK(factor == 1);
}

TEST_CASE("a run whose body is frozen goes on as if nobody had stopped it") {
  const Folder folder;
  TrainOptions o = small_options(folder.file("whole"));
  o.linear_probe = true;
  train_here(o);
  o.out = folder.file("stopped");
  stop_in(4, o);
  TrainOptions again = resumed_settings(o.out, {});
  CHECK(again.linear_probe);
  train_here(again);
  CHECK(content(folder.path / "stopped/model.safetensors") ==
        content(folder.path / "whole/model.safetensors"));
}

TEST_CASE("another resolution and few images: that is said") {
  const Folder folder;
  TrainOptions o = small_options();
  const VisionTransformer old(o.model, Rng(3));
  CHECK(warning_of_resolution(o, 60).empty());
  o.init = folder.file("w.safetensors");
  save_weights(old, {"digits", {0.5}, {0.5}}, o.init);
  CHECK(warning_of_resolution(o, 60).empty());
  o.model.H = o.model.W = 42;
  o.image_size = 42;
  CHECK(warning_of_resolution(o, 60).starts_with(
      "images of 42 x 42, where these weights learned at 28 x 28: "));
  CHECK(warning_of_resolution(o, 10'000).empty());
  Listener notes;
  train_here(o, notes);
  CHECK(std::count(notes.said.begin(), notes.said.end(), warning_of_resolution(o, 60)) == 1);
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
    RunDirectory directory(folder.file("run"), small_options().to_json());
    SmallRun small(small_options(), poisoner, &directory);
    Run& run = small.run;
    poisoner.run = &run;
    poisoner.poison = poison;
    run.epoch();
    CHECK_FAILS_WITH(run.epoch(), "training broke down: 'head.bias' holds");
    CHECK(read_run(folder.file("run")).epochs.size() == 1);
    CHECK(read_checkpoint(directory.checkpoint("last")).state.step == 3);
    const Array best = value_of(load_weights(directory.checkpoint("best")).model, "head.bias");
    CHECK(std::isfinite(static_cast<double>(best.data()[best.size() - 1])));
  }
}

TEST_CASE("what `train` writes is what its weights say of the images") {
  const Folder folder;
  TrainOptions o = small_options(folder.file("run"));
  o.train_size = 50;
  o.val_fraction = 0.22;
  o.ema = 0.8;
  o.patience = 3;
  o.epochs = 6;
  o.save_every = 1;
  o.lr = 5e-3;
  o.seed = 5;
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

  // Each epoch's weights, as they were validated; the best of them are kept.
  const RunRecord record = read_run(o.out);
  const VisionTransformer model = load_weights(weights_file(o.out)).model;
  REQUIRE(kept.test);
  for (const RunRecord::Epoch& e : record.epochs) {
    CAPTURE(e.epoch);
    const TrainedModel saved =
        load_weights(fmt::format("{}/checkpoints/epoch-{:04}.safetensors", o.out, e.epoch));
    const Judged found = judged(saved.model, split.train, parts.validation, split.train);
    CHECK(e.val_loss == doctest::Approx(found.loss).epsilon(1e-12));
    CHECK(e.val_accuracy == doctest::Approx(found.accuracy).epsilon(1e-12));
    CHECK(saved.data.mean == split.train.mean);
    CHECK(saved.data.std == split.train.std);
    if (e.epoch != kept.test->epoch) continue;
    CHECK(values_of(named_parameters(saved.model)) == values_of(named_parameters(model)));
  }

  // They are judged once by the test images.
  const Judged found = judged(model, split.test, natural_order(30), split.train);
  CHECK(kept.test->loss == doctest::Approx(found.loss).epsilon(1e-12));
  CHECK(kept.test->accuracy == doctest::Approx(found.accuracy).epsilon(1e-12));
  CHECK(record.test_loss == kept.test->loss);
  CHECK(record.test_accuracy == kept.test->accuracy);
  CHECK(result.directory == o.out);
  const Evaluation evaluated = f64::evaluate({{}, o.out});  // which says the rest
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
