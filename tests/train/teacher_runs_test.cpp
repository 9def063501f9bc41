// Runs that learn from a teacher.

#include "tests/train/teaching.hpp"
#include "tests/vit/vit_testing.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/nn/safetensors.hpp"
#include "vitruvian/train/ranks/as_ranks.hpp"

using namespace vitruvian;

namespace {

// It says 3, whatever it is shown: written to a file.
std::string stubborn(const Folder& folder, std::size_t answer = 3) {
  const VisionTransformer model(small_config(false), Rng(1));
  init::constant(model.head.bias, 0);
  {
    const WriteGuard bias = model.head.bias.tensor().mutable_value();
    bias->data()[answer] = 5;
  }
  std::string file = folder.file("teacher.safetensors");
  save_weights(model, digits_seen, file);
  return file;
}

TrainOptions student_options(const std::string& teacher, const std::string& out) {
  TrainOptions o = small_options(out);
  o.teacher = teacher;
  o.model.distilled = true;
  o.lanes = 4, o.micro_batch = 3, o.checkpoint_every = 1;
  return o;
}

}  // namespace

TEST_CASE("runs with a teacher: what it says is learned by the distillation token") {
  const Folder folder;
  TrainOptions o = resolve_settings({"", "", {{"teacher", stubborn(folder)}}});
  CHECK(o.model.distilled);
  o.train_size = 60, o.test_size = 30, o.batch_size = 20, o.epochs = 6, o.lr = 5e-3;
  o.model.D = 8, o.model.L = 1, o.model.h = 2, o.model.M = 12;
  o.out = folder.file("run");
  train_here(o);
  const TrainedModel student = load_weights(folder.file("run") + "/model.safetensors");
  const MicroBatch all = micro_batch(test_images_of(training_data(o)), natural_order(30));
  const BothLogits both = student.model.both_logits(all.images);
  const std::vector<std::size_t> always(30, 3);
  CHECK(count_correct(both.of_distillation.value(), always) == 30);
  CHECK(count_correct(both.of_class.value(), always) < 30);
}

TEST_CASE("with a teacher too threads, ranks and interruptions change no byte") {
  const Folder folder;
  const std::string teacher = stubborn(folder);
  TrainOptions o = student_options(teacher, folder.file("one"));
  o.augment.mixup = 0.8, o.augment.crop_padding = 2, o.label_smoothing = 0.1, o.ema = 0.9;
  o.layer_decay = 0.7;
  train_here(o);
  const std::string one = o.out;
  const auto files = files_of(one);
  {
    const Threads three(3);
    o.out = folder.file("three");
    train_here(o);
    CHECK((files_of(o.out) == files));
  }
  if (!one_thread_only()) {
    o.out = folder.file("ranks");
    as_ranks(2, [&](RankThread& rank) { VITRUVIAN_PRECISION::train(o, nobody_looks, {}, rank); });
    CHECK((files_of(o.out) == files));
  }
  o.out = folder.file("stopped");
  CHECK(says(stop_in(4, o), "stopped after step 4 of 6"));
  // The teacher was moved: the run says where to say so, and has the same bytes then.
  std::filesystem::rename(teacher, folder.file("moved.safetensors"));
  check_error(Exit::checkpoint, {"learned from it: --teacher FILE says where it is now"},
              [&] { train_here(resumed_settings(o.out, {})); });
  const SettingSources there{"", "", {{"teacher", folder.file("moved.safetensors")}}};
  train_here(resumed_settings(o.out, there));
  for (const char* name : {"model.safetensors", "metrics.jsonl"}) {  // checkpoints name the place
    CHECK(files_of(o.out).at(name) == files.at(name));
  }

  // Another teacher, or none, would be another run.
  stubborn(folder, 4);
  std::filesystem::rename(teacher, folder.file("moved.safetensors"));
  TrainOptions longer =
      resumed_settings(one, {"", "", {{"epochs", "3"}, {"teacher", there.flags.at("teacher")}}});
  for (const std::string& other : {longer.teacher, std::string()}) {
    longer.teacher = other;
    check_error(Exit::checkpoint, {"the teacher is not that of the run"},
                [&] { train_here(longer); });
  }
}

TEST_CASE("other micro-batches, and a step of several batches, ask the teacher the same") {
  // In float32 Adam makes steps of the noise of gradients that are zero, as the key's bias has.
  if (!in_double) return;
  const Folder folder;
  const std::string teacher = folder.file("t.safetensors");
  save_weights(drawn(small_config(false), 3), digits_seen, teacher);
  const auto trained = [&](const auto& change) {
    TrainOptions o = student_options(teacher, folder.file("run"));
    o.overwrite = true;
    change(o);
    train_here(o);
    return values_of(named_parameters(load_weights(o.out + "/model.safetensors").model));
  };
  const std::vector<Array> expected = trained([](auto&) {});
  const std::vector<Array> others =
      trained([](auto& o) { o.batch_size = 10, o.accumulate = 2, o.micro_batch = 4; });
  for (std::size_t i = 0; i < others.size(); ++i) {
    CHECK(golden::difference(others[i], expected[i]) < 1e-9);
  }
}

TEST_CASE("a teacher's place is kept whole, and a student has the token where it can") {
  const auto of = [](std::map<std::string, std::string> flags, const std::string& recipe = "") {
    return resolve_settings({recipe, "", std::move(flags)});
  };
  CHECK(of({}).teacher.empty());
  CHECK(!of({}).model.distilled);
  CHECK(of({{"teacher", "runs/../x"}}).teacher == (std::filesystem::current_path() / "x").string());
  CHECK(of({{"teacher", "/a/run"}}).teacher == "/a/run");
  CHECK(of({{"teacher", "x"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}, {"distilled", "false"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}, {"mean_pooling", "true"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}, {"head", "tanh"}}).model.distilled);
  CHECK(!of({{"teacher", "x"}}, "cifar10").model.distilled);  // whose model pools the mean

  // What begins with a file has that file's tokens.
  const Folder folder;
  for (const bool distilled : {true, false}) {
    const std::string begin = folder.file("begin.safetensors");
    save_weights(drawn(small_config(distilled), 2), digits_seen, begin);
    TrainOptions o = of({{"teacher", stubborn(folder)}, {"init", begin}});
    CHECK(o.model.distilled == distilled);
    o.train_size = 60, o.test_size = 30, o.epochs = 1;
    o.out = folder.file(distilled ? "with" : "without");
    train_here(o);
    CHECK((read_safetensors(o.out + "/model.safetensors").find("head_dist.weight") != nullptr) ==
          distilled);
  }
  TrainOptions o = small_options();
  o.model.distilled = true;
  const std::vector<std::string> warnings = warnings_of(o);
  const auto of_token = [](const std::string& w) { return w.find("--teacher FILE") != w.npos; };
  CHECK(std::count_if(warnings.begin(), warnings.end(), of_token) == 1);
  o.teacher = "x";
  CHECK(warnings_of(o).size() == warnings.size() - 1);
}
