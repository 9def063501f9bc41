// Masked patch prediction: PyTorch's numbers, derivatives, the shares of what becomes of patches,
// and runs.

#include "vitruvian/train/masked.hpp"
#include "tests/train/small.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/predict.hpp"

using namespace vitruvian;

namespace {

TrainOptions masked_options(const std::string& out = "") {
  TrainOptions o = small_options(out);
  o.task = Task::masked;
  o.model.head = Head::none;
  return o;
}

// A run of such options, before its first step.
struct MaskedRun {
  TrainOptions options;
  TrainingData data;
  VisionTransformer vit;
  MaskedViT masked;
  Run run;
  explicit MaskedRun(const TrainOptions& o, TrainingData images)
      : options(o),
        data(std::move(images)),
        vit(initial_model(options, nobody_looks)),
        masked(vit, data.images.train->about().mean, data.images.train->about().std, Rng(5)),
        run(options, learner_of(masked), data, nobody_looks, nullptr) {}
  explicit MaskedRun(const TrainOptions& o) : MaskedRun(o, training_data(o)) {}
  std::vector<Array> trained() {
    while (run.goes_on()) run.epoch();
    return values_of(run.kept());
  }
};

// The digits with other labels.
TrainingData relabelled(const TrainOptions& o) {
  Split split = load({.name = "digits", .seed = data_seed, .train_size = 60, .test_size = 30});
  for (Dataset* part : {&split.train, &split.test}) {
    for (auto& label : part->labels) label = (3 * label + 1) % 10;
  }
  return training_data(o, {std::make_shared<MemoryImages>(std::move(split.train)),
                           std::make_shared<MemoryImages>(std::move(split.test))});
}

}  // namespace

TEST_CASE("masked patches: what is drawn, the colours, the loss and every gradient are PyTorch's") {
  const golden::Json json = golden::read("masked.json");
  const std::vector<double> pool = json["pool"]["values"];
  const Array images = golden::tensor(json["images"]);
  const std::vector<double> mean = json["mean"], std = json["std"];
  CHECK(json["cases"].size() == 4);
  for (const golden::Json& c : json["cases"]) {
    CAPTURE(c["name"].get<std::string>());
    const VisionTransformer vit(ViTConfig::from_json(c["config"].dump()), Rng(1));
    const MaskedViT model(vit, mean, std, Rng(2));
    fill(named_parameters(model), pool);
    MicroBatch part{images, {}, Rng(0)};
    part.step = Rng(c["step"].get<std::uint64_t>());
    part.first = c["first"].get<std::size_t>();
    const std::vector<Corruption> drawn = model.corruptions(part);
    REQUIRE(drawn.size() == c["corruptions"].size());
    for (std::size_t b = 0; b < drawn.size(); ++b) {
      const golden::Json& of = c["corruptions"][b];
      CHECK(drawn[b].patches == of["patches"].get<std::vector<std::size_t>>());
      CHECK(drawn[b].source == of["source"].get<std::vector<std::size_t>>());
      const auto hidden = of["masked"].get<std::vector<std::size_t>>();
      std::vector<bool> masked(vit.config.N());
      for (const std::size_t n : hidden) masked[n] = true;
      CHECK(drawn[b].masked == masked);
    }
    CHECK(mean_colours(images, vit.config, mean, std) ==
          c["colours"].get<std::vector<std::size_t>>());

    const Forward pass = forward(learner_of(model), part, 0);
    const double loss = c["loss"].get<double>();
    CHECK(std::abs(static_cast<double>(pass.loss.item()) - loss) < (in_double ? 1e-12 : 1e-4));
    pass.loss.backward();
    check_gradients(named_parameters(model), c["gradients"], in_double ? 1e-10 : 1e-3);
  }
}

TEST_CASE("sanity looks at hidden patches where the run does") {
  const std::vector<SanityCheck> checks = sanity(masked_options());
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].text == "loss at the start 2.0794, ln K 2.0794");  // of 8 grey levels
  CHECK_MESSAGE(checks[1].passed, checks[1].text);
  CHECK_MESSAGE(checks[2].text.find(" patches learned by heart in ") != std::string::npos,
                checks[2].text);
}

