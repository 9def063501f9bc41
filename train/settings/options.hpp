#pragma once

#include "vitruvian/datasets/augment.hpp"
#include "vitruvian/vit/config.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian {

/// What a run computes in. bfloat16 is float32 but for the factors of matrix products: see
/// kernels::GemmPrecision.
enum class Precision { float32, float64, bfloat16 };

/// What a run learns: the images' classes, or, without labels, the colours of hidden patches (see
/// train/masked.hpp).
enum class Task { classify, masked };

enum class OptimizerKind { adamw, adam, sgd, muon };
enum class ScheduleKind { cosine, linear, constant };

/// Throws (Exit::usage) when `bytes` are more than this machine has: "a model of 480 billion
/// parameters needs about 1.9 TB to train; this machine has 24 GB". `purpose` is "to train".
void check_fits_in_memory(const ViTConfig& model, std::uint64_t bytes, const std::string& purpose);

/// Everything that decides what a training run computes, and where it puts the result.
/// train/settings/settings.hpp lists all that can be said in a flag or a file, and says what each
/// means.
struct TrainOptions {
  std::string dataset = "digits";
  std::string data;            ///< where the data set's files are; empty for the built-in digits
  std::size_t train_size = 0;  ///< use the first so many training images; 0 means all
  std::size_t test_size = 0;   ///< the same for the test images
  double val_fraction = 0;     ///< the share of the training images that only validates
  std::size_t image_size = 0;  ///< 0: as the data set has them; a folder's must have one
  bool skip_bad = false;       ///< leave out files of a folder that cannot be used

  AugmentOptions augment;

  ViTConfig model;
  /// The name of the program's own model, which stands in for `model`: `train` takes the learner's.
  std::string own_model;

  Task task = Task::classify;
  std::string teacher;  ///< trained weights whose answers are learned beside the labels
  std::size_t epochs = 4;
  std::size_t batch_size = 64;
  std::size_t accumulate = 1;   ///< batches of a step
  std::size_t micro_batch = 0;  ///< images of a micro-batch; 0 means as many as suit the model
  std::size_t lanes = 8;        ///< parts of a step's sum of gradients: see Sharing
  bool composed = false;        ///< by the readable twins of the fused ops
  OptimizerKind optimizer = OptimizerKind::adamw;
  double momentum = 0.9;  ///< SGD's, and Muon's
  double beta1 = 0.9;     ///< Adam's, and AdamW's
  double beta2 = 0.999;
  ScheduleKind schedule = ScheduleKind::cosine;
  double lr = 2e-3;              ///< the peak, after the warm-up
  double warmup = 0.05;          ///< the share of all steps in which the rate rises to `lr`
  std::size_t warmup_steps = 0;  ///< at most so many; 0: the share alone
  double weight_decay = 0.05;    ///< on the weight matrices only
  double clip = 1;               ///< the largest global norm of a gradient; 0 means none
  double label_smoothing = 0;
  double ema = 0;            ///< decay of the weights' moving average; 0 means none
  std::size_t patience = 0;  ///< epochs without a better validation; 0 means no early stopping
  std::uint64_t seed = 1;
  std::string init;           ///< weights to begin with
  bool keep_head = false;     ///< of `init`
  std::size_t freeze = 0;     ///< the embeddings and so many blocks do not learn
  bool linear_probe = false;  ///< nothing but the head learns
  double layer_decay = 1;     ///< a layer's rate is so many times that of the one above it
  double head_lr = 1;         ///< the head's rate is so many times lr
  std::string pos_resize;     ///< of `init`: see PosResize; empty: as the file's project does

  Precision precision = Precision::float32;  ///< float64 is vitruvian_f64's alone

  std::string out;                   ///< the run directory; empty: nothing is written
  bool dated = false;                ///< `out` is the beginning of its name, the date follows
  bool overwrite = false;            ///< a run that is in it already gives way
  bool resume = false;               ///< go on with the run in it
  std::size_t prolong_to = 0;        ///< then: epochs in all, where they are more than its own
  std::size_t log_every = 0;         ///< steps between lines of metrics.jsonl; 0: some 300 lines
  std::size_t checkpoint_every = 0;  ///< steps; 0: about a minute
  std::size_t save_every = 0;        ///< epochs whose weights are kept; 0: none
  bool profile = false;              ///< tell the observer where the time of one early step goes
  bool anomaly = false;              ///< look for NaN and Inf in every op of every step

