// A program's own model, trained on its own data by the trainer: the same bytes for any number of
// threads and interruptions, and what it refuses.

#include "tests/train/small.hpp"
#include "vitruvian/core/fault.hpp"
#include "vitruvian/core/ops.hpp"
#include "vitruvian/datasets/formats/digits.hpp"
#include "vitruvian/nn/layers.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/report/report.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/train.hpp"

using namespace vitruvian;

namespace {

struct Net {
  Linear fc1, fc2;
  Dropout drop{0.1};
  explicit Net(std::uint64_t seed, std::size_t classes = 300)
      : fc1(2, 16, Rng(seed).fork("1")), fc2(16, classes, Rng(seed).fork("2")) {}
  Tensor operator()(const Tensor& x, const Pass& pass) const {
    return fc2(drop(gelu(fc1(reshape(x, {-1, 2}))), pass));
  }
  void visit(Visitor& v) const { v.child("fc1", fc1), v.child("fc2", fc2); }
};

// The derivative of sqrt(z^2) at 0 is NaN, in the first of its parameters alone.
struct NotANumber {
  Parameter z{zeros({1})};
  Net net{3};
  Tensor operator()(const Tensor& x, const Pass& pass) const {
    return net(x, pass) + sqrt(square(z));
  }
  void visit(Visitor& v) const { v.parameter("z", Role::weight, z), v.child("net", net); }
};

// Points around two centres, which are classes 7 and 299 of 300: no label has 8 bits.
OwnDataset points(std::size_t n, std::uint64_t seed) {
  return {"points", {1, 1, 2}, std::vector<std::string>(300, "c"), n, [seed](std::size_t i) {
            const Rng rng = Rng(seed).fork("point", {i});
            const double c = i % 2 == 0 ? 1 : -1;
            return Sample{array({1, 1, 2}, {c + 0.3 * rng.normal(0), 0.3 * rng.normal(1) - c}),
                          i % 2 == 0 ? 7U : 299U};
          }};
}
ImageSplit both() { return {images_of(points(90, 1)), images_of(points(30, 2))}; }

TrainOptions quick(const std::string& out) {
  TrainOptions o;
  o.epochs = 4, o.batch_size = 20, o.lr = 2e-2, o.out = out;
  o.val_fraction = 0.2, o.ema = 0.7, o.patience = 4;
  return o;
}

RunResult train_here(const TrainOptions& o, const Learner& learner, const ImageSplit& images) {
  return train(o, learner, images, nobody_looks, write_report);
}

RunResult stopped(const TrainOptions& o, const Net& net) {
  StopAt in_the_second_epoch(7);
  return train(o, net, both(), in_the_second_epoch);
}

}  // namespace

TEST_CASE(
    "a model and data of one's own train to the same bytes, threads and interruptions aside") {
  const Folder folder;
  std::map<std::string, std::string> expected;
  for (const std::size_t n : {1, 2}) {
    set_threads(n);
    const Net net(3);
    TrainOptions o = quick(folder.file(std::to_string(n)));
    const RunResult result = train_here(o, net, both());
    REQUIRE(result.test);
    CHECK(result.test->accuracy == 1);
    if (expected.empty()) expected = files_of(o.out);
    CHECK(expected.contains("checkpoints/best.safetensors"));
    CHECK((files_of(o.out) == expected));
    // The model has what was kept, a finished run gives it back, and its file names its classes.
    const Net other(4);
    o.resume = true;
    CHECK(train_here(o, other, both()).was_finished);
    CHECK(values_of(named_parameters(net)) == values_of(named_parameters(other)));
    CHECK_FAILS_WITH(train_here(o, other, {images_of(points(90, 9)), both().test}),
                     "the data are not those of the run");
    const Net loaded(5);
    const Metadata metadata = load(loaded, o.out + "/model.safetensors");
    CHECK(values_of(named_parameters(net)) == values_of(named_parameters(loaded)));
    CHECK(metadata.at("dataset") == "points");
    CHECK(metadata.count("config") == 0);
    CHECK(metadata.at("classes").starts_with(R"(["c","c",)"));
    CHECK(says(content(o.out + "/report.html"),
               ">a model of the program&#39;s own, trained on points<"));
    CHECK_FAILS_WITH(rewrite_report({o.out, ""}), "which only the program that trained it knows");
  }
  {
    const Net net(3);
    TrainOptions o = quick(folder.file("stopped"));
    CHECK_FAILS_WITH(stopped(o, net), "stopped after step 7 of 16");
    const Net fresh(9);  // its weights come from the checkpoint
    o.resume = true;
    train_here(o, fresh, both());
    CHECK((files_of(o.out) == expected));
    o.lr = 1e-3;
    CHECK_FAILS_WITH(train_here(o, fresh, both()), "'lr' is 0.001, not 0.02");
    o.layer_decay = 0.5;
    CHECK_FAILS_WITH(train_here(o, fresh, both()), "freeze and linear_probe are of the built-in");
  }
}

