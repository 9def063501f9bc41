// What a run shows on a terminal: confusion, the bar's sparkline, the line of an epoch, runs beside
// each other.

#include "tests/report/seeing.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/report/compare.hpp"
#include "vitruvian/report/inspect.hpp"
#include "vitruvian/report/progress.hpp"

#include <cstdio>

using namespace vitruvian;

namespace {

constexpr double gap = not_recorded;

}  // namespace

TEST_CASE("images of a data set that is sorted by class are shown with the classes in turn") {
  const Dataset data{
      "",    1,    1, 1, 3, std::vector<std::uint8_t>(7), {0, 0, 0, 0, 2, 2, 1}, {"a", "b", "c"},
      {0.5}, {0.5}};
  const Loader images(data);
  using Order = std::vector<std::size_t>;
  CHECK(classes_in_turn(images, 3) == Order{0, 4, 6});
  CHECK(classes_in_turn(images, 5) == Order{0, 4, 6, 1, 5});
  CHECK(classes_in_turn(images, 100) == Order{0, 4, 6, 1, 5, 2, 3});
}

TEST_CASE("confusion, accuracies and mistakes of six images counted by hand") {
  const Predictions predictions = six();
  const Confusion confusion = confusion_of(predictions);
  CHECK(confusion.counts == std::vector<std::size_t>{1, 0, 1, 0, 2, 0, 1, 1, 0});
  CHECK(confusion.accuracy_of(0) == 0.5);
  CHECK(confusion.accuracy_of(1) == 1);
  CHECK(confusion.accuracy_of(2) == 0);
  CHECK(confusion.weakest(2) == std::vector<std::size_t>{2, 0});
  const auto pairs = confusion.worst_pairs(10);
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].truth == 0);
  CHECK(pairs[0].guess == 2);
  // Their true classes were given 0.05, 0.2 and 0.4.
  CHECK(predictions.worst_mistakes(10) == std::vector<std::size_t>{5, 1, 4});
  CHECK(predictions.worst_mistakes(1) == std::vector<std::size_t>{5});
  CHECK(predictions.likeliest(4, 2) == std::vector<std::size_t>{0, 2});
}

TEST_CASE("a confusion matrix as text fits its columns, or becomes lists") {
  const std::string text = to_text(confusion_of(six()), {"cat", "dog", "a\033[31mfox"});
  CHECK(text ==
        "confusion  a row is what images show, a column what they were taken for\n"
        "                 0 1 2    right\n"
        "0 cat            1 . 1   50.0 %\n"
        "1 dog            . 2 .  100.0 %\n"
        "2 a\\u001b[31mfox 1 1 .    0.0 %\n");
  CHECK(says(to_text(confusion_of(six()), {}), "\n0 1 . 1   50.0 %\n"));
  CHECK(says(to_text(confusion_of(six()), {}, 80, true), "\033[1m 2\033[0m"));
  CHECK(to_text(Confusion{3, std::vector<std::size_t>(9)}, {}).empty());

  Confusion large{100, std::vector<std::size_t>(10000, 7)};
  large.counts[3 * 100 + 98] = 12345;
  for (const std::string& shown :
       {to_text(large, std::vector<std::string>(100, "a name that goes on and on")),
        to_text(confusion_of(six()), {}, 14)}) {
    std::size_t begin = 0;
    for (std::size_t end; (end = shown.find('\n', begin)) != std::string::npos; begin = end + 1) {
      CHECK(end - begin <= 80);
    }
    CHECK(shown.find("the most confused") == 0);
    CHECK(says(shown, "the classes with the lowest accuracy"));
  }
  CHECK(says(to_text(large, {}), "98                 12345 of 13038"));
}

TEST_CASE("a sparkline falls as the loss does, at any length") {
  Sparkline line;
  CHECK(line.empty());
  CHECK(line.text(8).empty());
  for (const double y : {3.0, 2.0, 1.0, gap}) line.add(y);
  CHECK(line.text(8) == "\u2588\u2586\u2581");
  for (int i = 0; i < 100000; ++i) line.add(1);
  CHECK(line.text(8).size() == 8 * 3);
  CHECK(line.text(8).starts_with("\u2588"));
  CHECK(line.text(8).ends_with("\u2581"));

  // A loss as runs have it: what comes after the first epoch is seen as well.
  Sparkline loss;
  for (const double y : {2.3, 1.2, 0.6, 0.3, 0.15, 0.08}) loss.add(y);
  CHECK(loss.text(8) == "\u2588\u2587\u2585\u2584\u2582\u2581");
  Sparkline to_zero;
  for (const double y : {1.0, 0.5, 0.0}) to_zero.add(y);
  CHECK(to_zero.text(8) == "\u2588\u2588\u2581");

  const StepReport step{1, 4, 10, 40, 0.5, 1e-3, 2.25, 3000, 61};
  CHECK(Progress::bar(step, 80, line).starts_with("[====            ] \u2588"));
  CHECK(Progress::bar(step, 80, line).ends_with(" epoch 1/4  loss 0.5000  3000 img/s  ETA 1:01"));
  for (std::size_t columns = 1; columns < 200; ++columns) {
    const std::string bar = Progress::bar(step, columns, line);
    CHECK(bar.size() - 2 * count_of(bar, "\xE2\x96") <= std::max<std::size_t>(1, columns - 1));
  }
}