TEST_CASE("masked patches: derivatives of the whole loss by every parameter") {
  if (!in_double) return;
  ViTConfig c;
  c.C = 2, c.H = 6, c.W = 6, c.P = 2, c.D = 8, c.L = 2, c.h = 2, c.M = 8, c.head = Head::none;
  const VisionTransformer vit(c, Rng(1));
  const MaskedViT model(vit, {0.5, 0.5}, {0.25, 0.25}, Rng(2));
  const std::vector<NamedParameter> parameters = named_parameters(model);
  for (const NamedParameter& p : parameters) {
    // A draw with no derivative so near 0 that the loss's own rounding is what differences see.
    init::normal(p.tensor, Rng(5).fork(p.name), 0.5,
                 p.role == Role::norm && p.name.ends_with("weight") ? 1 : 0);
  }
  MicroBatch part{random_normal({3, 2, 6, 6}, 4), {}, Rng(0)};
  part.step = Rng(11);
  const Learner learner = learner_of(model);
  bool moves = false;  // all three fates are among them
  for (const Corruption& of : model.corruptions(part)) {
    for (std::size_t n = 0; n < c.N(); ++n) moves = moves || of.source[n] != n;
  }
  CHECK(moves);
  const auto loss = [&] { return forward(learner, part, 0.1).loss; };
  loss().backward();
  for (const NamedParameter& p : parameters) {
    CHECK((largest(*p.tensor.grad()) > 0 || p.name == "cls_token"));
    const auto report = gradcheck(loss, {p.tensor}, {.strict = true, .entries = 4});
    CHECK_MESSAGE(report.passed, p.name << " " << report.problem << " error " << report.error);
  }
}

TEST_CASE("of half of the patches 80 % become [mask], 10 % another patch of the image, 10 % stay") {
  constexpr std::size_t N = 20, images = 4000;
  double masked = 0, moved = 0, kept = 0;
  std::vector<std::size_t> chosen(N);
  for (std::uint64_t i = 0; i < images; ++i) {
    const Corruption c = corrupt(N, Rng(7).fork("image", {i}));
    REQUIRE(c.patches.size() == N / 2);
    const std::set<std::size_t> asked(c.patches.begin(), c.patches.end());
    REQUIRE(asked.size() == N / 2);
    for (std::size_t n = 0; n < N; ++n) {
      const bool other = c.source[n] != n;
      REQUIRE(c.source[n] < N);
      if (!asked.contains(n)) REQUIRE_FALSE((c.masked[n] || other));
      if (!asked.contains(n)) continue;
      ++chosen[n];
      REQUIRE_FALSE((c.masked[n] && other));
      masked += c.masked[n] ? 1 : 0;
      moved += other ? 1 : 0;
      kept += c.masked[n] || other ? 0 : 1;
    }
  }
  const double all = images * N / 2.0;  // five standard deviations
  CHECK(std::abs(masked / all - 0.8) < 5 * std::sqrt(0.16 / all));
  CHECK(std::abs(moved / all - 0.1) < 5 * std::sqrt(0.09 / all));
  CHECK(std::abs(kept / all - 0.1) < 5 * std::sqrt(0.09 / all));
  for (const std::size_t times : chosen) CHECK(std::abs(double(times) / images - 0.5) < 0.04);
  CHECK(corrupt(3, Rng(1)).patches.size() == 1);
  CHECK(corrupt(2, Rng(1)).patches.size() == 1);
}