TEST_CASE("who stops a run while it evaluates waits for no more images than are under way") {
  const Folder folder;
  set_threads(1);
  struct Case {
    const char* name;
    bool validated;
    std::size_t evaluations;  // of the test images, before the one that is stopped
    const char* says;
  };
  for (const Case& c : {Case{"epoch", false, 1, "stopped after step 10 of 20; "},
                        Case{"last", false, 4, "stopped after step 20 of 20; "},
                        Case{"end", true, 0, "stopped after step 16 of 16; "}}) {
    CAPTURE(c.name);
    TrainOptions o = quick(folder.file(c.name));
    if (!c.validated) o.val_fraction = 0, o.patience = 0;
    TrainOptions calm = o;
    calm.out += "-calm";
    train_here(calm, Net(3), both());
    // Each test image is read for its checksum, and then once for each evaluation.
    std::size_t read = 0;
    const std::size_t at = 30 + 30 * c.evaluations + 3;
    OwnDataset tested = points(30, 2);
    tested.sample = [&](std::size_t i) {
      if (++read == at) std::raise(SIGTERM);
      return points(30, 2).sample(i);
    };
    const ImageSplit images{images_of(points(90, 1)), images_of(tested)};
    const auto stopped_there = [&] {
      const StopSignals signals;
      train_here(o, Net(3), images);
    };
    CHECK_FAILS_WITH(stopped_there(), c.says);
    CHECK(read < at + 10);
    o.resume = true;
    train_here(o, Net(9), both());
    CHECK((files_of(o.out) == files_of(calm.out)));
    if (!c.validated) continue;
    std::filesystem::remove(o.out + "/model.safetensors");  // to be made again, as was its report
    read = 30;                                              // the checksum is known
    CHECK_FAILS_WITH(stopped_there(), c.says);
    train_here(o, Net(9), both());
    auto again = files_of(o.out);
    again["checkpoints/last.previous.safetensors"] =
        content(calm.out + "/checkpoints/last.previous.safetensors");
    CHECK((again == files_of(calm.out)));
  }
}

TEST_CASE("questions hear which images of a step are theirs, and a stream of each step's own") {
  set_threads(1);
  const Net net(3);
  Learner learner = net;
  std::map<double, std::set<std::size_t>> of_step;  // its stream: where its micro-batches begin
  std::set<std::size_t> evaluated;
  learner.questions = [&, logits = learner.logits](const MicroBatch& part, const Pass& pass) {
    if (pass.rng != nullptr) {
      of_step[part.step.normal(0)].insert(part.first);
    } else {
      evaluated.insert(part.first);
    }
    return std::vector<Question>{{logits(part.images, pass), part.labels}};
  };
  TrainOptions o = quick("");
  o.micro_batch = 8, o.val_fraction = 0, o.patience = 0;
  train_here(o, learner, {both().train, images_of(points(600, 2))});
  REQUIRE(of_step.size() == 4 * 5);
  std::size_t whole = 0;
  for (const auto& [stream, begins] : of_step) {
    whole += begins == std::set<std::size_t>{0, 8, 16} ? 1 : 0;
  }
  CHECK(whole == 4 * 4);  // the last of an epoch has ten images
  CHECK(evaluated.size() > 1);
  CHECK(evaluated.contains(0));
}

TEST_CASE(
    "the checkpoint of other data is refused, and so is the program that knows no such model") {
  const Folder folder;
  TrainOptions o = quick(folder.file("run"));
  const Net net(3);
  CHECK_FAILS_WITH(stopped(o, net), "stopped");
  o.resume = true;
  OwnDataset moved = points(90, 1);
  moved.sample = [](std::size_t i) {
    Sample s = points(90, 1).sample(i);
    if (i == 89) s.label = 8;
    return s;
  };
  CHECK_FAILS_WITH(train_here(o, net, {images_of(moved), images_of(points(30, 2))}),
                   "the data are not those of the run");
  const std::string known = "a run of a model of the program's own on points, which only the";
  CHECK_FAILS_WITH(resumed_settings(o.out, {}), known);
  CHECK_FAILS_WITH(resolve_settings({"", o.out + "/config.json", {}}),
                   "the settings of a model of the program's own");
  CHECK(read_run(o.out).setting("own_model") == "a model of the program's own");
  CHECK(read_run(o.out).setting("patch_size").empty());
}

