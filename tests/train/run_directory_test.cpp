// What lies in the folder of a run is safe, its owner's files and its own; a run that is prolonged.

#include "vitruvian/train/run/run_directory.hpp"
#include "tests/train/small.hpp"

#include <numbers>

using namespace vitruvian;

namespace {

namespace fs = std::filesystem;

const std::string config = "{\"made_by\": {\"version\": \"0\"}}\n";

TrainOptions short_run(const std::string& out) {
  TrainOptions o = small_options(out);
  o.warmup = 0.5;
  o.log_every = 1;
  return o;
}

struct Rates : Listener {
  void stepped(const StepReport& step) override { of_step[step.step] = step.lr; }
  void started(const RunStart& start) override { begun = start; }
  std::map<std::size_t, double> of_step;  // from 1
  RunStart begun;
};

TrainOptions resumed(const std::string& run, const std::map<std::string, std::string>& flags = {}) {
  return resumed_settings(run, {"", "", flags});
}

}  // namespace

TEST_CASE("a run directory writes, replaces and removes its own files only") {
  const std::vector<const char*> leftovers{"model.safetensors.4711-0.tmp",
                                           "checkpoints/last.safetensors.12-99.tmp",
                                           "checkpoints/last.previous.safetensors.tmp"};
  const Folder folder;
  const std::string run = folder.file("run");
  for (const char* name : {"notes.tmp", "config.json.tmp", "metrics.csv", "model.safetensors.bak",
                           "last.safetensors", "a-b.tmp", "metrics.jsonl.old-copy.tmp",
                           "notes.1-2.tmp", "data/report.html", "data/last.safetensors.1-2.tmp"}) {
    write(run + "/" + name, name);
  }
  std::map<std::string, std::string> theirs = contents(run);
  {
    RunDirectory directory(run, config);
    directory.append_metrics("{\"epoch\":1}");
    CHECK_FAILS_WITH(RunDirectory{run}, "another trainer is at work in this directory");
    CHECK_FAILS_WITH(RunDirectory(run, config, {.overwrite = true}), "another trainer");
  }
  for (const char* name : {"mine.safetensors", "epoch-5.safetensors", "epoch-x005.safetensors",
                           "notes.tmp", "config.json"}) {
    write(run + "/checkpoints/" + name, name);
    theirs[std::string("checkpoints/") + name] = name;
  }
  const auto leave = [&] {
    for (const char* name : leftovers) write(run + "/" + name, "");
  };
  leave();
  for (const char* name :
       {"model.safetensors", "report.html", "checkpoints/best.safetensors",
        "checkpoints/epoch-0005.safetensors", "checkpoints/last.previous.safetensors"}) {
    write(run + "/" + name, name);
  }

  const auto before = contents(run);
  CHECK(error_of(Exit::usage, [&] { RunDirectory(run, config); })
            .starts_with(run + " holds a run already: --resume " + run +
                         " goes on with it, --overwrite"));
  CHECK(contents(run) == before);

  { const RunDirectory opened{run}; }
  auto kept = before;
  for (const char* name : leftovers) kept.erase(name);
  CHECK(contents(run) == kept);

  leave();
  { const RunDirectory directory(run, config + " ", {.overwrite = true}); }
  auto fresh = theirs;
  fresh["config.json"] = config + " ";
  fresh["metrics.jsonl"] = fresh["timing.jsonl"] = "";
  CHECK(contents(run) == fresh);
}

TEST_CASE("foreign files with the names of a run's are never written over") {
  for (const char* name : {"config.json", "metrics.jsonl", "timing.jsonl", "model.safetensors",
                           "report.html", "checkpoints/mine"}) {
    INFO(name);
    const Folder folder;
    write(folder.file(name), "{\"mine\": 1}");
    for (const bool overwrite : {false, true}) {
      check_error(Exit::usage, {"is there already, and no run's"},
                  [&] { RunDirectory(folder.path, config, {.overwrite = overwrite}); });
    }
    CHECK(contents(folder.path) == std::map<std::string, std::string>{{name, "{\"mine\": 1}"}});
  }
}