TEST_CASE("the colour of a patch is the mean on 8 levels of each channel") {
  CHECK(colours_of(1) == 8);
  CHECK(colours_of(3) == 512);
  ViTConfig c;
  c.C = 3, c.H = 4, c.W = 6, c.P = 2;
  // Six patches: red, green, blue, white, black, and a chessboard of black and white.
  Array x = zeros({1, 3, 4, 6});
  const auto paint = [&x](std::size_t n, std::size_t channel) {
    for (std::size_t i = 0; i < 4; ++i) x(0, channel, n / 3 * 2 + i / 2, n % 3 * 2 + i % 2) = 1;
  };
  paint(0, 0), paint(1, 1), paint(2, 2);
  paint(3, 0), paint(3, 1), paint(3, 2);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    x(0, channel, 2, 4) = x(0, channel, 3, 5) = 1;
  }
  const std::vector<std::size_t> expected{7 * 64, 7 * 8, 7, 511, 0, 4 * 73};
  const std::vector<double> none(3, 0), one(3, 1);
  CHECK(mean_colours(x, c, none, one) == expected);
  // Normalised, they are the same.
  const std::vector<double> mean{0.4914, 0.4822, 0.4465}, std{0.247, 0.2435, 0.2616};
  Array y = x;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t channel = i / 24;
    y.data()[i] =
        static_cast<real>((static_cast<double>(x.data()[i]) - mean[channel]) / std[channel]);
  }
  CHECK(mean_colours(y, c, mean, std) == expected);
  Array beyond = 1.5 * x - 0.25;  // as noise that erases may be
  CHECK(mean_colours(beyond, c, none, one) == expected);
}

TEST_CASE("only corrupted patches are asked for, half of each image") {
  const MaskedRun small(masked_options());
  const Loader test = test_images_of(small.data);
  const MicroBatch part = micro_batch(test, natural_order(5));
  const Learner learner = learner_of(small.masked);
  const std::vector<Question> asked = learner.ask(part, {});
  REQUIRE(asked.size() == 1);
  CHECK(learner.rows == 8);
  CHECK(asked[0].logits.shape() == Shape{5 * 8, 8});
  CHECK(asked[0].labels.size() == 40);
  const auto colours =
      mean_colours(part.images.value(), small.vit.config, small.masked.mean, small.masked.std);
  const std::vector<Corruption> drawn = small.masked.corruptions(part);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(asked[0].labels[i] == colours[i / 8 * 16 + drawn[i / 8].patches[i % 8]]);
  }
}

TEST_CASE("masked patches: how often the commonest colour is right, by each image alone") {
  const MaskedRun small(masked_options());
  const Loader test = test_images_of(small.data);
  std::vector<double> counts(8);
  for (std::size_t i = 0; i < test.size(); ++i) {
    MicroBatch image = micro_batch(test, std::vector{i});
    image.first = i;
    for (const std::size_t c : small.masked.right(image, small.masked.corruptions(image))) {
      ++counts[c];
    }
  }
  CHECK(commonest_colour(small.masked, test) ==
        *std::max_element(counts.begin(), counts.end()) / (30 * 8));
}

TEST_CASE("masked patches: micro-batches, threads, labels and interruptions do not matter") {
  const TrainOptions options = masked_options();
  const std::vector<Array> expected = MaskedRun(options).trained();
  CHECK(expected.back().size() == 8);  // mask_head.bias
  {
    const Threads three(3);
    CHECK(MaskedRun(options).trained() == expected);
  }
  CHECK(MaskedRun(options, relabelled(options)).trained() == expected);
  TrainOptions validated = options;
  validated.val_fraction = 0.25;
  CHECK(MaskedRun(validated, relabelled(validated)).trained() == MaskedRun(validated).trained());

  TrainOptions apart = options;  // the same pictures hide the same patches, in other micro-batches
  apart.batch_size = 10, apart.accumulate = 2, apart.micro_batch = 3;
  const std::vector<Array> others = MaskedRun(apart).trained();
  for (std::size_t i = 0; i < others.size(); ++i) {
    CHECK(golden::difference(others[i], expected[i]) < (in_double ? 1e-9 : 1e-2));
  }

  const Folder folder;
  TrainOptions written = masked_options(folder.file("whole"));
  const RunResult result = train_here(written);
  written.out = folder.file("stopped");
  CHECK(says(stop_in(4, written), "stopped after step 4 of 6"));
  written.resume = true;
  train_here(written);
  CHECK((files_of(written.out) == files_of(folder.file("whole"))));
  // Hidden in the test images is always the same.
  const Evaluation evaluated = VITRUVIAN_PRECISION::evaluate({{}, folder.file("whole")});
  CHECK(evaluated.accuracy == result.last.test_accuracy);
  CHECK(evaluated.loss == doctest::Approx(result.last.test_loss));
  CHECK(evaluated.predictions.size() == 0);
  CHECK(evaluated.images == 30);
  CHECK(says(evaluated.note, "of the commonest"));
}