TEST_CASE("the library's ViT trains on one's own pictures, and its file is one for predict") {
  const Folder folder;
  ViTConfig c;
  c.D = 8, c.L = 1, c.h = 2, c.M = 16, c.K = 10;
  const VisionTransformer vit(c, Rng(1));
  Dataset mine = digits(60, 1, "train");
  mine.name = "mine";
  TrainOptions o;
  o.epochs = 1, o.out = folder.file("run"), o.augment.flip = 0.5;
  train_here(o, vit, {std::make_shared<MemoryImages>(mine), std::make_shared<MemoryImages>(mine)});
  const TrainedModel found = load_weights(o.out + "/model.safetensors");
  CHECK(found.model.config == c);
  CHECK(found.data.class_names(10) == mine.class_names);
  CHECK(found.data.mean == mine.mean);
  // What the trainer makes of the same settings and pictures is the same.
  TrainOptions built_in = default_options("digits");
  built_in.model = c, built_in.epochs = 1, built_in.train_size = built_in.test_size = 60;
  built_in.augment.flip = 0.5, built_in.out = folder.file("built-in");
  train_here(built_in);
  const VisionTransformer again = initial_model(built_in, nobody_looks);
  o.out = folder.file("again");
  train_here(o, again,
             {std::make_shared<MemoryImages>(mine), std::make_shared<MemoryImages>(mine)});
  const auto one = read_safetensors(o.out + "/model.safetensors").tensors;
  const auto two = read_safetensors(built_in.out + "/model.safetensors").tensors;
  REQUIRE(one.size() == two.size());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i].read() == two[i].read());
}

TEST_CASE("mixup and cutmix mix numbers, and what changes pixels is refused") {
  constexpr std::size_t n = 300;  // sample i is two numbers i, of class i
  const OwnDataset own{"own", {1, 1, 2}, std::vector<std::string>(n, "c"), n, [](std::size_t i) {
                         return Sample{full({1, 1, 2}, static_cast<real>(i)), i};
                       }};
  CHECK(images_of(own)->label(299) == 299);
  const std::vector<std::size_t> order{0, 299, 2, 3};
  const auto loaded = [&](const AugmentOptions& augment) {
    const Loader loader(images_of(own), {.augment = augment});
    std::vector<double> x(2 * order.size());
    const Labels labels = loader.load(order, 1, x.data());
    CHECK(labels.classes == order);
    // Where each image is a share of two, it is the same share of their numbers.
    for (std::size_t i = 0; i < order.size() && !labels.targets.empty(); ++i) {
      double expected = 0;
      for (std::size_t k = 0; k < n; ++k) {
        expected += static_cast<double>(k) * labels.targets[n * i + k];
      }
      CHECK((x[2 * i] + x[2 * i + 1]) / 2 == doctest::Approx(expected));
    }
    return x;
  };
  const std::vector<double> plain{0, 0, 299, 299, 2, 2, 3, 3};
  CHECK(loaded({}) == plain);
  CHECK(loaded({.mixup = 1}) != plain);
  CHECK_FAILS_WITH(loaded({.flip = 0.5}), "its samples are numbers");
}

TEST_CASE("a learner or data that cannot be right are refused before anything is written") {
  const Folder folder;
  const TrainOptions o = quick(folder.file("run"));
  const Net net(1);
  const auto with = [&](auto change) {
    OwnDataset s = points(90, 1);
    change(s);
    return images_of(s);
  };
  CHECK_FAILS_WITH(train_here(o, Net(1, 4), both()),
                   "of an image (1, 1, 1, 2) it makes (1, 4), not logits (1, 300) for 300 classes");
  const Net few(1, 4);
  CHECK_FAILS_WITH(predict_all(few, Loader(images_of(points(30, 2)))),
                   ", 4), and the data has 300 classes");
  Learner twice = net;
  twice.parameters.push_back(twice.parameters.front());
  CHECK_FAILS_WITH(train_here(o, twice, both()), "two parameters are called 'fc1.weight'");
  CHECK_FAILS_WITH(train_here(o, Learner({}, twice.logits), both()), "no parameter to train");
  const auto refused = [&](const auto& change, const char* part) {
    TrainOptions other = o;
    change(other);
    CHECK_FAILS_WITH(train_here(other, net, both()), part);
  };
  refused([](TrainOptions& other) { other.train_size = 10; }, "come as they are");
  refused([](TrainOptions& other) { other.freeze = 1; }, "by set_requires_grad(false)");
  refused([](TrainOptions& other) { other.linear_probe = true; }, "by set_requires_grad(false)");
  if constexpr (std::is_same_v<real, float>) {
    refused([](TrainOptions& other) { other.precision = Precision::float64; },
            "this library computes in float32");
  }
  CHECK_FAILS_WITH(train_here(o, net, {}), "there are no images to train on");
  CHECK_FAILS_WITH(train_here(o, net, {both().train, nullptr}), "there are no images to test with");
  CHECK_FAILS_WITH(training_data(o, {nullptr, both().test}), "there are no images to train on");
  const auto renamed = with([](OwnDataset& s) { s.classes[1] = "d"; });
  CHECK_FAILS_WITH(train_here(o, net, {both().train, renamed}),
                   "points: class 1 is 'c' in the training images and 'd' in the test images");
  CHECK_FAILS_WITH(with([](OwnDataset& s) { s.shape = {2}; }), "expected (C, H, W)");
  CHECK_FAILS_WITH(with([](OwnDataset& s) {
                     s.shape = {2, 1, 1};
                   }),
                   "points: sample 0 has the shape (1, 1, 2), not (2, 1, 1)");
  CHECK_FAILS_WITH(with([](OwnDataset& s) { s.classes.resize(200); }),
                   "points: sample 1 is of class 299 among 200");
  CHECK_FAILS_WITH(with([](OwnDataset& s) {
                     s.sample = [](std::size_t i) {
                       return Sample{full({1, 1, 2}, i == 60 ? real(NAN) : real(1)), 0};
                     };
                   }),
                   "points: sample 60 has a number that is NaN or infinite");
  Dataset digit = digits(2, 1, "train");
  digit.labels[1] = 10;
  CHECK_FAILS_WITH(MemoryImages(digit), "digits: image 1 is of class 10 among 10");
  digit.labels = {1, 2, 3};
  CHECK_FAILS_WITH(MemoryImages(digit),
                   "digits: 1568 bytes of pixels are not 3 images of 1 x 28 x 28");
  struct Wrong : MemoryImages {
    Wrong() : MemoryImages(digits(2, 1, "train")) {}
    [[nodiscard]] std::size_t label(std::size_t i) const override { return i == 1 ? 10 : 0; }
  };
  const auto wrong = std::make_shared<Wrong>();
  CHECK_FAILS_WITH(train_here(o, net, {wrong, wrong}), "digits: image 1 is of class 10 among 10");
  CHECK(folder.files().empty());
}

