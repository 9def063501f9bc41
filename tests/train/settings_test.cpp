// The settings of a run: what each takes and refuses, on the command line and in a file, and how
// they go to JSON and back.

#include "vitruvian/train/settings/settings.hpp"
#include "tests/folder.hpp"
#include "vitruvian/train/settings/options.hpp"

namespace vitruvian {
namespace {

using Flags = std::map<std::string, std::string>;

// What is said of a setting as it is read; "" where there is nothing against it.
std::string said(const std::string& name, const std::string& value) {
  return failure_of([&] { resolve_settings({"", "", {{name, value}}}); }).message;
}

std::string in_file(const std::string& json) {
  return failure_of([&] { settings_of(json, "f"); }).message;
}

// And of a whole run.
std::string refusal(const Flags& flags) {
  const Failure failure = failure_of([&] { resolve_settings({"", "", flags}).validate(); });
  if (!failure.message.empty()) CHECK(failure.exit == Exit::usage);
  return failure.message;
}

std::string flag_of(const std::string& name) {
  std::string flag = "--" + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

template <class T>
constexpr bool is_number = (is_rate<T> || std::is_integral_v<T>)&&!std::is_same_v<T, bool>;

TEST_CASE("every setting that is a number takes its range, and nothing beside it") {
  std::map<std::string, std::string> typed;
  using Names = std::vector<const char*>;
  for (const auto& [range, names] :
       {std::pair<const char*, Names>{"a number above 0 and at most 100", {"lr"}},
        {"a number above 0 and at most 1", {"crop_scale"}},
        {"a number above 0 and below 1", {"eps"}},
        {"a number from 0 to 1", {"warmup", "flip", "erasing", "mix_probability"}},
        {"a number from 0 to 30", {"randaugment_magnitude"}},
        {"a number from 0 to 100", {"weight_decay", "mixup", "cutmix"}},
        {"a number from 0 to 1000000000", {"clip"}},
        {"a number of at least 0 and below 1",
         {"label_smoothing", "momentum", "beta1", "beta2", "ema", "val_fraction", "dropout",
          "attention_dropout", "embedding_dropout", "projection_dropout", "mlp_dropout",
          "stochastic_depth"}},
        {"a whole number from 1 to 1000000", {"epochs", "batch_size", "accumulate"}}}) {
    for (const char* const name : names) typed[name] = range;
  }
  TrainOptions any;
  std::size_t numbers = 0;
  for_each_setting(any, [&](auto& field, const Setting& setting) {
    using T = std::decay_t<decltype(field)>;
    if constexpr (is_number<T>) {
      const std::string name = setting.name;
      CAPTURE(name);
      ++numbers;
      const bool whole = std::is_integral_v<T>;
      const Bounds& bounds = setting.bounds;
      const std::string flag = flag_of(name);
      const auto hand = typed.extract(name);
      if (!hand.empty()) CHECK(bounds.text(whole) == hand.mapped());
      CHECK_FALSE(bounds.holds(std::numeric_limits<double>::quiet_NaN()));
      const std::string expected = "not " + bounds.text(whole);
      std::vector<std::string> bad{"-1",  "nan", "inf", "-inf", "1e999", "-1e999", "1e300",
                                   "ten", "",    "0x",  "1 2",  "[1]",   "true",   "-0.001"};
      if (whole) {
        bad.insert(bad.end(), {"1.5", "1e3", "-0", "18446744073709551616"});
        if (name != "seed") bad.emplace_back("9223372036854775807");
      }
      for (const std::string& text : bad) {
        CAPTURE(text);
        CHECK(said(name, text) == fmt::format("{}: '{}' is {}", flag, text, expected));
      }
      // A number in a file, and how it is said again.
      const std::map<std::string, std::string> in_json{
          {"-1", "-1"},     {"1e300", "1e+300"}, {"-1e300", "-1e+300"}, {"\"1\"", "\"1\""},
          {"true", "true"}, {"[]", "[]"},        {"{}", "{}"}};
      for (const auto& [json, again] : in_json) {
        CHECK(in_file(fmt::format(R"({{"{}": {}}})", name, json)) ==
              fmt::format("f: '{}' is {}: {}", name, again, expected));
      }
      CHECK(in_file(fmt::format(R"({{"epochs": 3, "{}": 1e999}})", name)) ==
            (name == "epochs" ? "f: 'epochs' is said twice"
                              : fmt::format("f: '{}' is 1e999: {}", name, expected)));
      // The ends, as far as they belong to it, and through the checks of a whole run.
      for (const bool high : {false, true}) {
        const double end = high ? bounds.high : bounds.low;
        const bool inside = high ? !bounds.below : !bounds.above;
        const std::string text =
            whole ? (end > 1e19 ? "18446744073709551615" : fmt::format("{:.0f}", end))
                  : fmt::format("{}", end);
        CAPTURE(text);
        CHECK(said(name, text) ==
              (inside ? "" : fmt::format("{}: '{}' is {}", flag, text, expected)));
        if (inside && !whole) CHECK(refusal({{name, text}}).empty());
      }
      TrainOptions o = default_options("digits");
      for_each_setting(o, [&](auto& its, const Setting& other) {
        if constexpr (std::is_same_v<std::decay_t<decltype(its)>, T>) {
          if (other.name == name) its = static_cast<T>(bounds.high * 2 + 1);
        }
      });
      if (name != "seed") {
        const std::string message = error_of(Exit::usage, [&] { o.validate(); });
        CHECK(message.starts_with(flag));
        CHECK(message.ends_with(": expected " + bounds.text(whole)));
      }
    }
  });
  CHECK(numbers >= 40);
  CHECK(typed.empty());
}

TEST_CASE("what needs another setting says which") {
  const std::vector<std::pair<Flags, std::string>> refused{
      {{{"patience", "3"}}, "--patience needs images to validate on: --val-fraction 0.1, say"},
      {{{"keep_head", "true"}}, "--keep-head needs --init FILE"},
      {{{"pos_resize", "hf"}}, "--pos-resize needs --init FILE"},
      {{{"dataset", "mnist"}}, "--dataset mnist needs --data DIR"},
      {{{"dataset", "mnist"}, {"data", "M\xfc"}}, "--data M\xfc: the name is not UTF-8"},
      {{{"data", "mine"}}, "--data mine: the digits are drawn"}};
  for (const auto& [flags, message] : refused) CHECK(refusal(flags).starts_with(message));
  CHECK(refusal({{"patience", "3"}, {"val_fraction", "0.1"}}).empty());
  CHECK(refusal({{"depth", "3"}, {"freeze", "4"}}) == "--freeze 4: the model has 3 blocks");
  CHECK(refusal({{"depth", "3"}, {"freeze", "3"}}).empty());
  for (const std::string name : {"mixup", "cutmix"}) {
    CHECK(refusal({{name, "0.001"}}) ==
          fmt::format("--{} 0.001 is neither 0 nor from 0.01 to 100", name));
  }
  TrainOptions o = default_options("folder");
  o.data = "somewhere";
  o.validate();
  o.image_size = 0;
  CHECK_FAILS_WITH(o.validate(), "--dataset folder needs --image-size N");
  o = default_options("digits");
  o.resume = true;
  CHECK_FAILS_WITH(o.validate(), "to resume needs the run's directory");
}

TEST_CASE("settings: every one goes to JSON and back, and a file may not be wrong") {
  const Folder folder;
  const std::string path = folder.file("config.json");
  TrainOptions o = default_options("digits");
  o.optimizer = OptimizerKind::sgd;
  o.schedule = ScheduleKind::linear;
  o.model.positions = Positions::sincos;
  o.model.mlp_dropout = 0.25;
  o.model.mean_pooling = true;
  o.lr = 0.1;
  write(path, o.to_json({{"matrix_product", "ours"}}));
  const TrainOptions back = resolve_settings({"", path, {}});
  CHECK(back.to_json() == o.to_json());
  CHECK(back.model == o.model);
  CHECK(resolve_settings({"", path, {{"lr", "0.2"}}}).lr == 0.2);
  CHECK(resolve_settings({"finetune", path, {}}).momentum == 0.9);
  CHECK(resolve_settings({"", "", {{"width", "32"}}}).model.M == 128);
  CHECK(resolve_settings({"", "", {{"width", "32"}, {"mlp_width", "48"}}}).model.M == 48);
  CHECK(resolve_settings({"", "", {{"image_size", "42"}}}).model.H == 42);
  write(path, R"({"lr": 1, "made_by": {"a": 1, "a": 2}})");
  CHECK_FAILS_WITH(resolve_settings({"", path, {}}), "'a' is said twice");

  CHECK(difference(o.to_json(), back.to_json()).empty());
  TrainOptions other = o;
  other.checkpoint_every = 5;  // does not matter
  CHECK(difference(o.to_json(), other.to_json()).empty());
  other.lr = 0.3;
  CHECK(difference(other.to_json(), o.to_json()) == "'lr' is 0.3, not 0.1");
  // What an older version did not know is as usual.
  const std::string now = default_options("digits").to_json();
  std::string older = now;
  const std::string line = "  \"ema\": 0.0,\n";
  REQUIRE(says(older, line));
  older.erase(older.find(line), line.size());
  CHECK(difference(now, older).empty());
  other = default_options("digits");
  other.ema = 0.5;
  CHECK(difference(other.to_json(), older) == "'ema' is 0.5, not 0.0");

  for (const Recipe& recipe : recipes()) {
    INFO(recipe.name);
    TrainOptions r = resolve_settings({recipe.name, "", {}});
    if (r.dataset != "digits") r.data = "somewhere";
    r.validate();
  }
}

TEST_CASE("a config that is beyond reason ends in a line") {
  const std::string long_word(900'000, 'x');
  std::string many = "{";
  for (int i = 0; i < 60'000; ++i) many += fmt::format("\"{}\":{{}},", i);
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"({"lr": 1e999})", "f: 'lr' is 1e999: not a number above 0 and at most 100"},
      {R"({"lr": -1e999})", "f: 'lr' is -1e999: not a number above 0 and at most 100"},
      {R"({"made_by": {"x": 1e999}})", "f: 'x' is 1e999: beyond every number"},
      {"1e999", "f: '' is 1e999: beyond every number"},
      {R"({"lr": )" + std::string(400'000, '['), "f: nested too deeply for settings"},
      {many + "\"x\":1}", "f: more than 1000 settings"},
      {"[]", "f: not a JSON object of settings"}};
  for (const auto& [json, message] : refused) CHECK(in_file(json) == message);
  for (const std::string& json :
       {"{\"" + long_word + "\": 1}", R"({"lr": ")" + long_word + "\"}",
        R"({"lr": )" + std::string(900'000, '9') + "}", "{" + long_word}) {
    CHECK_FALSE(in_file(json).empty());
    CHECK(in_file(json).size() < 300);
  }
}

TEST_CASE("the warm-up is the share of the steps, rounded, or fewer") {
  const auto steps = [](double share, std::size_t at_most, std::size_t of) {
    TrainOptions o;
    o.warmup = share;
    o.warmup_steps = at_most;
    return warmup_steps(o, of);
  };
  CHECK(steps(0.05, 0, 90) == 5);  // 4.5: away from 0
  CHECK(steps(0.05, 0, 89) == 4);
  CHECK(steps(0.05, 0, 0) == 0);
  CHECK(steps(0.05, 3, 90) == 3);
  CHECK(steps(0.05, 3, 20) == 1);
  CHECK(steps(1, 3, 90) == 3);
  CHECK(steps(1, 3, 2) == 2);
  CHECK(steps(0.05, 10'000, 1000) == 50);
  CHECK(steps(0.05, 10'000, 1'000'000) == 10'000);
  CHECK(resolve_settings({"", "", {{"warmup_steps", "7"}}}).warmup == 1);
}

TEST_CASE("traps that are told") {
  TrainOptions o = default_options("digits");
  CHECK(warnings_of(o).empty());
  o.model.h = 8;
  CHECK(warnings_of(o).size() == 1);
  o.model.P = 14;
  CHECK(warnings_of(o).size() == 2);
  o.warmup = 0;
  CHECK(warnings_of(o).size() == 3);
  o.optimizer = OptimizerKind::adam;
  CHECK(warnings_of(o).size() == 4);
  o.layer_decay = 0.7;
  CHECK(warnings_of(o).size() == 5);
  o.init = "weights.safetensors";
  CHECK(warnings_of(o).size() == 4);
}

}  // namespace
}  // namespace vitruvian
