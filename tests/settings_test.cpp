// What the settings of a run refuse, each by its own sentence.

#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "train/options.hpp"
#include "train/traps.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace vitruvian;

namespace {

using Flags = std::map<std::string, std::string>;

// What `validate` says of these flags; "" where it has nothing against them.
std::string refusal(const Flags& flags) {
  const TrainOptions o = settle({"", "", flags});
  const Failure failure = failure_of([&] { o.validate(); });
  if (!failure.message.empty()) CHECK(failure.exit == Exit::usage);
  return failure.message;
}

}  // namespace

TEST_CASE("a rate, share or norm that cannot be is refused") {
  const std::map<std::string, std::string> says = {
      {"lr", "--lr {} is not between 0 and 100"},
      {"weight_decay", "--weight-decay {} is not between 0 and 100"},
      {"warmup", "--warmup {} is not a share between 0 and 1"},
      {"clip", "--clip {} is not a norm (0 means none)"},
      {"label_smoothing", "--label-smoothing {} is not in [0, 1)"},
      {"momentum", "--momentum {} is not in [0, 1)"},
      {"beta1", "--beta1 {} is not in [0, 1)"},
      {"beta2", "--beta2 {} is not in [0, 1)"},
      {"ema", "--ema {} is not in [0, 1)"},
      {"val_fraction", "--val-fraction {} is not in [0, 1)"},
      {"crop_scale", "--crop-scale {} is not a share above 0, at most 1"},
      {"flip", "--flip {} is not a share between 0 and 1"},
      {"erasing", "--erasing {} is not a share between 0 and 1"},
      {"mix_probability", "--mix-probability {} is not a share between 0 and 1"},
      {"randaugment_magnitude", "--randaugment-magnitude {} is not from 0 to 30"},
      {"mixup", "--mixup {} is neither 0 nor from 0.01 to 100"},
      {"cutmix", "--cutmix {} is neither 0 nor from 0.01 to 100"},
      {"dropout", "a dropout of {} is not in [0, 1)"},
      {"attention_dropout", "a dropout of {} is not in [0, 1)"},
      {"embedding_dropout", "a dropout of {} is not in [0, 1)"},
      {"projection_dropout", "a dropout of {} is not in [0, 1)"},
      {"mlp_dropout", "a dropout of {} is not in [0, 1)"},
      {"stochastic_depth", "a stochastic depth of {} is not in [0, 1)"},
      {"eps", "an eps of {} is not between 0 and 1"},
  };
  for (const auto& [name, sentence] : says) {
    for (const std::string value : {"nan", "-0.001", "inf", "-inf", "1e10"}) {
      const std::string shown = value == "1e10" ? "10000000000" : value;
      CHECK(refusal({{name, value}}) == fmt::format(fmt::runtime(sentence), shown));
    }
  }
  // The ends: what is refused, and what is just in.
  for (const std::string name : {"label_smoothing", "momentum", "beta1", "beta2", "ema",
                                 "val_fraction", "dropout", "stochastic_depth"}) {
    CAPTURE(name);
    CHECK(refusal({{name, "1"}}).find("is not in [0, 1)") != std::string::npos);
    CHECK(refusal({{name, "0.999"}}).empty());
    CHECK(refusal({{name, "0"}}).empty());
  }
  CHECK(refusal({{"lr", "0"}}) == "--lr 0 is not between 0 and 100");
  CHECK(refusal({{"lr", "100.1"}}) == "--lr 100.1 is not between 0 and 100");
  CHECK(refusal({{"lr", "100"}}).empty());
  CHECK(refusal({{"weight_decay", "100.1"}}).starts_with("--weight-decay 100.1"));
  for (const std::string name : {"weight_decay", "warmup", "clip", "mixup", "flip"}) {
    CHECK(refusal({{name, "0"}}).empty());
  }
  CHECK(refusal({{"warmup", "1"}}).empty());
  CHECK(refusal({{"warmup", "1.001"}}).starts_with("--warmup 1.001"));
}

TEST_CASE("a count that cannot be is refused, and what needs another setting says which") {
  for (const std::string name : {"epochs", "batch_size", "accumulate"}) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    CHECK(refusal({{name, "0"}}) == flag + " must be at least 1");
  }
  for (const std::string name : {"epochs", "accumulate"}) {
    CHECK(refusal({{name, "1000001"}}) ==
          "--" + name + " 1000001 is beyond reason (at most 1000000)");
    CHECK(refusal({{name, "1000000"}}).empty());
  }
  CHECK(refusal({{"patience", "3"}}) ==
        "--patience needs images to validate on: --val-fraction 0.1, say");
  CHECK(refusal({{"patience", "3"}, {"val_fraction", "0.1"}}).empty());
  CHECK(refusal({{"keep_head", "true"}}) == "--keep-head needs --init FILE");
  CHECK(refusal({{"pos_resize", "hf"}}) == "--pos-resize needs --init FILE");
  CHECK(refusal({{"dataset", "mnist"}}).starts_with("--dataset mnist needs --data DIR"));
  TrainOptions o = default_options("folder");
  o.data = "somewhere";
  o.validate();
  o.image_size = 0;
  CHECK_FAILS_WITH(o.validate(), "--dataset folder needs --image-size N");
  o = default_options("digits");
  o.resume = true;
  CHECK_FAILS_WITH(o.validate(), "to resume needs the run's directory");
}

TEST_CASE("settings that an older version did not know are as usual") {
  const std::string now = default_options("digits").to_json();
  std::string older = now;
  const std::size_t at = older.find("  \"ema\": 0.0,\n");
  REQUIRE(at != std::string::npos);
  older.erase(at, older.find('\n', at) + 1 - at);
  CHECK(difference(now, older).empty());
  TrainOptions o = default_options("digits");
  o.ema = 0.5;
  CHECK(difference(o.to_json(), older) == "'ema' is 0.5, not 0.0");
}

TEST_CASE("the warm-up is the share of the steps, rounded, or fewer") {
  TrainOptions o;
  o.warmup = 0.05;
  o.warmup_steps = 0;
  CHECK(warmup_steps(o, 90) == 5);  // 4.5: away from 0
  CHECK(warmup_steps(o, 89) == 4);
  CHECK(warmup_steps(o, 0) == 0);
  o.warmup_steps = 3;
  CHECK(warmup_steps(o, 90) == 3);
  CHECK(warmup_steps(o, 20) == 1);
  o.warmup = 1;
  CHECK(warmup_steps(o, 90) == 3);
  CHECK(warmup_steps(o, 2) == 2);
}