TEST_CASE("places where no run can be, and nothing is left of the attempt") {
  const Folder folder;
  write(folder.file("file"), "mine");
  for (const char* below : {"file", "file/run", "file/runs/seed-1"}) {
    CHECK_FAILS_WITH(RunDirectory(folder.file(below), config),
                     folder.file("file") + " is a file: a run needs a folder");
  }
  { const RunDirectory run(folder.file("runs/one"), config); }
  for (const bool dated : {false, true}) {
    CHECK_FAILS_WITH(RunDirectory(folder.file("runs/one/two/three"), config, {.dated = dated}),
                     "lies inside the run");
    CHECK_FAILS_WITH(
        RunDirectory(folder.file("new/er/" + std::string(300, 'x')), config, {.dated = dated}),
        "cannot be made");
  }
  CHECK(folder.files() == std::vector<std::string>{"file", "runs"});
  CHECK(content(folder.file("file")) == "mine");
  CHECK(!fs::exists(folder.file("runs/one/two")));
}

TEST_CASE("runs of the same second have folders of their own") {
  const Folder folder;
  { const RunDirectory run(folder.file("runs/digits"), config); }  // a name is no hindrance
  std::set<fs::path> paths;
  for (int i = 0; i < 4; ++i) {
    const RunDirectory run(folder.file("runs/digits"), config, {.dated = true});
    CHECK(run.path().string().starts_with(folder.file("runs/digits-20")));
    CHECK(fs::exists(run.path() / "config.json"));
    paths.insert(run.path());
  }
  CHECK(paths.size() == 4);
}

TEST_CASE("the folder of a run is found from its files of weights") {
  const Folder folder;
  const std::string run = folder.file("run");
  { const RunDirectory directory(run, config); }
  write(folder.file("other/config.json"), "{}");
  for (const char* name : {"", "/model.safetensors", "/checkpoints/best.safetensors"}) {
    CHECK(fs::path(run_of(run + name)) == run);
  }
  for (const char* name : {"other", "other/model.safetensors", "run/deeper/model.safetensors",
                           "run/checkpoints", "model.safetensors"}) {
    CHECK(run_of(folder.file(name)).empty());
  }
  // As `weights fetch` leaves a folder: whatever the file is called.
  const std::string other = folder.file("other");
  const auto refusal = [](const std::string& path) {
    return error_of(Exit::checkpoint, [&] { weights_file(path); });
  };
  CHECK(refusal(other) == other + ": there is no file of weights in it");
  write(other + "/names.txt", "");
  for (const std::string kind : {".npz", ".pth", ".pt", ".safetensors"}) {
    write(other + "/w" + kind, "");
    CHECK(weights_file(other) == other + "/w" + kind);
    if (kind != ".safetensors") fs::remove(other + "/w" + kind);
  }
  write(other + "/v.npz", "");
  CHECK(refusal(other) == other + ": it holds several files of weights: " + other + "/v.npz, " +
                              other + "/w.safetensors; name one");
  CHECK(refusal(run) == run + ": an unfinished run: train --resume " + run + " goes on with it");
  const std::string best = run + "/checkpoints/best.safetensors";
  write(best, "");
  CHECK(refusal(run).ends_with("goes on with it; " + best + " has its best weights so far"));
  CHECK(weights_file(best) == best);
  write(run + "/model.safetensors", "");
  CHECK(weights_file(run) == run + "/model.safetensors");
  const fs::path here = fs::current_path();
  fs::current_path(folder.file("run/checkpoints"));
  CHECK(run_of("best.safetensors") == "..");
  fs::current_path(run);
  CHECK(run_of("model.safetensors") == ".");
  CHECK(run_of("checkpoints/best.safetensors") == ".");
  fs::current_path(here);
}

TEST_CASE("a run that goes on forgets the times of what it does again") {
  const Folder folder;
  RunDirectory directory(folder.file("run"), config);
  const auto line = [](int epoch) { return fmt::format("{{\"epoch\":{}}}", epoch); };
  for (const int epoch : {1, 2, 3}) directory.append_timing(line(epoch));
  directory.rewind(0, 1);
  directory.append_timing(line(2));
  CHECK(content(folder.file("run/timing.jsonl")) == line(1) + "\n" + line(2) + "\n");
}

TEST_CASE("steps are logged as often as was asked for, some 300 of them unasked, and the last") {
  const auto logged = [](std::size_t every, std::size_t epochs) {  // in one epoch of three steps
    const Folder folder;
    TrainOptions o = small_options();
    o.log_every = every, o.epochs = epochs;
    RunDirectory directory(folder.file("run"), o.to_json());
    SmallRun(o, nobody_looks, &directory).run.epoch();
    const std::string metrics = content(folder.file("run/metrics.jsonl"));
    std::string steps;
    for (const char* const step : {"1", "2", "3"}) {
      if (says(metrics, fmt::format(R"("kind":"step","step":{},)", step))) steps += step;
    }
    return steps;
  };
  CHECK(logged(1, 200) == "123");
  CHECK(logged(2, 2) == "23");
  CHECK(logged(0, 2) == "123");
  CHECK(logged(0, 200) == "23");  // of 600
  CHECK(logged(1000, 2) == "3");
}

