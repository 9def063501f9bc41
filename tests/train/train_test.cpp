// The training step, what a run prints, and the weights that it leaves.

#include "tests/golden.hpp"
#include "tests/train/small.hpp"
#include "vitruvian/core/check/gradcheck.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/report/draw.hpp"
#include "vitruvian/report/progress.hpp"
#include "vitruvian/train/predict.hpp"
#include "vitruvian/train/step.hpp"
#include "vitruvian/vit/model.hpp"
#include "vitruvian/vit/variants.hpp"

#include <thread>

using namespace vitruvian;

namespace {

MicroBatch part(std::size_t begin, std::size_t n) {
  const Tensor all(random_normal({8, 2, 8, 8}, 3));
  const auto b = static_cast<std::ptrdiff_t>(begin);
  MicroBatch result{slice(all, 0, b, b + static_cast<std::ptrdiff_t>(n)).value(), {}, Rng(1)};
  for (std::size_t i = 0; i < n; ++i) result.labels.push_back((begin + i) % 3);
  return result;
}

ViTConfig of_grey() {
  ViTConfig c = tiny_vit();
  c.C = 1;
  return c;
}

// A picture of one grey.
void write_grey(const std::filesystem::path& path, char grey) {
  write(path, "P5\n8 8\n255\n" + std::string(64, grey));
}

// A file of weights, and what `predict` says by them.
struct Predictor {
  Folder folder;
  PredictOptions options;
  std::vector<std::string> notes;  // of the last time
  Predictor() { options.weights = folder.file("w.safetensors"); }
  std::vector<Prediction> ask(const VisionTransformer& model,
                              const std::string& dataset = "drawn") {
    save_weights(model, {dataset, {0.5}, {0.5}}, options.weights);
    std::vector<Prediction> said;
    notes.clear();
    vitruvian::VITRUVIAN_PRECISION::predict(
        options, {[&](const std::string& note) { notes.push_back(note); },
                  [&](const Prediction& p) { said.push_back(p); }});
    REQUIRE(said.size() == options.images.size());
    return said;
  }
};

}  // namespace

TEST_CASE("a step leaves a frozen parameter without a gradient, and the others' as they were") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  const std::vector<MicroBatch> parts{part(0, 4), part(4, 4)};
  compute_gradients(model, parts, 0);
  const std::vector<Array> expected = gradients_of(model);
  const Tensor frozen = model.blocks[0].attn.qkv.weight.tensor();
  frozen.set_requires_grad(false);
  compute_gradients(model, parts, 0);
  CHECK(frozen.grad() == nullptr);
  const std::vector<NamedParameter> all = named_parameters(model);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != "blocks.0.attn.qkv.weight") CHECK(*all[i].tensor.grad() == expected[i]);
  }
}

TEST_CASE("gradients are added in their order, not in that of their arrival") {
  const Threads restore(2);
  if (threads() == 1) return;  // a build without threads, where turns come in order
  const Tensor x(zeros({1}), true);
  const real huge = in_double ? real(1e17) : real(1e9);  // huge + 1 is huge
  const std::vector<real> turns = {huge, 1, -huge, 1};
  const auto gradient = [&](std::size_t turn) { return full({1}, turns[turn]); };
  {
    LaneSum lanes(turns.size(), {});
    Reducer reducer({x}, lanes);
    for (const std::size_t turn : {3, 1, 2, 0}) reducer.add(turn, 0, gradient(turn));
    reducer.finish();
    CHECK((*x.grad())(0) == 1);
  }
  // Two turns a thread ahead is as far as it goes: the fifth waits for the first.
  LaneSum lanes(5, {});
  Reducer reducer({x}, lanes);
  std::thread ahead([&] { reducer.add(4, 0, gradient(1)); });
  for (const std::size_t turn : {1, 2, 3, 0}) reducer.add(turn, 0, gradient(turn));
  ahead.join();
  reducer.finish();
  CHECK((*x.grad())(0) == 2);

  LaneSum none(3, {});
  Reducer failed({x}, none);
  failed.abandon(1);
  failed.add(0, 0, gradient(0));
  CHECK_FAILS_WITH(failed.add(2, 0, gradient(2)), "reducer: micro-batch 1 failed before 2");
}

