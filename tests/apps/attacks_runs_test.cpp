// Settings, folders and states that somebody made on purpose, or an operating system did.

#include "tests/apps/attacks.hpp"
#include "tests/expect.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <limits>
#include <map>

namespace vitruvian {
namespace {

// --- settings ------------------------------------------------------------------------------------

template <class T>
constexpr bool is_number = (is_rate<T> || std::is_integral_v<T>)&&!std::is_same_v<T, bool>;

std::string said(const std::string& name, const std::string& value) {
  return failure_of([&] {
           static_cast<void>(resolve_settings({"", "", {{name, value}}}));
         })
      .message;
}

std::string in_file(const std::string& json) {
  return failure_of([&] { static_cast<void>(settings_from_json(json, "f")); }).message;
}

TEST_CASE("every setting that is a number takes its range, and nothing beside it") {
  TrainOptions any;
  std::size_t numbers = 0;
  std::map<std::string, Bounds> bounds_of;
  for_each_setting(any, [&](auto& field, const Setting& setting) {
    using T = std::decay_t<decltype(field)>;
    if constexpr (is_number<T>) {
      const std::string name = setting.name;
      CAPTURE(name);
      ++numbers;
      const bool whole = std::is_integral_v<T>;
      const Bounds& bounds = bounds_of[name] = setting.bounds;
      std::string flag = "--" + name;
      std::replace(flag.begin(), flag.end(), '_', '-');
      const std::string expected = "not " + bounds.text(whole);
      std::vector<std::string> bad{"-1",  "nan", "inf", "-inf", "1e999", "-1e999", "1e300",
                                   "ten", "",    "0x",  "1 2",  "[1]",   "true"};
      if (whole) {
        for (const char* const text : {"1.5", "1e3", "-0", "18446744073709551616"})
          bad.emplace_back(text);
        if (name != "seed") bad.emplace_back("9223372036854775807");
      }
      for (const std::string& text : bad) {
        CAPTURE(text);
        CHECK(said(name, text) == fmt::format("{}: '{}' is {}", flag, text, expected));
      }
      for (const char* const json : {"-1", "1e300", "-1e300", "\"1\"", "true", "[]", "{}"}) {
        CHECK(in_file(fmt::format(R"({{"{}": {}}})", name, json)) ==
              fmt::format("f: '{}' is {}: {}", name,
                          std::string(json) == "1e300"    ? "1e+300"
                          : std::string(json) == "-1e300" ? "-1e+300"
                                                          : json,
                          expected));
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
      }
      TrainOptions o = default_options("digits");
      for_each_setting(o, [&](auto& its, const Setting& other) {
        if constexpr (std::is_same_v<std::decay_t<decltype(its)>, T>) {
          if (other.name == name) its = static_cast<T>(bounds.high * 2 + 1);
        }
      });
      if (name != "seed") {
        const Failure failure = failure_of([&] { o.validate(); });
        CHECK(failure.exit == Exit::usage);
        CHECK(failure.message.starts_with(flag));
        CHECK(failure.message.ends_with(": expected " + bounds.text(whole)));
      }
    }
  });
  CHECK(numbers >= 40);
  CHECK(said("batch_size", "9223372036854775807") ==
        "--batch-size: '9223372036854775807' is not a whole number from 1 to 1000000");
  CHECK(bounds_of.at("lr").text(false) == "a number above 0 and at most 100");
  CHECK(bounds_of.at("beta1").text(false) == "a number of at least 0 and below 1");
  CHECK(bounds_of.at("flip").text(false) == "a number from 0 to 1");
  CHECK_FALSE(bounds_of.at("flip").holds(std::numeric_limits<double>::quiet_NaN()));
}

TEST_CASE("a config that is beyond reason ends in a line") {
  const std::string deep(400'000, '[');
  CHECK(in_file(R"({"lr": 1e999})") == "f: 'lr' is 1e999: not a number above 0 and at most 100");
  CHECK(in_file(R"({"lr": -1e999})") == "f: 'lr' is -1e999: not a number above 0 and at most 100");
  CHECK(in_file(R"({"made_by": {"x": 1e999}})") == "f: 'x' is 1e999: beyond every number");
  CHECK(in_file("1e999") == "f: '' is 1e999: beyond every number");
  CHECK(in_file(R"({"lr": )" + deep) == "f: nested too deeply for settings");
  CHECK(in_file("{\"" + std::string(900'000, 'x') + "\": 1}").size() < 300);
  CHECK(in_file(R"({"lr": ")" + std::string(900'000, 'x') + "\"}").size() < 300);
  CHECK(in_file(R"({"lr": )" + std::string(900'000, '9') + "}").size() < 300);
  CHECK(in_file("{" + std::string(900'000, 'x')).size() < 300);
  std::string many = "{";
  for (int i = 0; i < 60'000; ++i) many += fmt::format("\"{}\":{{}},", i);
  CHECK(in_file(many + "\"x\":1}") == "f: more than 1000 settings");
  CHECK(in_file("[]") == "f: not a JSON object of settings");
}

TEST_CASE("the program says so with exit code 2, and before it makes anything") {
  const std::vector<std::pair<std::string, std::string>> files{
      {R"({"lr":1e999})", "'lr' is 1e999: not a number above 0 and at most 100"},
      {R"({"batch_size":9223372036854775807})",
       "'batch_size' is 9223372036854775807: not a whole number from 1 to 1000000"}};
  for (const auto& [json, message] : files) {
    const Folder folder;
    write(folder.path / "config.json", json);
    const Ending ending =
        run(folder, {"train", "--config", folder.file("config.json"), "--out", folder.file("run")});
    CHECK(ending.exit == 2);
    CAPTURE(ending.error);
    CHECK(std::count(ending.error.begin(), ending.error.end(), '\n') == 1);
    CHECK(ending.error.find("config.json: " + message) != std::string::npos);
    CHECK(folder.files() == std::vector<std::string>{"config.json", "err", "out"});
  }
}

// --- what a run wrote ----------------------------------------------------------------------------

std::string state_with(const std::string& key, const std::string& value) {
  std::vector<std::pair<std::string, std::string>> fields{
      {"version", "1"},       {"settings", R"("{}")"}, {"data", R"("0f")"},
      {"key", "1"},           {"epochs", "2"},         {"step", "7"},
      {"loss_sum", "0.5"},    {"grad_norm_sum", "1"},  {"lr", "0.1"},
      {"correct", "3"},       {"seen", "4"},           {"best_epoch", "1"},
      {"best_accuracy", "1"}, {"best_loss", "0.25"},   {"metrics_size", "10"},
      {"finished", "false"},  {"moments_t", "{}"},     {"crc32", "{}"}};
  std::string json;
  for (const auto& [name, usual] : fields) {
    const std::string text = name == key ? value : usual;
    if (!text.empty()) json += fmt::format("{}\"{}\":{}", json.empty() ? "" : ",", name, text);
  }
  return "{" + json + "}";
}

TEST_CASE("a checkpoint's state has a range for every field, whatever its checksum") {
  const auto refused = [](const std::string& key, const std::string& value) {
    const Failure failure =
        failure_of([&] { static_cast<void>(parse_checkpoint_state(state_with(key, value), "f")); });
    if (failure.message.empty()) return std::string();
    CHECK(failure.exit == Exit::checkpoint);
    const std::string start = "f: its state makes no sense: ";
    CHECK(failure.message.starts_with(start));
    return failure.message.substr(start.size());
  };
  CHECK(refused("", "").empty());
  CHECK(parse_checkpoint_state(state_with("", ""), "f").state.step == 7);
  CHECK(parse_checkpoint_state(state_with("key", "18446744073709551615"), "f").state.key ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(refused("step", "-1") == "'step' is not a whole number from 0 to 1e+15");
  CHECK(refused("metrics_size", "1e308") == "'metrics_size' is not a whole number from 0 to 1e+12");
  for (const char* const whole :
       {"epochs", "step", "correct", "seen", "best_epoch", "metrics_size"}) {
    for (const char* const value : {"-1", "1e308", "1.5", "null", "\"1\"", "10000000000000000"}) {
      CAPTURE(whole);
      CAPTURE(value);
      CHECK(refused(whole, value).starts_with(fmt::format("'{}' is not a whole number", whole)));
    }
  }
  for (const char* const number :
       {"loss_sum", "grad_norm_sum", "lr", "best_accuracy", "best_loss"}) {
    for (const char* const value : {"-1", "1e308", "null", "\"1\"", "[]"}) {
      CAPTURE(number);
      CAPTURE(value);
      CHECK(refused(number, value).starts_with(fmt::format("'{}' is not a number", number)));
    }
  }
  CHECK(refused("best_accuracy", "1.01") == "'best_accuracy' is not a number from 0 to 1");
  CHECK(refused("lr", "100.5") == "'lr' is not a number from 0 to 100");
  CHECK(refused("moments_t", R"({"head.weight":-1})") ==
        "'moments_t' is not an object of whole numbers from 0 to 1e+15");
  CHECK(refused("moments_t", "[1]").starts_with("'moments_t' is not an object"));
  CHECK(refused("finished", "1") == "'finished' is not true or false");
  CHECK(refused("settings", "{}") == "'settings' is not a text");
  CHECK(refused("crc32", R"({"a":1})") == "'crc32' holds more than texts");
  CHECK(refused("correct", "5") == "'correct' is above 'seen'");
  CHECK(refused("best_epoch", "3") == "'best_epoch' is above 'epochs'");
  CHECK(refused("lr", "1e999") == "it is not a JSON object");
  for (const char* const name :
       {"version", "key", "step", "lr", "finished", "moments_t", "crc32"}) {
    CHECK(refused(name, "") == fmt::format("it has no '{}'", name));
  }
  CHECK(failure_of([] {
          static_cast<void>(parse_checkpoint_state(state_with("version", "2"), "f"));
        }).message == "f: a checkpoint of version 2, not 1");
}

TEST_CASE("metrics of a million keys and of a config of a hundred thousand are read in time") {
  std::string line = "{\"kind\":\"step\",\"step\":1";
  for (int i = 0; i < 200'000; ++i) line += fmt::format(",\"{}\":0", i);
  RunRecord record;
  const std::string text = line + "}\n";
  read_metrics(MemorySource(text, "m", Exit::data), record);
  CHECK(record.steps.size() == 1);

  const Folder folder;
  std::string config = "{\"epochs\":1";
  for (int i = 0; i < 80'000; ++i) config += fmt::format(",\"{}\":0", i);
  write(folder.path / "run/config.json", config + "}");
  CHECK_FAILS_WITH(read_run(folder.file("run")), "config.json: more than 1000 settings");
}

// --- folders of pictures -------------------------------------------------------------------------

TEST_CASE("what an operating system leaves in a folder of pictures is not a picture or a class") {
  const Folder folder;
  const std::string picture = "P5 2 2 255\nabcd";
  for (const char* const name : {"ants/a.pgm", "bees/deep/b.pgm"}) {
    write(folder.path / "pictures" / name, picture);
  }
  for (const char* const name :
       {"ants/Thumbs.db", "ants/.DS_Store", "bees/deep/desktop.ini", "bees/DESKTOP.INI",
        "bees/._b.pgm", "bees/@eaDir/b.pgm", "__MACOSX/ants/._a.pgm", "ants/ehthumbs.db",
        "ants/Icon\r", "Thumbs.db", "$RECYCLE.BIN/x/desktop.ini", "@eaDir/ants/a.pgm"}) {
    write(folder.path / "pictures" / name, "not a picture");
  }
  const FolderImages images(folder.path / "pictures", {.height = 2, .width = 2, .channels = 1});
  CHECK(images.about().class_names == std::vector<std::string>{"ants", "bees"});
  CHECK(images.size() == 2);
  CHECK(images.skipped() == 0);
  CHECK(folder_class_names(folder.path / "pictures") == images.about().class_names);

  // Nothing else is left out in silence.
  write(folder.path / "pictures/ants/Thumbs.dbx", "not a picture");
  CHECK_FAILS_WITH(FolderImages(folder.path / "pictures", {.height = 2, .width = 2}),
                   "1 of 3 cannot be used");
}

TEST_CASE("a class whose name a model cannot keep is refused before anything is trained") {
  const std::string picture = "P5 2 2 255\nabcd";
  // Latin 1; a lone continuation; cut short; too long a form of '/'; a surrogate; above U+10FFFF.
  for (const std::string bad : {"caf\xE9", "\x80", "caf\xC3", "\xC0\xAF", "\xED\xA0\x80",
                                "\xF4\x90\x80\x80", "\xF0\x8F\xBF\xBF", "\xE2\x82", "\xFF"}) {
    CAPTURE(bad);
    const Folder folder;
    write(folder.path / "pictures/good/a.pgm", picture);
    write(folder.path / "pictures" / bad / "b.pgm", picture);
    const Ending ending = run(folder, {"train", "--dataset", "folder", "--data",
                                       folder.file("pictures"), "--out", folder.file("run")});
    CHECK(ending.exit == 3);
    CAPTURE(ending.error);
    CHECK(std::count(ending.error.begin(), ending.error.end(), '\n') == 1);
    CHECK(ending.error.find("its folder's name is not UTF-8") != std::string::npos);
    CHECK(folder.files() == std::vector<std::string>{"err", "out", "pictures"});
  }
  const Folder folder;
  for (const char* const good : {"caf\u00e9", "\u8702", "\U0001F41D", "\uFFFD", "\u07FF"}) {
    write(folder.path / good / "a.pgm", picture);
  }
  CHECK(folder_class_names(folder.path).size() == 5);
}

}  // namespace
}  // namespace vitruvian
