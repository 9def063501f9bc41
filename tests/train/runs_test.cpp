// What a run goes on from, a checkpoint; how its images are split; and what a step is made of.

#include "tests/train/small.hpp"
#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"

using namespace vitruvian;

namespace {

std::vector<Array> weights(const VisionTransformer& model) {
  return values_of(named_parameters(model));
}

// The weights after some steps.
std::vector<Array> trained(const TrainOptions& o) {
  SmallRun small(o, nobody_looks);
  while (small.run.goes_on()) small.run.epoch();
  return values_of(small.run.kept());
}

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

}  // namespace

TEST_CASE("a checkpoint comes back whole, and any damaged byte of it is seen") {
  const Folder folder;
  const std::string path = folder.file("last.safetensors");
  const VisionTransformer model = tiny_vit_of_order_one(Rng(3));
  AdamW adamw(named_parameters(model));
  for (const NamedParameter& p : adamw.parameters()) p.tensor.set_grad(full(p.tensor.shape(), 1));
  adamw.step(0.1);
  const VisionTransformer average = tiny_vit_of_order_one(Rng(4));
  RunState state;
  state.settings = small_options().to_json();
  state.step = 7;
  state.epochs = 2;
  state.loss_sum = 0.1 + 0.2;  // a number whose last bit counts
  state.best_accuracy = 1.0 / 3;
  save_checkpoint(path, state, {named_parameters(model), &adamw, named_parameters(average)});
  const std::string bytes = content(path);

  const CheckpointFile file = read_checkpoint(path);
  const VisionTransformer other = tiny_vit_of_order_one(Rng(5));
  const VisionTransformer other_average = tiny_vit_of_order_one(Rng(6));
  AdamW other_adamw(named_parameters(other));
  restore(file, {named_parameters(other), &other_adamw, named_parameters(other_average)});
  CHECK(file.state.step == 7);
  CHECK(file.state.loss_sum == 0.1 + 0.2);
  CHECK(weights(other) == weights(model));
  CHECK(weights(other_average) == weights(average));
  for (const auto& [name, moments] : adamw.state()) {
    const Moments& mine = other_adamw.state().at(name);
    CHECK(mine.t == 1);
    CHECK(*mine.m == *moments.m);
    CHECK(*mine.v == *moments.v);
  }
  save_checkpoint(path, file.state,
                  {named_parameters(other), &other_adamw, named_parameters(other_average)});
  CHECK(content(path) == bytes);

  std::size_t unseen = 0;
  for (std::size_t i = 0; i < bytes.size(); i += i < 4000 ? 7 : 97) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    write(path, damaged);
    const Failure failure = failure_of([&] { read_checkpoint(path); });
    unseen += failure.exit == Exit::checkpoint && says(failure.message, path) ? 0 : 1;
  }
  CHECK(unseen == 0);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, bytes.size() - 1}) {
    write(path, bytes.substr(0, size));
    CHECK(failure_of([&] { read_checkpoint(path); }).exit == Exit::checkpoint);
  }
}

