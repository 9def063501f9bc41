// Hard distillation: PyTorch's numbers, DeiT's equation 3, what a teacher is shown, and runs that
// learn from one.

#include "vitruvian/train/teacher.hpp"
#include "tests/train/small.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/ranks/as_ranks.hpp"

using namespace vitruvian;

namespace {

ViTConfig small_config(bool distilled) {
  ViTConfig c = small_options().model;
  c.distilled = distilled;
  return c;
}

// With a head that says something.
VisionTransformer drawn(const ViTConfig& config, std::uint64_t seed) {
  VisionTransformer model(config, Rng(seed));
  for (const NamedParameter& p : named_parameters(model)) {
    if (p.name.starts_with("head")) init::normal(p.tensor, Rng(seed).fork(p.name), 0.5);
  }
  return model;
}

const DataConfig digits_seen{"digits", {0.2}, {0.4}, {}};

Teacher teacher_of(VisionTransformer model) {
  return {std::move(model), digits_seen.mean, digits_seen.std, digits_seen, "0"};
}

void silent(const std::string& note) { FAIL(note); }

// The mean of - sum_k t_k log softmax(z)_k, where t are the shares of the classes.
double cost(const Array& z, const Array& shares) {
  double sum = 0;
  for (std::size_t b = 0; b < z.shape()[0]; ++b) {
    double all = 0;
    for (std::size_t k = 0; k < z.shape()[1]; ++k) all += std::exp(static_cast<double>(z(b, k)));
    for (std::size_t k = 0; k < z.shape()[1]; ++k) {
      sum += double(shares(b, k)) * (std::log(all) - static_cast<double>(z(b, k)));
    }
  }
  return sum / double(z.shape()[0]);
}

Array shares_of(const std::vector<std::size_t>& labels, std::size_t K, double smoothing = 0) {
  Array shares = zeros({labels.size(), K});
  for (std::size_t b = 0; b < labels.size(); ++b) {
    for (std::size_t k = 0; k < K; ++k) {
      shares(b, k) = real((k == labels[b] ? 1 - smoothing : 0) + smoothing / double(K));
    }
  }
  return shares;
}

// It says 3, whatever it is shown: written to a file.
std::string stubborn(const Folder& folder, std::size_t answer = 3) {
  const VisionTransformer model(small_config(false), Rng(1));
  init::constant(model.head.bias, 0);
  {
    const WriteGuard bias = model.head.bias.tensor().mutable_value();
    bias->data()[answer] = 5;
  }
  std::string file = folder.file("teacher.safetensors");
  save_weights(model, digits_seen, file);
  return file;
}

TrainOptions student_options(const std::string& teacher, const std::string& out) {
  TrainOptions o = small_options(out);
  o.teacher = teacher;
  o.model.distilled = true;
  o.lanes = 4, o.micro_batch = 3, o.checkpoint_every = 1;
  return o;
}

}  // namespace

TEST_CASE("hard distillation: the teacher's classes, the loss and every gradient are PyTorch's") {
  const golden::Json json = golden::read("teacher.json");
  const std::vector<double> pool = json["pool"]["values"];
  const golden::Json its = json["teacher"];
  const DataConfig images{"x", json["mean"], json["std"], {}};
  VisionTransformer model(ViTConfig::from_json(its["config"].dump()), Rng(1));
  fill(named_parameters(model), pool);
  const Teacher teacher{std::move(model), its["mean"], its["std"], images, "0"};
  MicroBatch part{golden::tensor(json["images"]), json["labels"], Rng(0)};
  const std::vector<std::size_t> said = its["said"];
  CHECK(teacher.say(part.images) == said);
  CHECK(json["cases"].size() == 4);
  for (const golden::Json& c : json["cases"]) {
    CAPTURE(c["name"].get<std::string>());
    const VisionTransformer student(ViTConfig::from_json(c["config"].dump()), Rng(2));
    fill(named_parameters(student), pool);
    part.targets.reset();
    if (c["mixed"].get<bool>()) part.targets = golden::tensor(json["targets"]);
    const Forward pass = forward(learner_of(student, teacher), part, c["smoothing"].get<double>());
    CHECK(std::abs(static_cast<double>(pass.loss.item()) - c["loss"].get<double>()) <
          (in_double ? 1e-12 : 1e-5));
    pass.loss.backward();
    check_gradients(named_parameters(student), c["gradients"], in_double ? 1e-10 : 1e-4);
  }
  for (const NamedParameter& p : named_parameters(teacher.model)) CHECK(!p.tensor.grad());
}