TEST_CASE("the pace of a step, what is left by it, and the pace of its epoch fit together") {
  struct Paces : Observer {
    std::vector<StepReport> steps;
    void stepped(const StepReport& step) override { steps.push_back(step); }
  } paces;
  TrainOptions o = small_options();
  o.batch_size = 10, o.accumulate = 2;
  SmallRun small(o, paces);
  const EpochReport epoch = small.run.epoch();
  REQUIRE(paces.steps.size() == 3);
  for (const StepReport& s : paces.steps) {  // in 20 images a step
    CHECK(s.seconds_left * s.images_per_second ==
          doctest::Approx(20.0 * static_cast<double>(6 - s.step)));
  }
  // An epoch is its steps, and what little lies between them.
  CHECK(epoch.images_per_second <= 1.0001 * paces.steps.back().images_per_second);
}

TEST_CASE("a prolonged run: the rate of the longer one, after the warm-up that it had") {
  constexpr double pi = std::numbers::pi;
  for (const ScheduleKind schedule : {ScheduleKind::cosine, ScheduleKind::linear}) {
    const Folder folder;
    Rates rates;
    TrainOptions o = short_run(folder.file("run"));
    o.schedule = schedule;
    train_here(o, rates);
    CHECK(rates.of_step.size() == 6);
    CHECK(rates.begun.warmup == 3);
    const std::string edited = folder.file("edited");
    fs::copy(o.out, edited, fs::copy_options::recursive);
    TrainOptions by_hand = settings_of_run(edited);
    by_hand.epochs = 4;
    write(edited + "/config.json", with_settings(content(edited + "/config.json"), by_hand));
    CHECK_FAILS_WITH(train_here(resumed(edited)),
                     "with its 'epochs' 2 again, --resume with --epochs 4 makes it longer");
    const TrainOptions longer = resumed(o.out, {{"epochs", "4"}});
    CHECK(longer.epochs == 2);
    CHECK(longer.prolong_to == 4);
    train_here(longer, rates);
    CHECK(rates.heard("prolonged from 2 epochs to 4"));
    CHECK(rates.of_step.size() == 12);
    for (const auto& of_step : rates.of_step) {
      const std::size_t step = of_step.first;  // no structured binding: clang 14 cannot capture one
      const double lr = of_step.second;
      const auto s = static_cast<double>(step - 1);
      const double p = (s - 3) / (step <= 6 ? 3 : 9);  // 3 steps of warm-up, of 6, then of 12
      const double falls = schedule == ScheduleKind::cosine ? (1 + std::cos(pi * p)) / 2 : 1 - p;
      INFO(step);
      CHECK(std::abs(lr - o.lr * (step <= 3 ? (s + 1) / 3 : falls)) < 1e-15);
    }
  }
}

TEST_CASE("a prolonged run with a constant rate is the longer run, bit for bit") {
  const Folder folder;
  TrainOptions o = short_run(folder.file("run"));
  o.schedule = ScheduleKind::constant;
  o.ema = 0.9;
  train_here(o);
  TrainOptions whole = o;
  whole.out = folder.file("whole");
  whole.epochs = 5;
  whole.warmup = 1;
  whole.warmup_steps = 3;
  train_here(whole);
  for (const char* name : {"killed", "stopped"}) {
    fs::copy(o.out, folder.file(name), fs::copy_options::recursive);
  }
  train_here(resumed(o.out, {{"epochs", "3"}}));
  train_here(resumed(o.out, {{"epochs", "5"}}));  // and once more

  // Killed after its config said so, and before another checkpoint.
  const std::string killed = folder.file("killed");
  const TrainOptions settings = prolonged(settings_of_run(killed), 5, 3);
  write(killed + "/config.json", with_settings(content(killed + "/config.json"), settings));
  CHECK(train_here(resumed(killed)).last.epoch == 5);

  const std::string stopped = folder.file("stopped");
  CHECK(stop_in(10, resumed(stopped, {{"epochs", "5"}}))  // in the fourth epoch
            .starts_with("stopped after step 10 of 15; to go on: vitruvian train --resume "));
  CHECK(train_here(resumed(stopped)).last.epoch == 5);

  for (const std::string& run : {o.out, killed, stopped}) {
    for (const char* name : {"model.safetensors", "metrics.jsonl", "config.json",
                             "checkpoints/last.safetensors", "checkpoints/best.safetensors"}) {
      INFO(run << " " << name);
      CHECK(content(run + "/" + name) == content(whole.out + "/" + name));
    }
    CHECK(train_here(resumed(run)).was_finished);
    CHECK(train_here(resumed(run, {{"epochs", "5"}})).was_finished);
  }
  CHECK_FAILS_WITH(resumed(o.out, {{"epochs", "4"}}), "can be prolonged, not shortened");
  CHECK_FAILS_WITH(resumed(o.out, {{"lr", "0.5"}}), "contradicts");
}