TEST_CASE("a micro-batch that fails is the error that is seen, whoever was waiting for it") {
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  std::vector<MicroBatch> parts;
  for (std::size_t i = 0; i < 8; ++i) parts.push_back(part(i, 1));
  parts[3].images = zeros({1, 2, 8, 7});
  for (int i = 0; i < 20; ++i) {
    CHECK_FAILS_WITH(compute_gradients(model, parts, 0), "vit: images of shape (1, 2, 8, 7)");
  }
}

TEST_CASE("the largest logit counts, of equal ones the first; a NaN does not") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Array logits = array({4, 3}, {1, 2, 0, 5, 4, 4, 1, 1, 0, nan, 1, 0});
  CHECK(count_correct(logits, std::vector<std::size_t>{1, 0, 0, 1}) == 3);
  CHECK(count_correct(logits, std::vector<std::size_t>{0, 1, 1, 2}) == 0);
  CHECK(count_correct(array({1, 1}, {nan}), std::vector<std::size_t>{0}) == 0);
  const Predictions ties{3, {0}, {0.4, 0.4, 0.2}};  // the same guess
  CHECK(ties.guess(0) == 0);
  CHECK_FAILS_WITH(ties.guess(1), "image 1 of 1, 3 probabilities of 3 classes");
  const Predictions cut{3, {0, 1}, {0.4, 0.4, 0.2, 1}};
  CHECK_FAILS_WITH(cut.of(0), "image 0 of 2, 4 probabilities of 3 classes");
  CHECK_FAILS_WITH(count_correct(logits, std::vector<std::size_t>{1}),
                   "count_correct: logits (4, 3) and 1 labels; expected (B, K) and B");
  CHECK_FAILS_WITH(count_correct(zeros({1}), std::vector<std::size_t>{0}), "logits (1,) and 1");
  CHECK_FAILS_WITH(micro_batches_of(0, 8), "at least one token, not 0");
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  CHECK_FAILS_WITH(compute_gradients(model, std::vector<MicroBatch>(), 0), "a step of no images");
  Learner silent(model);
  silent.questions = [](const MicroBatch&, const Pass&) { return std::vector<Question>(); };
  CHECK_FAILS_WITH(forward(silent, part(0, 1), 0), "nothing is asked of a micro-batch");
}

TEST_CASE("lines that a run prints") {
  const StepReport step{1, 4, 10, 40, 0.5, 1e-3, 2.25, 3000, 61};
  CHECK(Progress::line(step) ==
        "epoch 1/4  step 10/40  loss 0.5000  lr 1.00e-03  |g| 2.25  3000 img/s  ETA 1:01");
  StepReport shared = step;
  shared.ranks = 4, shared.waiting = 0.126;
  CHECK(Progress::line(shared) ==
        "epoch 1/4  step 10/40  loss 0.5000  lr 1.00e-03  |g| 2.25  3000 img/s of 4 ranks, 13 % "
        "waiting  ETA 1:01");
  CHECK(Progress::bar(shared, 80).ends_with("3000 img/s of 4 ranks, 13 % waiting  ETA 1:01"));
  CHECK(Progress::bar(step, 120).starts_with("[======                  ] epoch 1/4"));
  for (const std::size_t columns : {1, 10, 40, 80, 200}) {
    CHECK(Progress::bar(step, columns).size() <= columns);
  }
  CHECK(says(EpochReport{}.to_json(), "\"test_accuracy\":0.0"));
  EpochReport epoch;
  epoch.epoch = 2, epoch.after_step = 7, epoch.seconds = 1.5, epoch.images_per_second = 3000;
  CHECK(epoch.timing_to_json() ==
        R"({"epoch":2,"after_step":7,"seconds":1.5,"images_per_second":3000.0})");
  CHECK(TestReport{3, 0.25, 0.5}.to_json() ==
        R"({"kind":"test","epoch":3,"test_loss":0.25,"test_accuracy":0.5})");
}

