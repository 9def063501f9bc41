// Whole runs against PyTorch's in float64: every number that a run reports and every weight of
// every step. See tests/golden/golden_run.py.

#include "tests/folder.hpp"
#include "tests/golden.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/run/run.hpp"
#include "vitruvian/train/weights.hpp"

using namespace vitruvian;

namespace {

// Measured: 2e-11 at the keys' bias, whose gradient is 0 and whose rounding Adam divides by eps;
// 1e-12 or so everywhere else.
constexpr double tolerance = 1e-10;

const golden::Json& oracle() {
  static const golden::Json file = golden::read("run.json");
  return file;
}

std::shared_ptr<const Images> images(const std::string& part) {
  const golden::Json& all = oracle()["images"];
  // Whatever its own are, a test image is normalised as those that trained.
  const bool test = part == "test";
  Dataset data{"oracle",
               all["shape"][0],
               all["shape"][1],
               all["shape"][2],
               all["classes"],
               {},
               {},
               {},
               {test ? 0.9 : all["mean"].get<double>()},
               {test ? 0.1 : all["std"].get<double>()}};
  for (const golden::Json& x : all[part]["pixels"]) data.pixels.push_back(x.get<std::uint8_t>());
  for (const golden::Json& x : all[part]["labels"]) data.labels.push_back(x.get<std::uint32_t>());
  return std::make_shared<MemoryImages>(std::move(data));
}

// All weights one after the other, in the oracle's order.
std::vector<double> flat(const std::vector<NamedParameter>& parameters) {
  std::map<std::string, Array> named;
  for (const NamedParameter& p : parameters) named.emplace(p.name, p.tensor.value());
  std::vector<double> result;
  for (const golden::Json& start : oracle()["start"]) {
    const Array& w = named.at(start["name"].get<std::string>());
    result.insert(result.end(), w.data(), w.data() + w.size());
  }
  REQUIRE(named.size() == oracle()["start"].size());
  return result;
}

// The largest difference; what is NaN on one side differs by infinity.
double apart(const std::vector<double>& a, const double* b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    worst = d <= worst ? worst : std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return worst;
}

// One of PyTorch's runs, and the same for `Run`: its settings by way of a config file.
struct Case {
  const golden::Json& json;
  Folder folder;
  TrainOptions options;
  TrainingData data;
  std::vector<double> weights, averages;  // (steps, parameters)
  std::size_t steps, parameters;

  explicit Case(const golden::Json& c)
      : json(c),
        weights(golden::unpacked<double>(c["weights"]["f64"].get<std::string>())),
        steps(c["steps"].size()),
        parameters(weights.size() / steps) {
    if (c.contains("averages")) {
      averages = golden::unpacked<double>(c["averages"]["f64"].get<std::string>());
    }
    write(folder.file("config.json"), c["settings"].dump());
    options = resolve_settings({"", folder.file("config.json"), {}});
    options.model.K = oracle()["images"]["classes"];
    options.log_every = 1;
    options.init = folder.file("start.safetensors");
    options.keep_head = !c["fresh_head"].get<bool>();
    const VisionTransformer model = undrawn(options.model);
    for (const NamedParameter& p : named_parameters(model)) {
      for (const golden::Json& start : oracle()["start"]) {
        if (start["name"] == p.name) p.tensor.mutable_value() = golden::tensor(start);
      }
    }
    save_weights(model, {}, options.init);
    data.images = {images("train"), images("test")};
    data.indices.train = natural_order(data.images.train->size());
    if (options.val_fraction > 0) {
      std::vector<std::size_t> labels;
      for (const std::size_t i : data.indices.train) labels.push_back(data.images.train->label(i));
      data.indices = split_validation(labels, options.val_fraction, options.seed);
    }
    CHECK(data.indices.train == c["split"]["train"].get<std::vector<std::size_t>>());
    CHECK(data.indices.validation == c["split"]["validation"].get<std::vector<std::size_t>>());
  }

  [[nodiscard]] const double* weights_of(std::size_t step) const {
    return weights.data() + (step - 1) * parameters;
  }
  // The average, where there is one.
  [[nodiscard]] const double* evaluated_of(std::size_t step) const {
    return averages.empty() ? weights_of(step) : averages.data() + (step - 1) * parameters;
  }
  // After this epoch, from 1.
  [[nodiscard]] std::size_t step_of(std::size_t epoch) const {
    const std::size_t images = options.batch_size * options.accumulate;
    return epoch * ((data.indices.train.size() + images - 1) / images);
  }
  // Loss, rate and norm of a step; or of an epoch the six numbers.
  [[nodiscard]] double off(const char* of, std::size_t number, std::vector<double> found) const {
    return apart(found, json.at(of).at(number - 1).get<std::vector<double>>().data());
  }
};

// Looks at a run after each step.
struct Judge : Observer {
  const Case& expected;
  const Run* run = nullptr;
  std::size_t steps = 0;