TEST_CASE("a run that stopped early says so, and is not prolonged") {
  const Folder folder;
  Listener notes;
  TrainOptions o = short_run(folder.file("run"));
  o.epochs = 30;
  o.val_fraction = 0.2;
  o.patience = 1;
  o.lr = 1e-9;  // nothing gets better
  o.warmup = 0;
  CHECK(train_here(o, notes).last.epoch == 2);
  CHECK(
      notes.heard("stopped early, after 2 of 30 epochs: no better validation accuracy since epoch "
                  "1, whose weights are kept"));
  const auto before = contents(o.out);
  CHECK_FAILS_WITH(train_here(resumed(o.out, {{"epochs", "40"}})),
                   "stopped early, after 2 of 30 epochs (patience 1)");
  CHECK(contents(o.out) == before);
  CHECK(train_here(resumed(o.out)).was_finished);
}

TEST_CASE("weights that are lost are made again, and a run without checkpoints does not go on") {
  const Folder folder;
  TrainOptions o = short_run(folder.file("run"));
  o.val_fraction = 0.2;
  train_here(o);
  const auto kept = [&] {
    auto files = contents(o.out);
    files.erase("checkpoints/last.previous.safetensors");
    return files;
  };
  auto before = kept();
  fs::remove(o.out + "/model.safetensors");
  CHECK_FALSE(train_here(resumed(o.out)).was_finished);
  CHECK(kept() == before);

  fs::remove_all(o.out + "/checkpoints");
  CHECK_FAILS_WITH(train_here(resumed(o.out, {{"epochs", "5"}})),
                   "it has weights, but no checkpoint any more to go on from; --init " + o.out);
  CHECK(content(o.out + "/model.safetensors") == before["model.safetensors"]);
  fs::remove(o.out + "/model.safetensors");
  Rates seen;
  CHECK(train_here(resumed(o.out), seen).last.epoch == o.epochs);
  CHECK(seen.heard("it has no checkpoint yet: it begins anew"));
  CHECK(content(o.out + "/model.safetensors") == before["model.safetensors"]);
}

TEST_CASE("what a run owns is not written over, and a damaged config is said to be one") {
  const Folder folder;
  const std::string run = folder.file("run");
  { RunDirectory made(run, config); }
  for (const char* name : {"config.json", "metrics.jsonl", "timing.jsonl", "model.safetensors",
                           "report.html", "checkpoints/last.safetensors"}) {
    CHECK_FAILS_WITH(check_no_file_of_run(run + "/" + name), "it is the run's own");
    check_no_file_of_run(folder.file(name));
  }
  check_no_file_of_run(run + "/metrics.csv");
  check_no_file_of_run(run + "/checkpoints/mine.safetensors");

  const std::string file = run + "/model.safetensors";
  write(file, "");
  CHECK(weights_file(run) == file);
  write(run + "/config.json", "{\"architectures\": []}");  // another project's
  CHECK(weights_file(run) == file);
  write(run + "/config.json", config.substr(0, 10));
  CHECK_FAILS_WITH(weights_file(run), "config.json: damaged: it is no JSON");
}

TEST_CASE("the memory that a run announces counts its images") {
  TrainOptions o = short_run("");
  o.epochs = 1;
  const auto bytes = [&](std::size_t train_size, std::size_t test_size) {
    o.train_size = train_size, o.test_size = test_size;
    Rates seen;
    train_here(o, seen);
    return seen.begun.training_bytes;
  };
  const std::uint64_t few = bytes(60, 30);
  CHECK(bytes(60, 1030) - few == 1000 * 28 * 28);
  CHECK(bytes(120, 30) - few == 60 * 28 * 28);
  CHECK(few >= o.model.training_bytes(1, sizeof(real)) + 90 * 28 * 28);
  const Threads one(1);
  for (const std::size_t n : {1, 5}) {
    o.micro_batch = n;  // all that a thread has at once
    CHECK(bytes(60, 30) == o.model.training_bytes(n, sizeof(real)) + 90 * 28 * 28);
  }
}
