// Few-shot classification: its regression against PyTorch's (tests/golden/golden_ridge.py), the
// whole against `evaluate`, and what several seeds say together.

#include "vitruvian/train/few_shot.hpp"
#include "tests/golden.hpp"
#include "tests/train/small.hpp"
#include "vitruvian/train/ridge.hpp"
#include "vitruvian/train/seeds.hpp"

using namespace vitruvian;

namespace {

// A model of images of 14 x 14 in one class of its own, with features of order one.
std::string small_weights(const Folder& folder, Head head = Head::tanh, bool distilled = false) {
  ViTConfig config = small_options().model;
  config.K = 1;
  config.head = head;
  config.distilled = distilled;
  const VisionTransformer model(config, Rng(3));
  std::string path = folder.file("w.safetensors");
  save_weights(model, {"digits", {0.4}, {0.3}}, path);
  return path;
}

FewShotOptions small_shots(const std::string& weights) {
  FewShotOptions o;
  o.weights = weights;
  o.train_size = 200, o.test_size = 50;
  o.shots = {1, 3};
  o.seeds = {1, 2, 5};
  return o;
}

}  // namespace

TEST_CASE("a ridge regression is PyTorch's, from either side") {
  const golden::Json file = golden::read("ridge.json");
  for (const golden::Json& c : file["cases"]) {
    INFO(c["name"].get<std::string>());
    const auto labels = c["labels"].get<std::vector<std::size_t>>();
    const std::size_t n = labels.size(), K = c["bias"]["shape"][0];
    std::vector<double> y(n * K, -1);
    for (std::size_t i = 0; i < n; ++i) y[i * K + labels[i]] = 1;
    const Array x = golden::tensor(c["x"]);
    const LinearMap map = ridge_regression({x.begin(), x.end()}, y, n, c["ridge"]);
    for (const auto& [name, ours] : {std::pair{"weight", map.weight}, {"bias", map.bias}}) {
      const Array theirs = golden::tensor(c[name]);
      CHECK(golden::difference(array(theirs.shape(), ours), theirs) < 1e-12);
    }
  }
}

TEST_CASE("what no regression can be made of") {
  const std::vector<double> x{1, 2, 3, 4}, y{1, -1};
  CHECK_FAILS_WITH(ridge_regression(x, y, 2, 0), "a ridge of 0 is not above 0");
  CHECK_FAILS_WITH(ridge_regression(x, y, 2, std::nan("")), "a ridge of nan");
  CHECK_FAILS_WITH(ridge_regression(x, y, 3, 1), "4 and 2 numbers are no 3 rows");
  CHECK_FAILS_WITH(ridge_regression({}, {}, 0, 1), "no 0 rows");
  const std::vector<double> broken{1, std::numeric_limits<double>::infinity(), 3, 4};
  CHECK_FAILS_WITH(ridge_regression(broken, y, 2, 1), "the model's features are NaN or infinite");
  // Features that are all the same say nothing but how often a class comes.
  const LinearMap map =
      ridge_regression(std::vector<double>{7, 7, 7}, std::vector<double>{1, 1, -1}, 3, 1);
  CHECK(map.weight == std::vector<double>{0});
  CHECK(map.bias[0] == doctest::Approx(1.0 / 3));
}

TEST_CASE("the model that few-shot writes does what it said of it, for any number of threads") {
  const Folder folder;
  FewShotOptions o = small_shots(small_weights(folder));
  o.out = folder.file("head.safetensors");
  std::vector<std::string> said;
  const auto notes = [&said](const std::string& sentence) { said.push_back(sentence); };
  FewShotResult result;
  {
    const Threads one(1);
    result = few_shot(o, notes);
  }
  CHECK(result.classes == 10);
  CHECK(result.features == small_options().model.D);
  CHECK(result.test_images == 50);
  REQUIRE(result.rows.size() == 2);
  CHECK(result.rows[0].shots == 1);
  CHECK(result.rows[1].accuracies.size() == 3);
  CHECK(spread_of(result.rows[1].accuracies).mean > 0.15);  // chance is 0.1

  EvalOptions of_head;
  of_head.weights = o.out;
  of_head.dataset = "digits";
  of_head.test_size = 50;
  const Evaluation found = f64::evaluate(of_head);
  CHECK(found.accuracy == result.rows[1].accuracies[0]);
  const TrainedModel written = load_weights(o.out);
  CHECK(written.model.config.head == Head::linear);
  CHECK(written.data.mean == std::vector<double>{0.4});
  CHECK(written.data.dataset == "digits");
  CHECK(value_of(written.model, "blocks.1.mlp.fc2.weight") ==
        value_of(load_weights(o.weights).model, "blocks.1.mlp.fc2.weight"));

  const std::string before = content(o.out);
  {
    const Threads three(3);
    const FewShotResult again = few_shot(o, notes);
    CHECK(again.to_json() == result.to_json());
  }
  CHECK(content(o.out) == before);
  // Other seeds are other draws, and another ridge is another head.
  const std::vector<double>& each = result.rows[0].accuracies;
  CHECK_FALSE((each[0] == each[1] && each[1] == each[2]));
  o.ridge = 1e9;
  few_shot(o, notes);
  CHECK(content(o.out) != before);
  o.ridge = 10;
  // A draw hangs on its seed alone, and fewer shots are a part of more.
  o.out.clear();
  o.shots = {1};
  o.seeds = {5};
  CHECK(few_shot(o, notes).rows[0].accuracies[0] == result.rows[0].accuracies[2]);
  CHECK(said.empty());
}