TEST_CASE("masked patches: the pace is one of images, not of patches") {
  struct Paces : Observer {
    double of_steps = 0, of_epoch = 0;
    void stepped(const StepReport& s) override { of_steps = s.images_per_second; }
    void finished_epoch(const EpochReport& e) override { of_epoch = e.images_per_second; }
  } paces;
  TrainOptions o = masked_options();
  o.epochs = 1;
  train_here(o, paces);
  CHECK(paces.of_epoch > 0);
  CHECK(paces.of_epoch <= 1.0001 * paces.of_steps);  // something lies between two steps
}

TEST_CASE("what was learned without labels begins a run with them") {
  const Folder folder;
  TrainOptions o = masked_options(folder.file("masked"));
  const RunResult learned = train_here(o);
  CHECK(learned.last.test_accuracy > 0);
  const std::string weights = folder.file("masked") + "/model.safetensors";
  const TensorFile file = read_safetensors(weights);
  for (const char* name : {"mask_token", "mask_head.weight", "mask_head.bias"}) {
    CHECK(file.find(name) != nullptr);
  }
  TrainOptions probe = resolve_settings({"",
                                         "",
                                         {{"init", folder.file("masked")},
                                          {"train_size", "60"},
                                          {"test_size", "30"},
                                          {"linear_probe", "true"},
                                          {"epochs", "1"}}});
  CHECK(probe.model.D == 8);
  CHECK(probe.model.head == Head::linear);
  probe.out = folder.file("probe");
  train_here(probe);
  const TensorFile after = read_safetensors(probe.out + "/model.safetensors");
  CHECK(after.find("head.weight") != nullptr);
  CHECK(after.find("mask_token") == nullptr);
  for (const StoredTensor& t : after.tensors) {
    if (!t.name.starts_with("head.")) CHECK(t.values() == file.at(t.name).values());
  }
  // And the other way: a run without labels begins with one that had them.
  TrainOptions again = resolve_settings({"", "", {{"init", probe.out}, {"task", "masked"}}});
  CHECK(again.model.head == Head::none);
  again.train_size = 60, again.test_size = 30, again.epochs = 1;
  train_here(again);
}

TEST_CASE("masked patches: what cannot be is refused") {
  const auto refused = [](const auto& change) {
    TrainOptions o = masked_options();
    change(o);
    return error_of(Exit::usage, [&] { o.validate(); });
  };
  CHECK(says(refused([](auto& o) { o.model.head = Head::linear; }), "--head none"));
  CHECK(refused([](auto& o) { o.linear_probe = true; }).starts_with("--linear-probe"));
  CHECK(says(refused([](auto& o) { o.model.P = 28; }), "1 patch"));
  CHECK(says(refused([](auto& o) { o.model.C = 4; }), "4 channels"));
  CHECK(says(refused([](auto& o) { o.own_model = "a net", o.train_size = o.test_size = 0; }),
             "whose patches"));
  CHECK(resolve_settings({"", "", {{"task", "masked"}}}).model.head == Head::none);
  CHECK(resolve_settings({"", "", {{"task", "masked"}, {"head", "tanh"}}}).model.head ==
        Head::tanh);
  // A file without a head and without what it learned by says no class.
  const Folder folder;
  const TrainOptions o = masked_options();
  const VisionTransformer body(o.model, Rng(1));
  save_weights(body, {"digits", {0.1}, {0.3}}, folder.file("body.safetensors"));
  CHECK_FAILS_WITH(VITRUVIAN_PRECISION::evaluate({{}, folder.file("body.safetensors")}),
                   "it has no head");
}