TEST_CASE("a finished run that is prolonged goes on, and is finished again") {
  const Folder folder;
  TrainOptions o = quick(folder.file("run"));
  o.patience = 0;
  o.epochs = 2;
  const Net net(3);
  train_here(o, net, both());
  o.resume = true;
  CHECK(train_here(o, net, both()).was_finished);
  o.epochs = 3;
  CHECK_FAILS_WITH(train_here(o, net, both()), "prolong_to makes a run longer");
  o.epochs = 2;
  o.prolong_to = 3;
  const RunResult result = train_here(o, net, both());
  CHECK_FALSE(result.was_finished);
  CHECK(result.last.epoch == 3);
  CHECK(train_here(o, net, both()).was_finished);
  o.seed = 99;
  CHECK_FAILS_WITH(train_here(o, net, both()), "'seed' is");
}

TEST_CASE("sanity looks at any learner, and leaves it as it was") {
  const Net net(3, 300);
  const std::vector<Array> before = values_of(named_parameters(net));
  const TrainOptions o = quick("");
  const std::vector<SanityCheck> checks = sanity(o, net, training_data(o, both()));
  REQUIRE(checks.size() == 3);
  CHECK_MESSAGE(checks[0].passed, checks[0].text);
  CHECK_MESSAGE(checks[1].passed, checks[1].text);
  CHECK_MESSAGE(checks[2].text.starts_with("20 of 20 images learned"), checks[2].text);
  CHECK(values_of(named_parameters(net)) == before);
  // It is no rubber stamp: a class that is expected from the start, a derivative that is wrong,
  // and the same sample in two classes.
  const auto failed = [&](const Learner& learner, const ImageSplit& images) {
    std::string which;
    for (const SanityCheck& c : sanity(o, learner, training_data(o, images))) {
      which += c.passed ? '.' : 'F';
    }
    return which;
  };
  const Net sure(3);
  Array bias = zeros({300});
  bias(5) = 20;
  sure.fc2.bias.tensor().mutable_value() = bias;
  CHECK(failed(sure, both()).at(0) == 'F');
  {
    const Fault fault("linear", Fault::Kind::flip_sign);
    CHECK(failed(net, both()).at(1) == 'F');
  }
  CHECK(failed(NotANumber(), both()).at(1) == 'F');
  OwnDataset alike = points(90, 1);
  alike.sample = [](std::size_t i) { return Sample{zeros({1, 1, 2}), i % 2}; };
  CHECK(failed(net, {images_of(alike), images_of(points(30, 2))}).at(2) == 'F');
  // Dropout is for steps, which hand it a generator.
  const Tensor x(full({20, 1, 1, 2}, 1));
  const Rng rng(1);
  const Learner learner = net;
  const Array plain = net.fc2(gelu(net.fc1(reshape(x, {-1, 2})))).value();
  CHECK(learner.logits(x, {}).value() == plain);
  CHECK(learner.logits(x, {.rng = &rng}).value() != plain);
}