  explicit Judge(const Case& c) : expected(c) {}

  void stepped(const StepReport& step) override {
    ++steps;
    REQUIRE(step.step == steps);
    CAPTURE(steps);
    CHECK(expected.off("steps", steps, {step.loss, step.lr, step.grad_norm}) < tolerance);
    CHECK(apart(flat(run->model()), expected.weights_of(steps)) < tolerance);
    CHECK(apart(flat(run->evaluated()), expected.evaluated_of(steps)) < tolerance);
  }
  void finished_epoch(const EpochReport& e) override {
    CAPTURE(e.epoch);
    CHECK(e.step == steps);
    CHECK(steps == expected.step_of(e.epoch));
    CHECK(expected.off("epochs", e.epoch,
                       {e.train_loss, e.train_accuracy, e.test_loss, e.test_accuracy, e.lr,
                        e.grad_norm}) < tolerance);
  }
};

}  // namespace

TEST_CASE(
    "every step of a run that stops and goes on with other threads is PyTorch's, every file too") {
  for (const golden::Json& json : oracle()["cases"]) {
    INFO(json["name"].get<std::string>());
    Case c(json);
    const std::string path = c.folder.file("run");
    c.options.save_every = 2;
    // Where there is early stopping: after the best epoch, which is then known from files alone.
    const std::size_t stop = c.options.patience > 0 ? c.json["best"].get<std::size_t>() + 1
                                                    : c.json["epochs"].size() / 2;
    Judge judge(c);
    {
      const Threads one(1);
      RunDirectory directory(path, c.options.to_json());
      const VisionTransformer vit = initial_model(c.options, judge);
      Run run(c.options, vit, c.data, judge, &directory);
      judge.run = &run;
      while (run.state().epochs < stop) run.epoch();
    }
    {
      const Threads three(3);
      RunDirectory directory(path);
      const VisionTransformer vit = initial_model(c.options, judge);
      Run run(c.options, vit, c.data, judge, &directory);
      judge.run = &run;
      run.resume(read_checkpoint(directory.checkpoint("last")));
      while (run.goes_on()) run.epoch();
      CHECK(run.state().epochs == c.json["epochs"].size());
      Predictions predictions;
      const std::optional<TestReport> test = run.finish(predictions);
      CHECK(test.has_value() == (c.options.val_fraction > 0));
      if (test) CHECK(test->epoch == c.json["best"].get<std::size_t>());
      run.close();
    }
    CHECK(judge.steps == c.steps);

    // The files hold the same numbers.
    const RunRecord record = read_run(path);
    REQUIRE(record.steps.size() == c.steps);
    for (std::size_t i = 1; i <= c.steps; ++i) {
      const RunRecord::Step& s = record.steps[i - 1];
      CHECK(s.step == static_cast<double>(i));
      CHECK(c.off("steps", i, {s.loss, s.lr, s.grad_norm}) < tolerance);
    }
    const bool validated = c.options.val_fraction > 0;
    REQUIRE(record.epochs.size() == c.json["epochs"].size());
    for (std::size_t i = 1; i <= record.epochs.size(); ++i) {
      const RunRecord::Epoch& e = record.epochs[i - 1];
      CHECK(e.epoch == i);
      CHECK(e.step == static_cast<double>(c.step_of(i)));
      CHECK(std::isnan(e.test_loss) == validated);
      CHECK(std::isnan(e.val_loss) == !validated);
      CHECK(c.off("epochs", i,
                  {e.train_loss, e.train_accuracy, validated ? e.val_loss : e.test_loss,
                   validated ? e.val_accuracy : e.test_accuracy, e.lr, e.grad_norm}) < tolerance);
    }
    CHECK(apart({record.test_loss, record.test_accuracy},
                c.json["test"].get<std::vector<double>>().data()) < tolerance);

    const std::size_t epochs = record.epochs.size();
    const std::size_t best = c.json["best"];
    const std::size_t kept = c.options.patience > 0 ? best : epochs;
    const auto held = [&](const std::string& file, std::size_t epoch) {
      CAPTURE(file);
      const std::vector<double> found = flat(named_parameters(load_weights(file).model));
      CHECK(apart(found, c.evaluated_of(c.step_of(epoch))) < tolerance);
    };
    held(path + "/model.safetensors", kept);
    held(path + "/checkpoints/best.safetensors", best);
    for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
      const std::string file = fmt::format("{}/checkpoints/epoch-{:04}.safetensors", path, epoch);
      CHECK(std::filesystem::exists(file) == (epoch % 2 == 0));
      if (epoch % 2 == 0) held(file, epoch);
    }
    const CheckpointFile last = read_checkpoint(path + "/checkpoints/last.safetensors");
    CHECK(last.state.finished);
    CHECK(last.state.best_epoch == best);
    CHECK(last.state.best_accuracy == doctest::Approx(c.json["epochs"][best - 1][3].get<double>()));
  }
}