TEST_CASE("a student's loss is DeiT's equation 3, and an evaluation asks the student alone") {
  const Teacher teacher = teacher_of(drawn(small_config(false), 3));
  const MicroBatch part{random_normal({6, 1, 28, 28}, 5), {0, 1, 2, 3, 4, 5}, Rng(0)};
  const std::vector<std::size_t> said = teacher.say(part.images);
  CHECK(said.size() == 6);
  CHECK(said != part.labels);
  for (const bool distilled : {true, false}) {
    CAPTURE(distilled);
    const VisionTransformer student = drawn(small_config(distilled), 4);
    const Learner learner = learner_of(student, teacher);
    Array of_class, of_distillation;
    if (distilled) {
      const BothLogits both = student.both_logits(part.images);
      of_class = both.of_class.value(), of_distillation = both.of_distillation.value();
    } else {
      of_class = of_distillation = student(part.images).value();
    }
    for (const double smoothing : {0.0, 0.1}) {  // the teacher's word is taken as it is
      const double expected = 0.5 * cost(of_class, shares_of(part.labels, 10, smoothing)) +
                              0.5 * cost(of_distillation, shares_of(said, 10));
      const double found = static_cast<double>(forward(learner, part, smoothing).loss.item());
      CHECK(std::abs(found - expected) < (in_double ? 1e-12 : 1e-5));
    }
    CHECK(forward(learner, part, 0).correct == count_correct(of_class, part.labels));
    // An evaluation.
    const std::vector<Question> asked = learner.ask(part, {});
    CHECK(asked.size() == 1);
    CHECK(asked[0].weight == 1);
    CHECK(asked[0].logits.value() == student(part.images).value());
  }
}

TEST_CASE("a teacher is shown the images as it takes them") {
  // Its size, as PyTorch resizes.
  const golden::Json json = golden::read("teacher.json");
  const Array x = golden::tensor(json["images"]);
  const DataConfig images{"x", json["mean"], json["std"], {}};
  CHECK(json["shown"].size() == 3);
  for (const golden::Json& size : json["shown"]) {
    const golden::Json its = json["teacher"];
    const ViTConfig c = ViTConfig::from_json(size["config"].dump());
    const Teacher teacher{VisionTransformer(c, Rng(1)), its["mean"], its["std"], images, "0"};
    CHECK(golden::difference(teacher.as_it_takes(x), golden::tensor(size["images"])) <
          (in_double ? 1e-14 : 1e-6));
  }
  // One channel becomes three.
  ViTConfig c = small_config(false);
  c.C = 3;
  const Teacher of_colours{
      VisionTransformer(c, Rng(1)), {0, 0.5, 1}, {1, 1, 0.5}, digits_seen, "0"};
  Array ink = zeros({1, 1, 28, 28});  // 0.2, but for
  ink(0, 0, 3, 4) = 2;                // 0.2 + 0.4 * 2 = 1
  const Array repeated = of_colours.as_it_takes(ink);
  CHECK(std::abs(double(repeated(0, 0, 3, 4)) - 1) < 1e-6);
  CHECK(std::abs(double(repeated(0, 1, 3, 4)) - 0.5) < 1e-6);
  CHECK(std::abs(double(repeated(0, 2, 3, 4))) < 1e-6);
  CHECK(std::abs(double(repeated(0, 2, 4, 3)) + 1.6) < 1e-6);
  // Colours keep their places, or become grey.
  const DataConfig plain{"", {0, 0, 0}, {1, 1, 1}, {}};
  Array rgb = zeros({1, 3, 28, 28});
  rgb(0, 0, 3, 4) = rgb(0, 1, 5, 6) = rgb(0, 2, 7, 8) = 1;
  const Teacher coloured{VisionTransformer(c, Rng(1)), {0, 0, 0}, {0.5, 1, 2}, plain, "0"};
  const Array colours = coloured.as_it_takes(rgb);
  CHECK(double(colours(0, 0, 3, 4)) == 2);
  CHECK(double(colours(0, 1, 5, 6)) == 1);
  CHECK(double(colours(0, 2, 7, 8)) == 0.5);
  const Teacher grey{VisionTransformer(small_config(false), Rng(1)), {0}, {1}, plain, "0"};
  const Array seen = grey.as_it_takes(rgb);
  CHECK(std::abs(double(seen(0, 0, 3, 4)) - 0.299) < 1e-6);
  CHECK(std::abs(double(seen(0, 0, 5, 6)) - 0.587) < 1e-6);
  CHECK(std::abs(double(seen(0, 0, 7, 8)) - 0.114) < 1e-6);
  // One of its own kind sees them as they are, to the bit.
  const Teacher same = teacher_of(VisionTransformer(small_config(false), Rng(1)));
  CHECK(same.as_it_takes(ink) == ink);
}

