// Folders, states and metrics that somebody made on purpose, or an operating system did.

#include "tests/apps/attacks.hpp"
#include "tests/expect.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/report/run_record.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"

#include <limits>

namespace vitruvian {
namespace {

TEST_CASE("a setting that cannot be ends the program with exit code 2 before it makes anything") {
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
        failure_of([&] { parse_checkpoint_state(state_with(key, value), "f"); });
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
  CHECK(images.note().empty());
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