TEST_CASE("a checkpoint's state has a range for every field, whatever its checksum") {
  const auto refused = [](const std::string& key, const std::string& value) {
    return said_of("f: its state makes no sense",
                   failure_of([&] { parse_checkpoint_state(state_with(key, value), "f"); }),
                   Exit::checkpoint);
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
      INFO("whole ", whole, ", value ", value);
      CHECK(refused(whole, value).starts_with(fmt::format("'{}' is not a whole number", whole)));
    }
  }
  for (const char* const number :
       {"loss_sum", "grad_norm_sum", "lr", "best_accuracy", "best_loss"}) {
    for (const char* const value : {"-1", "1e308", "null", "\"1\"", "[]"}) {
      INFO("number ", number, ", value ", value);
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
  CHECK_SAYS(parse_checkpoint_state(state_with("version", "2"), "f"),
             "f: a checkpoint of version 2, not 1");
}

TEST_CASE("augmented and mixed images: the same bits however a batch is cut into batches") {
  TrainOptions o = small_options();
  o.micro_batch = 5;
  o.model.dropout = 0.1;
  const std::vector<Array> plain = trained(o);
  o.augment.crop_padding = 2;
  o.augment.mixup = 0.4;
  o.augment.cutmix = 1;
  o.val_fraction = 0.2;
  const std::vector<Array> whole = trained(o);
  CHECK(whole != plain);
  o.batch_size = 5;
  o.accumulate = 4;
  CHECK(trained(o) == whole);
  o.accumulate = 2;
  CHECK(trained(o) != whole);
}

TEST_CASE("a model used twice in one pass skips other branches the second time") {
  ViTConfig config = small_options().model;
  config.stochastic_depth = 0.5;
  const VisionTransformer model(config, Rng(1));
  const Tensor images(full({4, 1, 28, 28}, 1));
  const Rng rng(2);
  const Pass pass{.rng = &rng};
  const Array once = model.features(images, pass).value();
  CHECK(once == model.features(images, {.rng = &rng}).value());
  CHECK(once != model.features(images, pass).value());
}

TEST_CASE("a number that is none is traced to its op, module, step and images") {
  SmallRun small(small_options(), nobody_looks);
  Run& run = small.run;
  const auto poison = [&](const std::string& name, double value) {
    for (const NamedParameter& p : run.kept()) {
      if (p.name != name) continue;
      const WriteGuard w = p.tensor.mutable_value();
      w->data()[3] = static_cast<real>(value);
    }
  };
  poison("blocks.1.mlp.fc2.weight", std::numeric_limits<double>::quiet_NaN());
  CHECK_FAILS_WITH(run.epoch(),
                   "broke down at step 1 of 6 (epoch 1, lr 2.00e-03), loss nan, gradient norm nan: "
                   "the first is NaN in 1 of 96 numbers of input 1 of 'linear' in "
                   "blocks.1.mlp.fc2, training images ");
  {  // those of the first micro-batch by their numbers in the data set, eight at most
    TrainOptions o = small_options();
    o.val_fraction = 0.5, o.micro_batch = 20;
    SmallRun half(o, nobody_looks);
    const std::vector<std::size_t>& train = half.data.indices.train;
    std::vector<std::size_t> images;
    for (const std::size_t i : epoch_order(train.size(), Rng(o.seed).fork("order"), 1)) {
      if (images.size() < 8) images.push_back(train[i]);
    }
    half.run.kept().back().tensor.mutable_value().fill(std::numeric_limits<real>::quiet_NaN());
    CHECK_FAILS_WITH(half.run.epoch(),
                     fmt::format(", training images {}; a smaller", joined(images)));
  }
  poison("blocks.1.mlp.fc2.weight", 0);
  poison("blocks.0.norm1.weight", std::numeric_limits<double>::infinity());
  CHECK_FAILS_WITH(run.epoch(),
                   "infinity in 1 of 8 numbers of input 1 of 'layer_norm' in blocks.0.norm1");
}

TEST_CASE("a folder's pictures train, validate or test, each once") {
  const Folder folder;
  for (const char* const name : {"ants", "bees"}) {
    std::filesystem::create_directories(folder.file(name));
    for (int i = 0; i < 20; ++i) {
      write(folder.file(fmt::format("{}/{}.pgm", name, i)), "P5 1 1 255\n" + std::string(1, 'a'));
    }
  }
  TrainOptions o = resolve_settings(
      {"", "", {{"dataset", "folder"}, {"data", folder.file("")}, {"val_fraction", "0.25"}}});
  CHECK(o.model.K == 2);
  CHECK(o.model.H == 64);
  const TrainingData data = training_data(o);
  std::vector<std::size_t> all = data.images.test_subset;
  CHECK(all.size() == 8);
  CHECK(data.indices.validation.size() == 8);
  for (const auto& part : {data.indices.train, data.indices.validation}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(all == natural_order(40));
  CHECK(data_config_of(data).classes == std::vector<std::string>{"ants", "bees"});
  o.seed = 2;  // the test pictures are the same for every run
  CHECK(training_data(o).images.test_subset == data.images.test_subset);
  CHECK(training_data(o).indices.validation != data.indices.validation);
}

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

TEST_CASE("a class whose name a model cannot keep is refused") {
  const std::string picture = "P5 2 2 255\nabcd";
  const auto classes = [](const Folder& folder) {
    return FolderImages(folder.path, {.height = 2, .width = 2}).about().class_names;
  };
  // Latin 1; a lone continuation; cut short; too long a form of '/'; a surrogate; above U+10FFFF.
  for (const std::string bad : {"caf\xE9", "\x80", "caf\xC3", "\xC0\xAF", "\xED\xA0\x80",
                                "\xF4\x90\x80\x80", "\xF0\x8F\xBF\xBF", "\xE2\x82", "\xFF"}) {
    CAPTURE(bad);
    const Folder folder;
    write(folder.path / "good/a.pgm", picture);
    write(folder.path / bad / "b.pgm", picture);
    CHECK(says(error_of(Exit::data, [&] { classes(folder); }), "its folder's name is not UTF-8"));
  }
  const Folder folder;
  for (const char* const good : {"caf\u00e9", "\u8702", "\U0001F41D", "\uFFFD", "\u07FF"}) {
    write(folder.path / good / "a.pgm", picture);
  }
  CHECK(classes(folder).size() == 5);
}