TEST_CASE("each image's answer is the teacher's to it, whatever the batch") {
  const Teacher teacher = teacher_of(drawn(small_config(false), 3));
  const Array x = random_normal({8, 1, 28, 28}, 5);
  const std::vector<std::size_t> said = teacher.say(x);
  for (std::size_t b = 0; b < 8; ++b) {
    Array one = empty({1, 1, 28, 28});
    std::copy_n(x.data() + b * 784, 784, one.data());
    const Array z = teacher.model(one).value();
    CHECK(said[b] == std::size_t(std::max_element(z.begin(), z.end()) - z.begin()));
  }
}

TEST_CASE("a teacher that cannot teach is refused") {
  const Folder folder;
  const auto refused = [&](const ViTConfig& c, const DataConfig& its, const std::string& why) {
    save_weights(VisionTransformer(c, Rng(1)), its, folder.file("t.safetensors"));
    TrainOptions o = small_options();
    o.teacher = folder.file("t.safetensors");
    CHECK(says(error_of(Exit::usage, [&] { open_teacher(o, digits_seen, silent); }), why));
  };
  ViTConfig c = small_config(false);
  c.K = 7;
  refused(c, digits_seen, "it tells 7 classes apart, and the images of digits have 10");
  c = small_config(false);
  c.head = Head::none;
  refused(c, digits_seen, "it has no head");
  refused(small_config(false), {"folder", {0.5}, {0.5}, std::vector<std::string>(10, "x")},
          "other names");
  const auto invalid = [](const auto& change) {
    TrainOptions o = small_options();
    o.teacher = "a file";
    change(o);
    CHECK(error_of(Exit::usage, [&] { o.validate(); }).starts_with("--teacher"));
  };
  invalid([](auto& o) { o.task = Task::masked, o.model.head = Head::none; });
  invalid([](auto& o) { o.own_model = "a net", o.train_size = o.test_size = 0; });
}

TEST_CASE("runs with a teacher: what it says is learned by the distillation token") {
  const Folder folder;
  TrainOptions o = resolve_settings({"", "", {{"teacher", stubborn(folder)}}});
  CHECK(o.model.distilled);
  o.train_size = 60, o.test_size = 30, o.batch_size = 20, o.epochs = 6, o.lr = 5e-3;
  o.model.D = 8, o.model.L = 1, o.model.h = 2, o.model.M = 12;
  o.out = folder.file("run");
  train_here(o);
  const TrainedModel student = load_weights(folder.file("run") + "/model.safetensors");
  const MicroBatch all = micro_batch(test_images_of(training_data(o)), natural_order(30));
  const BothLogits both = student.model.both_logits(all.images);
  const std::vector<std::size_t> always(30, 3);
  CHECK(count_correct(both.of_distillation.value(), always) == 30);
  CHECK(count_correct(both.of_class.value(), always) < 30);
}

