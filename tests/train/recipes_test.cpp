// Every field of every recipe, typed again from the paper (docs/requirements.md: C7, 4-17, 4-18 and
// B24) and, for our own, from what docs/results/recipes.md says was run.

#include "tests/folder.hpp"
#include "vitruvian/train/settings/options.hpp"

using namespace vitruvian;

namespace {

TrainOptions settled(const std::string& recipe) { return resolve_settings({recipe, "", {}}); }

// The defaults for the digits, every number that a recipe may change typed out.
TrainOptions digits() {
  TrainOptions o;
  o.dataset = "digits";
  o.model = {.C = 1, .H = 28, .W = 28, .P = 7, .D = 64, .L = 4, .h = 4, .M = 256, .K = 10};
  o.model.head = Head::linear;
  o.model.positions = Positions::learned;
  o.model.mean_pooling = false;
  o.model.dropout = 0;
  o.epochs = 4;
  o.batch_size = 64;
  o.accumulate = 1;
  o.optimizer = OptimizerKind::adamw;
  o.momentum = 0.9;
  o.beta1 = 0.9;
  o.beta2 = 0.999;
  o.schedule = ScheduleKind::cosine;
  o.lr = 2e-3;
  o.warmup = 0.05;
  o.warmup_steps = 0;
  o.weight_decay = 0.05;
  o.clip = 1;
  o.label_smoothing = 0;
  o.ema = 0;
  o.val_fraction = 0;
  o.patience = 0;
  o.augment = AugmentOptions{};
  return o;
}

// What all of Table 3 shares: Adam (here AdamW) with (0.9, 0.999), 10,000 steps of warm-up, and a
// head with one hidden layer (section 3.1).
TrainOptions pretraining() {
  TrainOptions o = digits();
  o.batch_size = o.accumulate = 64;  // 4096 images
  o.warmup_steps = 10'000;
  o.clip = 0;
  o.model.head = Head::tanh;
  return o;
}

// What all of Table 4 shares: SGD with momentum 0.9, a cosine, no weight decay, clipping at 1, 2 %
// of the training images for development; 500 steps of warm-up in the authors' code.
TrainOptions finetuning() {
  TrainOptions o = digits();
  o.optimizer = OptimizerKind::sgd;
  o.accumulate = 8;  // 512 images
  o.warmup_steps = 500;
  o.weight_decay = 0;
  o.val_fraction = 0.02;
  return o;
}

void check_told(const std::string& name, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    INFO(name << " should say: " << part);
    CHECK(says(recipe_named(name).about, part));
  }
}

}  // namespace

TEST_CASE("there are these recipes and no others") {
  std::set<std::string> names;
  for (const Recipe& r : recipes()) CHECK(names.insert(r.name).second);
  CHECK(joined({names.begin(), names.end()}, " ") ==
        "cifar10 cifar10-long digits distil-cifar10 distil-digits finetune masked-cifar10 "
        "masked-digits mnist table3-imagenet table3-in21k-b table3-in21k-l table3-jft-b "
        "table3-jft-h14 table3-jft-l16 table3-jft-l32 table4-cifar table4-imagenet "
        "table4-pets-flowers table4-vtab vit-pretrain");
}

TEST_CASE("pre-training is Table 3's") {
  struct Row {
    const char* name;
    const char* row;
    std::size_t epochs;
    double lr;
    ScheduleKind schedule;
    double weight_decay, dropout, clip;
  };
  constexpr auto linear = ScheduleKind::linear;
  constexpr auto cosine = ScheduleKind::cosine;
  for (const Row& row : {
           Row{"table3-jft-b", "JFT-300M, ViT-B", 7, 0.0008, linear, 0.1, 0, 0},
           Row{"table3-jft-l32", "JFT-300M, ViT-L/32", 7, 0.0006, linear, 0.1, 0, 0},
           Row{"table3-jft-l16", "JFT-300M, ViT-L/16 (7 epochs, or 14)", 7, 0.0004, linear, 0.1, 0,
               0},
           Row{"table3-jft-h14", "JFT-300M, ViT-H/14", 14, 0.0003, linear, 0.1, 0, 0},
           Row{"table3-in21k-b", "ImageNet-21k, ViT-B", 90, 0.001, linear, 0.03, 0.1, 0},
           Row{"table3-in21k-l", "ImageNet-21k, ViT-L (30 epochs, or 90)", 30, 0.001, linear, 0.03,
               0.1, 0},
           Row{"table3-imagenet", "ImageNet, any ViT", 300, 0.003, cosine, 0.3, 0.1, 1},
       }) {
    TrainOptions o = pretraining();
    o.epochs = row.epochs;
    o.lr = row.lr;
    o.schedule = row.schedule;
    o.weight_decay = row.weight_decay;
    o.model.dropout = row.dropout;
    o.clip = row.clip;
    INFO(row.name);
    CHECK(settled(row.name).to_json() == o.to_json());
    check_told(row.name,
               {std::string("Table 3, ") + row.row + ".", "AdamW where the paper says Adam",
                "Batch 4096", "10,000 steps in the paper", "5 % of the run"});
  }
}