TEST_CASE("weights come back as they were, and say what they were trained on") {
  const Folder folder;
  const std::string path = folder.file("model.safetensors");
  const VisionTransformer model = tiny_vit_of_order_one(Rng(5));
  save_weights(model, {"digits", {0.1, 0.2}, {0.3, 0.4}}, path);
  const TrainedModel loaded = load_weights(path);
  CHECK(loaded.model.config == model.config);
  CHECK(loaded.data.dataset == "digits");
  CHECK(loaded.data.mean == std::vector{0.1, 0.2});
  CHECK(loaded.data.std == std::vector{0.3, 0.4});
  const Tensor images(random_normal({2, 2, 8, 8}, 6));
  CHECK(golden::difference(loaded.model(images).value(), model(images).value()) == 0);

  // A config that promises another model than the file holds.
  ViTConfig larger = model.config;
  larger.L = 1000;
  VisionTransformer liar = clone(model);
  liar.config = larger;
  save_weights(liar, {"digits", {0.1, 0.2}, {0.3, 0.4}}, path);
  CHECK_FAILS_WITH(load_weights(path), "but a model of its config has");
  save_weights(model, {"digits", {0.1}, {0.3, 0.4}}, path);
  CHECK_FAILS_WITH(load_weights(path), "'mean' in its metadata is not 2 numbers");
  save_weights(model, {"digits", {0.1, 0.2}, {0.3, 0}}, path);
  CHECK_FAILS_WITH(load_weights(path), "'std' in its metadata holds 0");
}

TEST_CASE("a prediction is softmax of the logits, the likeliest first; of NaN there is none") {
  Predictor predictor;
  const VisionTransformer model(of_grey(), Rng(5));
  model.head.bias.tensor().mutable_value() = array({3}, {0.5, -1, 2});  // its weights are zeros
  predictor.options.images = {predictor.folder.file("grey.pgm")};
  write_grey(predictor.options.images[0], 'a');
  const std::vector<Guess> guesses = predictor.ask(model)[0].guesses;
  REQUIRE(guesses.size() == 3);
  const double sum = std::exp(0.5) + std::exp(-1.0) + std::exp(2.0);
  const std::array<std::size_t, 3> order{2, 0, 1};
  const std::array<double, 3> logits{2, 0.5, -1};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(guesses[i].index == order[i]);
    CHECK(guesses[i].probability == doctest::Approx(std::exp(logits[i]) / sum));
  }
  model.head.bias.tensor().mutable_value().fill(std::numeric_limits<real>::quiet_NaN());
  CHECK_FAILS_WITH(predictor.ask(model),
                   predictor.options.weights + ": 'head.bias' holds NaN or infinite numbers");
  model.head.bias.tensor().mutable_value().fill(0);
  model.head.weight.tensor().mutable_value().fill(std::numeric_limits<real>::max());
  CHECK_FAILS_WITH(predictor.ask(model), "the model's logits are NaN or infinite");
}

TEST_CASE("a picture is fitted as its weights want it, and by the filter that was asked for") {
  Predictor predictor;
  PredictOptions& options = predictor.options;
  const VisionTransformer model = of_order_half(of_grey(), Rng(6));
  Image image{20, 12, 1, std::vector<std::uint8_t>(240)};
  for (std::size_t i = 0; i < 240; ++i) image.pixels[i] = static_cast<std::uint8_t>(i * i % 251);
  options.numbers = true;
  options.images = {predictor.folder.file("a.png")};
  write_png(options.images[0], image);
  // Data sets of their own are stretched; of a folder's pictures the middle is cut out.
  for (const char* const dataset : {"drawn", "folder"}) {
    for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
      const DataConfig data{dataset, {0.5}, {0.5}, {}};
      const bool crop = data.dataset == "folder";
      options.filter = filter;
      const std::vector<double> features = predictor.ask(model, dataset)[0].features;
      const Image fit =
          fitted(image, {.height = 8, .width = 8, .channels = 1, .filter = filter, .crop = crop});
      CHECK_FAILS_WITH(normalised(fit, DataConfig{}), "8 x 8 x 1 cannot be normalised by 0 means");
      CHECK_FAILS_WITH(normalised({8, 8, 3, std::vector<std::uint8_t>(192)}, data),
                       "8 x 8 x 3 cannot be normalised by 1 means and 1 deviations");
      CHECK_FAILS_WITH(normalised({8, 8, 1, {1}}, data), "1 bytes are no picture of 8 x 8 x 1");
      const Array y = model.features(Tensor(normalised(fit, data))).value();
      CHECK(features == std::vector<double>(y.data(), y.data() + y.size()));

      InspectOptions inspected;
      inspected.weights = options.weights;
      inspected.images = options.images;
      inspected.filter = filter;
      const Samples seen =
          samples_of(load_weights(options.weights), inspected, {[](const std::string&) {}, {}});
      CHECK(seen.pictures.at(0).pixels == fit.pixels);
    }
  }
}