TEST_CASE("the line of an epoch fits, and says what there is room for") {
  EpochReport e;
  e.epoch = 3;
  e.epochs = 12;
  e.train_loss = 0.8157;
  e.train_accuracy = 0.7231;
  e.test_loss = 0.2365;
  e.test_accuracy = 0.9225;
  e.images_per_second = 10469;
  e.seconds = 83;
  CHECK(Progress::line(e) ==
        "epoch 3/12  train loss 0.8157 acc 72.31 %  test loss 0.2365 acc 92.25 %  1:23");
  CHECK(
      Progress::line(e, 100) ==
      "epoch 3/12  train loss 0.8157 acc 72.31 %  test loss 0.2365 acc 92.25 %  10469 img/s  1:23");
  CHECK(Progress::line(e, 60) == "epoch 3/12  test loss 0.2365 acc 92.25 %  1:23");
  e.validation = true;
  CHECK(Progress::line(e, 60) == "epoch 3/12  val loss 0.2365 acc 92.25 %  1:23");
  e.epoch = 100;
  e.epochs = 300;
  e.seconds = 3723;
  CHECK(Progress::line(e) ==
        "epoch 100/300  train loss 0.8157 acc 72.31 %  val loss 0.2365 acc 92.25 %");
  for (std::size_t columns = 2; columns < 120; ++columns) {
    CHECK(Progress::line(e, columns).size() < columns);
  }
}

TEST_CASE("runs beside each other: what differs, what came of them") {
  const Folder folder;
  const std::vector<RunRecord> runs{
      read_run(run_in(folder, "one", metrics_of_two_epochs)),
      read_run(run_in(folder, "two", "",
                      R"({"dataset":"digits","epochs":5,"lr":0.1,"out":"<x>","model":{"D":64}})"))};
  const std::string text = to_text(comparison_of(runs));
  CHECK(text ==
        "                             one   two\n"
        "epochs                         3     5\n"
        "model.note         </dd><script>     -\n"
        "lr                             -   0.1\n"
        "out                            -   <x>\n"
        "epochs done                    2     0\n"
        "training loss             1.3000     -\n"
        "test loss                 1.1000     -\n"
        "test accuracy            61.23 %     -\n"
        "best test (epoch)    61.23 % (2)     -\n"
        "time                        2:03  2:03\n"
        "images a second              200   200\n");
  // What would steer a terminal is spelled out, letters stay, and columns stand below each other.
  RunRecord odd = runs[0];
  odd.name = "\033[31m";
  odd.settings = {{"data", "Größen und noch zwanzig Zeichen"}, {"größe", "1"}};
  const std::string shown = to_text(comparison_of({odd, runs[1]}));
  CHECK(shown.find("                                 \\u001b[31m     two\n") == 0);
  CHECK(says(shown, "data               Größen und noch zwanzi..       -\n"));
  CHECK(says(shown, "größe" + std::string(37, ' ') + "1       -\n"));
  // Too many for the width: several tables. Equal names: whole paths.
  CHECK(count_of(to_text(comparison_of(std::vector(8, runs[0]))), "test accuracy") > 1);
  CHECK(comparison_of({runs[0], runs[0]}).runs[0] == runs[0].directory);
  CHECK(to_text(comparison_of({runs[0], runs[0]})).starts_with("the settings are the same\n"));
  // Long paths are broken, so that a third run stays on the page.
  const std::string page = html_comparison({runs[0], runs[0], runs[1]});
  CHECK(says(page, "<table class=\"runs\">"));
  CHECK(says(page, ".runs th, .runs td { white-space: normal; overflow-wrap: anywhere;"));
}

TEST_CASE("what is not known of a program's own model is not printed") {
  const auto all = [](const RunStart& start) {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    Progress(file).started(start);
    std::rewind(file);
    std::string text(1000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  };
  const auto printed = [&all](const RunStart& start) {
    const std::string text = all(start);
    return text.substr(0, text.find("data "));
  };
  RunStart start;
  start.model = "Net";
  start.parameters = 1218;
  CHECK(printed(start) == "model    Net\n         1218 parameters\n");
  RunStart resumed = start;
  resumed.dataset = "points";
  resumed.train_images = 60, resumed.validation_images = 12, resumed.test_images = 30;
  resumed.epochs = 4, resumed.steps = 16, resumed.warmup = 3, resumed.done = 5;
  resumed.seconds_an_epoch = 61;
  resumed.directory = "there";
  CHECK(says(all(resumed),
             "\ndata     points: 60 images to train on, 12 to validate on, 30 to "
             "test\nrun      4 epochs, 16 steps (3 of warm-up), about 1:01 an epoch; "
             "goes on after step 5\nout      there\n"));
  start.macs = 3'540'000;
  start.training_bytes = 49'000'000;
  CHECK(printed(start) ==
        "model    Net\n         1218 parameters, 3.54 million MACs an image, about 49 MB to "
        "train\n");
}