TEST_CASE("fine-tuning is Table 4's") {
  struct Row {
    const char *name, *row, *steps, *rates;
    std::size_t epochs;
    double lr;
  };
  for (const Row& row : {
           Row{"table4-imagenet", "ImageNet", "20,000", "{.003, .01, .03, .06}", 8, 0.03},
           Row{"table4-cifar", "CIFAR-10 and CIFAR-100", "10,000", "{.001, .003, .01, .03}", 100,
               0.01},
           Row{"table4-pets-flowers", "Oxford Pets and Flowers", "500", "{.001, .003, .01, .03}",
               70, 0.01},
           Row{"table4-vtab", "VTAB", "2,500", ".01", 1280, 0.01},
       }) {
    TrainOptions o = finetuning();
    o.epochs = row.epochs;
    o.lr = row.lr;
    INFO(row.name);
    CHECK(settled(row.name).to_json() == o.to_json());
    CHECK(recipe_named(row.name).steps == row.steps);
    CHECK(recipe_named(row.name).rates == row.rates);
    CHECK(recipe_named(row.name).fine_tunes);
    check_told(
        row.name,
        {fmt::format("Table 4, {}: {} steps there, learning rate", row.row, row.steps),
         row.rates[0] == '{' ? fmt::format("rates {} of which {} is taken;", row.rates, row.lr)
                             : fmt::format("rate {};", row.lr),
         "384", "Batch 512 is 8 batches of 64", "--init FILE"});
  }
}

TEST_CASE("the sources' summaries: pre-training and fine-tuning") {
  // 4-17: Adam, linear decay, weight decay 0.1, batch 4096, label smoothing, early stopping.
  TrainOptions o = pretraining();
  o.epochs = 90;
  o.lr = 0.001;
  o.schedule = ScheduleKind::linear;
  o.weight_decay = 0.1;
  o.model.dropout = 0.1;
  o.label_smoothing = 0.1;
  o.clip = 1;
  o.val_fraction = 0.1;
  o.patience = 5;
  CHECK(settled("vit-pretrain").to_json() == o.to_json());
  check_told("vit-pretrain", {"linear decay", "weight decay 0.1", "label smoothing",
                              "early stopping on the validation accuracy"});

  // 4-18: SGD with momentum, cosine, no weight decay, clipping; batch 512 is table4's.
  o = finetuning();
  o.epochs = 20;
  o.accumulate = 1;
  o.lr = 0.01;
  o.val_fraction = 0;
  CHECK(settled("finetune").to_json() == o.to_json());
  CHECK(recipe_named("finetune").fine_tunes);
  CHECK_FALSE(recipe_named("vit-pretrain").fine_tunes);
  check_told("finetune", {"SGD with momentum", "a cosine", "no weight decay", "clipping at 1",
                          "a new head of zeros", "Batch 64", "table4-* have the paper's 512"});
}

TEST_CASE("our own recipes are those whose results are told") {
  CHECK(settled("digits").to_json() == digits().to_json());

  TrainOptions o = digits();
  o.dataset = "mnist";
  o.model.P = 4;
  o.model.L = 6;
  o.model.M = 128;
  o.model.positions = Positions::sincos_2d;
  o.model.mean_pooling = true;
  o.epochs = 20;
  o.label_smoothing = 0.1;
  o.ema = 0.999;
  o.augment.crop_padding = 2;
  const auto by_muon = [](TrainOptions& some) {
    some.optimizer = OptimizerKind::muon, some.momentum = 0.95, some.lr = 0.004;
    some.model.init = Init::mimetic;
    some.precision = Precision::bfloat16;
  };
  by_muon(o);
  CHECK(settled("mnist").to_json() == o.to_json());
  CHECK(settled("mnist").model.parameters() == 202'698);

  o.dataset = "cifar10";
  o.model.C = 3;
  o.model.H = o.model.W = 32;
  o.model.D = 128;
  o.model.M = 256;
  o.epochs = 40;
  o.augment.crop_padding = 3;
  o.augment.flip = 0.5;
  o.augment.randaugment_ops = 1, o.augment.randaugment_magnitude = 6;
  CHECK(settled("cifar10").to_json() == o.to_json());
  TrainOptions longer = o;
  longer.epochs = 80;
  CHECK(settled("cifar10-long").to_json() == longer.to_json());
  CHECK(settled("cifar10").model.parameters() == 802'698);

  o.task = Task::masked;
  o.model.head = Head::none;
  o.epochs = 20;
  o.label_smoothing = 0;
  CHECK(settled("masked-cifar10").to_json() == o.to_json());
  o = digits();
  o.task = Task::masked;
  o.model.head = Head::none;
  o.epochs = 12;
  CHECK(settled("masked-digits").to_json() == o.to_json());
  check_told("masked-digits", {"section 4.6", "without their labels", "--init RUN"});

  // A student is smaller than its teacher, and has a token to ask it by.
  TrainOptions student = digits();
  student.model.D = 32, student.model.L = 2, student.model.h = 2, student.model.M = 128;
  student.model.distilled = true;
  CHECK(settled("distil-digits").to_json() == student.to_json());
  CHECK(settled("distil-digits").model.parameters() < settled("digits").model.parameters() / 6);
  student = settled("cifar10");
  student.model.D = 64, student.model.M = 128, student.model.distilled = true;
  student.model.mean_pooling = false, student.model.positions = Positions::learned;
  student.epochs = 24;
  CHECK(settled("distil-cifar10").to_json() == student.to_json());
  for (const std::string name : {"distil-digits", "distil-cifar10"}) {
    check_told(name, {"Needs --teacher RUN"});
  }

  // The complete settings of the runs whose accuracies docs/results/recipes.md tells.
  for (const std::string name : {"mnist", "cifar10"}) {
    INFO(name);
    const std::string run =
        content(VITRUVIAN_TEST_DATA "/../docs/results/recipes/" + name + ".json");
    CHECK(difference(settled(name).to_json(), run).empty());
  }
}
