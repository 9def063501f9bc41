// Hard distillation: PyTorch's numbers, DeiT's equation 3, and what a teacher is shown.

#include "vitruvian/train/teacher.hpp"
#include "tests/train/teaching.hpp"
#include "tests/vit/vit_testing.hpp"

using namespace vitruvian;

namespace {

Teacher teacher_of(VisionTransformer model, const DataConfig& images) {
  return {std::move(model), images.mean, images.std, images, "0"};
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
  const Teacher teacher = teacher_of(drawn(small_config(false), 3), digits_seen);
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
  const Teacher same = teacher_of(VisionTransformer(small_config(false), Rng(1)), digits_seen);
  CHECK(same.as_it_takes(ink) == ink);
}

TEST_CASE("each image's answer is the teacher's to it, whatever the batch") {
  const Teacher teacher = teacher_of(drawn(small_config(false), 3), digits_seen);
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