TEST_CASE("with a teacher too threads, ranks and interruptions change no byte") {
  const Folder folder;
  const std::string teacher = stubborn(folder);
  TrainOptions o = student_options(teacher, folder.file("one"));
  o.augment.mixup = 0.8, o.augment.crop_padding = 2, o.label_smoothing = 0.1, o.ema = 0.9;
  o.layer_decay = 0.7;
  train_here(o);
  const std::string one = o.out;
  const auto files = files_of(one);
  {
    const Threads three(3);
    o.out = folder.file("three");
    train_here(o);
    CHECK((files_of(o.out) == files));
  }
  if (!one_thread_only()) {
    o.out = folder.file("ranks");
    as_ranks(2, [&](RankThread& rank) { VITRUVIAN_PRECISION::train(o, nobody_looks, {}, rank); });
    CHECK((files_of(o.out) == files));
  }
  o.out = folder.file("stopped");
  CHECK(says(stop_in(4, o), "stopped after step 4 of 6"));
  // The teacher was moved: the run says where to say so, and has the same bytes then.
  std::filesystem::rename(teacher, folder.file("moved.safetensors"));
  check_error(Exit::checkpoint, {"learned from it: --teacher FILE says where it is now"},
              [&] { train_here(resumed_settings(o.out, {})); });
  const SettingSources there{"", "", {{"teacher", folder.file("moved.safetensors")}}};
  train_here(resumed_settings(o.out, there));
  for (const char* name : {"model.safetensors", "metrics.jsonl"}) {  // checkpoints name the place
    CHECK(files_of(o.out).at(name) == files.at(name));
  }

  // Another teacher, or none, would be another run.
  stubborn(folder, 4);
  std::filesystem::rename(teacher, folder.file("moved.safetensors"));
  TrainOptions longer =
      resumed_settings(one, {"", "", {{"epochs", "3"}, {"teacher", there.flags.at("teacher")}}});
  for (const std::string& other : {longer.teacher, std::string()}) {
    longer.teacher = other;
    check_error(Exit::checkpoint, {"the teacher is not that of the run"},
                [&] { train_here(longer); });
  }
}

TEST_CASE("other micro-batches, and a step of several batches, ask the teacher the same") {
  // In float32 Adam makes steps of the noise of gradients that are zero, as the key's bias has.
  if (!in_double) return;
  const Folder folder;
  const std::string teacher = folder.file("t.safetensors");
  save_weights(drawn(small_config(false), 3), digits_seen, teacher);
  const auto trained = [&](const auto& change) {
    TrainOptions o = student_options(teacher, folder.file("run"));
    o.overwrite = true;
    change(o);
    train_here(o);
    return values_of(named_parameters(load_weights(o.out + "/model.safetensors").model));
  };
  const std::vector<Array> expected = trained([](auto&) {});
  const std::vector<Array> others =
      trained([](auto& o) { o.batch_size = 10, o.accumulate = 2, o.micro_batch = 4; });
  for (std::size_t i = 0; i < others.size(); ++i) {
    CHECK(golden::difference(others[i], expected[i]) < 1e-9);
  }
}

TEST_CASE("a teacher's place is kept whole, and a student has the token where it can") {
  const auto of = [](std::map<std::string, std::string> flags, const std::string& recipe = "") {
    return resolve_settings({recipe, "", std::move(flags)});
  };
  CHECK(of({}).teacher.empty());
  CHECK(!of({}).model.distilled);
  CHECK(of({{"teacher", "runs/../x"}}).teacher == (std::filesystem::current_path() / "x").string());
  CHECK(of({{"teacher", "/a/run"}}).teacher == "/a/run");
  CHECK(of({{"teacher", "x"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}, {"distilled", "false"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}, {"mean_pooling", "true"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}, {"head", "tanh"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}}, "cifar10").model.distilled);  // whose model pools the mean

  // What begins with a file has that file's tokens.
  const Folder folder;
  for (const bool distilled : {true, false}) {
    const std::string begin = folder.file("begin.safetensors");
    save_weights(drawn(small_config(distilled), 2), digits_seen, begin);
    TrainOptions o = of({{"teacher", stubborn(folder)}, {"init", begin}});
    CHECK(o.model.distilled == distilled);
    o.train_size = 60, o.test_size = 30, o.epochs = 1;
    o.out = folder.file(distilled ? "with" : "without");
    train_here(o);
    CHECK((read_safetensors(o.out + "/model.safetensors").find("head_dist.weight") != nullptr) ==
          distilled);
  }
  TrainOptions o = small_options();
  o.model.distilled = true;
  const std::vector<std::string> warnings = warnings_of(o);
  const auto of_token = [](const std::string& w) { return w.find("--teacher FILE") != w.npos; };
  CHECK(std::count_if(warnings.begin(), warnings.end(), of_token) == 1);
  o.teacher = "x";
  CHECK(warnings_of(o).size() == warnings.size() - 1);
}