TEST_CASE("digits of ink on paper are told of, and other pictures are not") {
  Predictor predictor;
  predictor.options.images = {predictor.folder.file("paper.pgm")};
  write_grey(predictor.options.images[0], '\xFF');
  for (const char* const dataset : {"digits", "mnist", "drawn"}) {
    predictor.ask(VisionTransformer(of_grey(), Rng(5)), dataset);
    const auto told = std::count_if(predictor.notes.begin(), predictor.notes.end(),
                                    [](const auto& note) { return says(note, "dark on light"); });
    CHECK(told == (dataset == std::string("drawn") ? 0 : 1));
  }
}

TEST_CASE("what a user says of the normalisation goes before what is usual, each by itself") {
  ViTConfig c = tiny_vit();
  c.C = 3;
  const TrainedModel published{VisionTransformer(c, Rng(1)), {}, "torchvision", {}};
  const auto found = [&](const std::vector<double>& mean, const std::vector<double>& std) {
    const DataConfig data = normalisation(published, mean, std, "w", [](const std::string&) {});
    return std::pair{data.mean, data.std};
  };
  using V = std::vector<double>;
  const V mean{0.485, 0.456, 0.406}, std{0.229, 0.224, 0.225};
  CHECK(found({}, {}) == std::pair{mean, std});
  CHECK(found({0.1}, {}) == std::pair{V(3, 0.1), std});
  CHECK(found({}, {0.1, 0.2, 0.3}) == std::pair{mean, V{0.1, 0.2, 0.3}});
}

TEST_CASE("features are y, of which the head makes the logits; a model without one has them too") {
  Predictor predictor;
  const Folder& folder = predictor.folder;
  PredictOptions& options = predictor.options;
  const VisionTransformer model = of_order_half(of_grey(), Rng(6));
  write_grey(folder.path / "pictures/below/b.pgm", 'b');
  write_grey(folder.path / "pictures/a.pgm", 'a');
  write(folder.path / "pictures/.hidden", "");
  options.images = pictures_of({folder.file("pictures"), folder.file("elsewhere.png")});
  CHECK(options.images == std::vector<std::string>{folder.file("pictures/a.pgm"),
                                                   folder.file("pictures/below/b.pgm"),
                                                   folder.file("elsewhere.png")});
  options.images.pop_back();
  CHECK(predictor.ask(model)[0].features.empty());
  options.numbers = true;
  const std::vector<Prediction> whole = predictor.ask(model);
  for (std::size_t i = 0; i < 2; ++i) {
    const real pixel = static_cast<real>(((i == 0 ? 'a' : 'b') / 255.0 - 0.5) / 0.5);
    const Tensor x(full({1, 1, 8, 8}, pixel));
    const Array y = model.features(x).value();
    const Array z = model(x).value();
    CHECK(whole[i].features == std::vector<double>(y.data(), y.data() + y.size()));
    CHECK(whole[i].logits == std::vector<double>(z.data(), z.data() + z.size()));
    CHECK(whole[i].guesses.size() == 3);
  }
  ViTConfig c = of_grey();
  c.head = Head::none;
  const VisionTransformer headless = undrawn(c);
  for (const NamedParameter& p : named_parameters(headless)) {
    p.tensor.mutable_value() = value_of(model, p.name);
  }
  const std::vector<Prediction> said = predictor.ask(headless);
  CHECK(said[1].features == whole[1].features);
  CHECK(said[1].logits.empty());
  CHECK(said[1].guesses.empty());
  options.numbers = false;
  CHECK_FAILS_WITH(predictor.ask(headless),
                   "it has no head, and so names no classes; --features FILE");
}