TEST_CASE("a distilled model gets the head twice, whatever head it had") {
  for (const Head head : {Head::linear, Head::none}) {
    const Folder folder;
    FewShotOptions o = small_shots(small_weights(folder, head, true));
    o.out = folder.file("head.safetensors");
    const FewShotResult result = few_shot(o, [](const std::string&) {});
    EvalOptions of_head;
    of_head.weights = o.out;
    of_head.dataset = "digits";
    of_head.test_size = 50;
    CHECK(f64::evaluate(of_head).accuracy == result.rows[1].accuracies[0]);
  }
}

TEST_CASE("few-shot says what it cannot do") {
  const Folder folder;
  const FewShotOptions good = small_shots(small_weights(folder));
  const auto refused = [&](const auto& change, const char* sentence) {
    FewShotOptions o = good;
    change(o);
    check_error(Exit::usage, {sentence}, [&] { few_shot(o, [](const std::string&) {}); });
  };
  refused([](FewShotOptions& o) { o.shots = {1000}; },
          "--shots 1000: class '0' has 20 training images");
  refused([](FewShotOptions& o) { o.shots = {0}; }, "--shots 0: a class is learned from one image");
  refused([](FewShotOptions& o) { o.ridge = 0; }, "--ridge 0: expected a number above 0");
  refused([](FewShotOptions& o) { o.ridge = std::nan(""); }, "--ridge nan");
  refused([](FewShotOptions& o) { o.dataset = "mnits"; }, "mnist");
  refused([](FewShotOptions& o) { o.dataset = "mnist"; }, "--dataset mnist needs --data DIR");
}

TEST_CASE("seeds: how many, or which; and what they say together") {
  using Seeds = std::vector<std::uint64_t>;
  CHECK(seeds_of("--seeds", "3") == Seeds{1, 2, 3});
  CHECK(seeds_of("--seeds", "4,7") == Seeds{4, 7});
  CHECK(seeds_of("--seeds", "0,18446744073709551615") == Seeds{0, 18446744073709551615U});
  CHECK(numbers_in("--shots", "5") == Seeds{5});
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, const char*>>{
           {"0", "--seeds 0: expected a number of seeds from 1 to 1000"},
           {"1001", "--seeds 1001: expected"},
           {"", "--seeds: '' is neither a whole number nor a list such as 1,2,3"},
           {"-1", "--seeds: '-1' is neither"},
           {"1,", "--seeds: '1,' is neither"},
           {"1,x", "--seeds: '1,x' is neither"},
           {"18446744073709551616", "18446744073709551616 is beyond the largest number"},
           {"2,1,2", "--seeds 2,1,2: 2 is named twice"}}) {
    check_error(Exit::usage, {sentence}, [&, said = text] { seeds_of("--seeds", said); });
  }
  // Python: statistics.mean and statistics.stdev.
  const double unknown = std::nan("");
  const Spread spread = spread_of(std::vector<double>{1, unknown, 2, 4});
  CHECK(spread.count == 3);
  CHECK(spread.mean == doctest::Approx(2.3333333333333335).epsilon(1e-15));
  CHECK(spread.deviation == doctest::Approx(1.5275252316519468).epsilon(1e-15));
  CHECK(std::isnan(spread_of(std::vector<double>{1}).deviation));
  CHECK(std::isnan(spread_of(std::vector<double>{}).mean));
  CHECK(percent_text({3, 0.977, 0.0012}) == "97.70 % +- 0.12");
  CHECK(percent_text({1, 0.977, unknown}) == "97.70 %");
  CHECK(percent_text({0, unknown, unknown}) == "-");
}