  /// Throws (Exit::usage) for the first setting that cannot be.
  void validate() const;
  /// All settings as an indented JSON object, under their names; what made the run under "made_by".
  [[nodiscard]] std::string to_json(const std::map<std::string, std::string>& made_by = {}) const;
};

/// A complete set of settings under a name.
struct Recipe {
  std::string name;
  std::string about;        ///< a sentence or two: where it is from, and how it differs from that
  std::string settings;     ///< as a config file holds them
  bool fine_tunes = false;  ///< and so wants --init
  /// Of a row of the paper's Table 4: its length there, and the learning rates that are tried.
  std::string steps{}, rates{};
};

const std::vector<Recipe>& recipes();
/// Throws (Exit::usage) when there is none of that name, with the nearest.
const Recipe& recipe_named(const std::string& name);

/// What a user said of a run; the rest is the data set's own default. Later ones win: the recipe,
/// the config file, the flags.
struct SettingSources {
  std::string recipe;                        ///< a name; may be empty
  std::string config;                        ///< the path of a config file; may be empty
  std::map<std::string, std::string> flags;  ///< from a setting's name to its value
};

/// The settings that follow. Throws (Exit::usage), naming the flag or the file and the setting, for
/// what is unknown, said twice in a file, or no value of its kind.
TrainOptions resolve_settings(const SettingSources& said);

/// The settings of the run in a directory, and the flags of those that do not matter to its
/// results; more epochs than it has become `prolong_to`. Throws (Exit::checkpoint) when there is no
/// run, and (Exit::usage) for a flag that contradicts it.
TrainOptions resumed_settings(const std::string& directory, const SettingSources& said);

/// The settings that a JSON object says, such as `to_json` gives; a folder's classes are not
/// counted. Throws (Exit::checkpoint), naming the source and the setting, as resolve_settings does.
TrainOptions settings_of(const std::string& json, const std::string& source);
/// The same of the config.json in a run's directory.
TrainOptions settings_of_run(const std::string& directory);
/// The text of its config.json. Throws (Exit::checkpoint) where that cannot be read.
std::string config_of_run(const std::string& directory);

/// A run's settings when it shall have `epochs` in all: the warm-up keeps the steps that it had,
/// and the schedule falls over the longer run.
TrainOptions prolonged(TrainOptions run, std::size_t epochs, std::size_t steps_an_epoch);

/// A config.json with other settings: what made the run stays.
std::string with_settings(const std::string& config, const TrainOptions& options);

/// The settings that make two runs differ: "lr is 0.1, not 0.002" for the first, or empty.
std::string difference(const std::string& settings, const std::string& others);

/// What makes two configs, with what made them, those of other runs: "'lr' is 0.1, not 0.002", or
/// "'instruction_set' is AVX2, not AVX-512"; or empty.
std::string disagreement(const std::string& config, const std::string& other);

/// Whether two configs were made by the same matrix product and instruction set.
bool same_machine(const std::string& config, const std::string& other);
/// What a config.json says under "made_by" of `key`; empty where it does not.
std::string maker_of(const std::string& config, const char* key);

/// The settings for a data set that are used where the user names none: its image's shape and
/// classes (a folder's are counted when its place is known), and the sizes and rates that suit it
/// on two cores. Throws (Exit::usage) on a name that does not exist, with the nearest one that
/// does.
TrainOptions default_options(const std::string& dataset);

/// Throws (Exit::usage) when a data set that is read from files comes without a folder, or the
/// digits, which are drawn, with one.
void check_data_given(const std::string& dataset, const std::string& data);

/// Which test images. What is not said is the run's that the weights lie in; of weights without a
/// run, the data set's that they were trained on.
struct TestImageOptions {
  std::string dataset, data;
  std::optional<std::size_t> test_size;  ///< 0 means all
  bool skip_bad = false;                 ///< as in training
};

/// What `vitruvian eval` needs.
struct EvalOptions : TestImageOptions {
  std::string weights;  ///< a safetensors file, or a run directory that holds one
};

/// What is known to go wrong with such settings, a sentence each.
std::vector<std::string> warnings_of(const TrainOptions& options);

/// What is known to go wrong where `init` learned from images of another size than the run's, of
/// which it has so many; or empty.
std::string warning_of_resolution(const TrainOptions& options, std::size_t images);

/// How many steps an epoch of so many training images has.
std::size_t steps_an_epoch(const TrainOptions& options, std::size_t images);

/// How many of a run's steps the warm-up takes.
std::size_t warmup_steps(const TrainOptions& options, std::size_t steps);

}  // namespace vitruvian
