// What the settings of a run refuse, each by its own sentence.

#include "tests/expect.hpp"
#include "tests/folder.hpp"
#include "vitruvian/train/settings/options.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

using namespace vitruvian;

namespace {

using Flags = std::map<std::string, std::string>;

// What is said of these flags; "" where there is nothing against them.
std::string refusal(const Flags& flags) {
  const Failure failure = failure_of([&] { resolve_settings({"", "", flags}).validate(); });
  if (!failure.message.empty()) CHECK(failure.exit == Exit::usage);
  return failure.message;
}

}  // namespace

TEST_CASE("a rate, share or norm that cannot be is refused") {
  const std::string share = "a number from 0 to 1";
  const std::string rate = "a number of at least 0 and below 1";
  const std::string positive = "a number above 0 and at most ";
  const std::map<std::string, std::string> expected = {
      {"lr", positive + "100"},
      {"weight_decay", "a number from 0 to 100"},
      {"warmup", share},
      {"clip", "a number from 0 to 1000000000"},
      {"label_smoothing", rate},
      {"momentum", rate},
      {"beta1", rate},
      {"beta2", rate},
      {"ema", rate},
      {"val_fraction", rate},
      {"crop_scale", positive + "1"},
      {"flip", share},
      {"erasing", share},
      {"mix_probability", share},
      {"randaugment_magnitude", "a number from 0 to 30"},
      {"mixup", "a number from 0 to 100"},
      {"cutmix", "a number from 0 to 100"},
      {"dropout", rate},
      {"attention_dropout", rate},
      {"embedding_dropout", rate},
      {"projection_dropout", rate},
      {"mlp_dropout", rate},
      {"stochastic_depth", rate},
      {"eps", "a number above 0 and below 1"}};
  for (const auto& [name, range] : expected) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    for (const std::string value : {"nan", "-0.001", "inf", "-inf", "1e10"}) {
      CHECK(refusal({{name, value}}) == fmt::format("{}: '{}' is not {}", flag, value, range));
    }
  }
  for (const std::string name : {"mixup", "cutmix"}) {
    CHECK(refusal({{name, "0.001"}}) ==
          fmt::format("--{} 0.001 is neither 0 nor from 0.01 to 100", name));
  }
  // The ends: what is refused, and what is just in.
  for (const std::string name : {"label_smoothing", "momentum", "beta1", "beta2", "ema",
                                 "val_fraction", "dropout", "stochastic_depth"}) {
    CAPTURE(name);
    CHECK(refusal({{name, "1"}}).find("below 1") != std::string::npos);
    CHECK(refusal({{name, "0.999"}}).empty());
    CHECK(refusal({{name, "0"}}).empty());
  }
  CHECK(refusal({{"lr", "0"}}) == "--lr: '0' is not a number above 0 and at most 100");
  CHECK(refusal({{"lr", "100.1"}}) == "--lr: '100.1' is not a number above 0 and at most 100");
  CHECK(refusal({{"lr", "100"}}).empty());
  CHECK(refusal({{"weight_decay", "100.1"}}).starts_with("--weight-decay: '100.1'"));
  for (const std::string name : {"weight_decay", "warmup", "clip", "mixup", "flip"}) {
    CHECK(refusal({{name, "0"}}).empty());
  }
  CHECK(refusal({{"warmup", "1"}}).empty());
  CHECK(refusal({{"warmup", "1.001"}}).starts_with("--warmup: '1.001'"));
}

TEST_CASE("a count that cannot be is refused, and what needs another setting says which") {
  for (const std::string name : {"epochs", "batch_size", "accumulate"}) {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    CHECK(refusal({{name, "0"}}) == flag + ": '0' is not a whole number from 1 to 1000000");
  }
  for (const std::string name : {"epochs", "accumulate"}) {
    CHECK(refusal({{name, "1000001"}}) ==
          "--" + name + ": '1000001' is not a whole number from 1 to 1000000");
    CHECK(refusal({{name, "1000000"}}).empty());
  }
  CHECK(refusal({{"patience", "3"}}) ==
        "--patience needs images to validate on: --val-fraction 0.1, say");
  CHECK(refusal({{"patience", "3"}, {"val_fraction", "0.1"}}).empty());
  CHECK(refusal({{"keep_head", "true"}}) == "--keep-head needs --init FILE");
  CHECK(refusal({{"pos_resize", "hf"}}) == "--pos-resize needs --init FILE");
  CHECK(refusal({{"dataset", "mnist"}}).starts_with("--dataset mnist needs --data DIR"));
  CHECK(refusal({{"data", "mine"}}).starts_with("--data mine: the digits are drawn"));
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
